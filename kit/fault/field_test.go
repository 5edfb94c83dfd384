package fault_test

import (
	"testing"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

func TestFieldMessage(t *testing.T) {
	tests := []struct {
		name   string
		field  fault.Field
		de, en string
	}{
		{"required", fault.Field{Code: fault.Required}, "Diese Angabe ist erforderlich.", "This value is required."},
		{
			"characters",
			fault.Field{Code: fault.TooLong, Limit: 200},
			"Höchstens 200 Zeichen sind erlaubt.",
			"At most 200 characters are allowed.",
		},
		{
			"thousands",
			fault.Field{Code: fault.TooLong, Limit: int64(10000)},
			"Höchstens 10.000 Zeichen sind erlaubt.",
			"At most 10,000 characters are allowed.",
		},
		{
			"one character",
			fault.Field{Code: fault.TooShort, Limit: 1.0},
			"Mindestens 1 Zeichen ist nötig.",
			"At least 1 character is needed.",
		},
		{
			"three characters",
			fault.Field{Code: fault.TooShort, Limit: 3},
			"Mindestens 3 Zeichen sind nötig.",
			"At least 3 characters are needed.",
		},
		{
			"entries",
			fault.Field{Code: fault.TooLong, Limit: fault.Items(20)},
			"Höchstens 20 Einträge sind erlaubt.",
			"At most 20 entries are allowed.",
		},
		{
			"one entry",
			fault.Field{Code: fault.TooShort, Limit: fault.Items(1)},
			"Mindestens 1 Eintrag ist nötig.",
			"At least 1 entry is needed.",
		},
		{"no limit", fault.Field{Code: fault.TooLong}, "Diese Angabe ist zu lang.", "This value is too long."},
		{
			"a limit of another kind",
			fault.Field{Code: fault.TooLong, Limit: struct{}{}},
			"Diese Angabe ist zu lang.",
			"This value is too long.",
		},
		{
			"range",
			fault.Field{Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: 100}},
			"Der Wert muss zwischen 1 und 100 liegen.",
			"The value must be between 1 and 100.",
		},
		{
			"great range",
			fault.Field{Code: fault.OutOfRange, Limit: fault.Range{Min: -1234567, Max: 1234567}},
			"Der Wert muss zwischen -1.234.567 und 1.234.567 liegen.",
			"The value must be between -1,234,567 and 1,234,567.",
		},
		{
			"no upper bound",
			fault.Field{Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: 1<<53 - 1}},
			"Der Wert muss mindestens 1 betragen.",
			"The value must be at least 1.",
		},
		{
			"highest value",
			fault.Field{Code: fault.OutOfRange, Limit: 1000},
			"Der Wert darf höchstens 1000 betragen.",
			"The value may be at most 1000.",
		},
		{
			"range in words",
			fault.Field{Code: fault.OutOfRange, Limit: "1..100"},
			"Der Wert liegt außerhalb des erlaubten Bereichs. Erlaubt: 1..100.",
			"The value is outside the allowed range. Allowed: 1..100.",
		},
		{
			"range unknown",
			fault.Field{Code: fault.OutOfRange},
			"Der Wert liegt außerhalb des erlaubten Bereichs.",
			"The value is outside the allowed range.",
		},
		{
			"enumeration",
			fault.Field{Code: fault.NotInEnum, Limit: []string{"-updatedAt", "updatedAt"}},
			"Erlaubt sind nur: -updatedAt, updatedAt.",
			"Allowed values: -updatedAt, updatedAt.",
		},
		{
			"format",
			fault.Field{Code: fault.InvalidFormat, Limit: "YYYY-MM-DD"},
			"Das Format stimmt nicht. Erwartet wird: YYYY-MM-DD.",
			"The format is not valid. Expected: YYYY-MM-DD.",
		},
		{
			"format in words",
			fault.Field{Code: fault.InvalidFormat, Limit: i18n.Text("an email address")},
			"Das Format stimmt nicht. Erwartet wird: eine E-Mail-Adresse.",
			"The format is not valid. Expected: an email address.",
		},
		{
			"types",
			fault.Field{Code: fault.InvalidType, Limit: []string{"string", "null"}},
			"Der Typ stimmt nicht. Erwartet wird: eine Zeichenkette, null.",
			"The type is not valid. Expected: a string, null.",
		},
		{
			"combination",
			fault.Field{Code: fault.ForbiddenCombination, Limit: "q"},
			"Nicht erlaubt zusammen mit: q.",
			"Not allowed together with: q.",
		},
		{
			"own words",
			fault.Field{Code: fault.TooLong, Limit: 3, Text: "The file is empty."},
			"Die Datei ist leer.",
			"The file is empty.",
		},
		{
			"unknown code",
			fault.Field{Code: "NEW"},
			"Das Format dieser Angabe stimmt nicht.",
			"The format of this value is not valid.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.field.Message(i18n.German); got != tt.de {
				t.Errorf("German: %q, want %q", got, tt.de)
			}
			if got := tt.field.Message(i18n.English); got != tt.en {
				t.Errorf("English: %q, want %q", got, tt.en)
			}
		})
	}
}
