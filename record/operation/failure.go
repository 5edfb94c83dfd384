package operation

import (
	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// failure is a fault as stored: with its texts in both languages, since the
// language is known only when it is read.
type failure struct {
	Code   fault.Code     `json:"code"`
	Detail *fault.Text    `json:"detail,omitzero"`
	Fields []failureField `json:"fields,omitempty"`
}

type failureField struct {
	Name string          `json:"name"`
	Code fault.FieldCode `json:"code"`
	Text *fault.Text     `json:"text,omitzero"`
}

func encode(f *fault.Fault) (string, error) {
	kept := failure{Code: f.Code, Detail: f.Detail}
	for _, field := range f.Fields {
		kept.Fields = append(kept.Fields, failureField{
			field.Name, field.Code,
			&fault.Text{DE: field.Message(fault.German), EN: field.Message(fault.English)},
		})
	}
	b, err := json.Marshal(kept)
	return string(b), err
}

func parse(text string) (*fault.Fault, error) {
	var kept failure
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, err
	}
	f := &fault.Fault{Code: kept.Code, Detail: kept.Detail}
	for _, field := range kept.Fields {
		f.Fields = append(f.Fields, fault.Field{Name: field.Name, Code: field.Code, Text: field.Text})
	}
	return f, nil
}
