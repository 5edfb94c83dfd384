package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// parameterRule has the document's rules for one query parameter.
type parameterRule struct {
	name     string
	required bool
	parse    func(rule *parameterRule, text string) (any, *fault.Field)
	// min and max are the bounds of a number, or of the length of a text in characters.
	min, max int64
	enum     []string
	pattern  *regexp.Regexp
	// missing is the value of a missing parameter, or nil if it has no default.
	missing any
}

// parameter returns the rules of one query parameter. It fails if a query cannot have the type.
func (r *Document) parameter(p map[string]any) (parameterRule, error) {
	schema := r.object(p["schema"])
	rule := parameterRule{enum: texts(list(schema["enum"]))}
	rule.name, _ = p["name"].(string)
	rule.required, _ = p["required"].(bool)
	switch {
	case schema["type"] == "integer":
		rule.parse = parseInteger
		rule.min, rule.max = bounds(schema, "minimum", "maximum")
		if n, ok := whole(schema["default"]); ok {
			rule.missing = n
		}
	case schema["type"] == "boolean":
		rule.parse = parseBoolean
		rule.missing = schema["default"]
	case schema["type"] == "string" && schema["format"] == "date-time":
		rule.parse = parseTime
	case schema["type"] == "string":
		rule.parse = parseText
		rule.missing = schema["default"]
		rule.min, rule.max = bounds(schema, "minLength", "maxLength")
		if pattern, is := schema["pattern"].(string); is {
			compiled, err := regexp.Compile(pattern)
			if err != nil {
				return rule, fmt.Errorf("parameter %s: %w", rule.name, err)
			}
			rule.pattern = compiled
		}
	default:
		return rule, fmt.Errorf("parameter %s: type %v is not one that a query can have", rule.name, schema["type"])
	}
	return rule, nil
}

// Parameter is one query parameter with its parsed value.
type Parameter struct {
	Name  string
	Value any // string, int64, bool or clock.Micros
	// Given is false if the query does not have the parameter, and Value is the default.
	Given bool
}

// Query parses the raw query of the operation op and checks it. The fault has all errors in the
// order of the query. It is UNKNOWN_PARAMETER if the operation does not have one of the parameters,
// and otherwise INVALID_REQUEST. In the result, missing parameters with a default come last.
func (r *Document) Query(op, rawQuery string) ([]Parameter, error) {
	o := r.operations[op]
	if o == nil {
		return nil, fault.Wrap(fmt.Errorf("schema: the document has no operation %s", op))
	}
	var (
		parsed = make([]Parameter, 0, len(o.query))
		wrong  []fault.Field
		code   = fault.InvalidRequest
		seen   uint64 // one bit for each rule; operations have fewer than 64 parameters
		pair   string
	)
	for rest := rawQuery; rest != ""; {
		pair, rest, _ = strings.Cut(rest, "&")
		if pair == "" {
			continue
		}
		rawName, rawText, _ := strings.Cut(pair, "=")
		name, ok := unescape(rawName)
		if !ok {
			return nil, &fault.Fault{Code: fault.InvalidRequest, Detail: badEncoding}
		}
		i := slices.IndexFunc(o.query, func(p parameterRule) bool { return p.name == name })
		if i < 0 {
			code = fault.UnknownParameter
			wrong = note(wrong, fault.Field{
				Name: shown(name), Code: fault.UnknownField, Text: r.unknown(op, name, o.parameterFor(name)),
			})
			continue
		}
		if seen&(1<<i) != 0 {
			wrong = note(wrong, fault.Field{Name: name, Code: fault.Duplicate, Text: twice})
			continue
		}
		seen |= 1 << i
		text, ok := unescape(rawText)
		if !ok {
			wrong = note(wrong, fault.Field{Name: name, Code: fault.InvalidFormat, Text: badEncoding})
			continue
		}
		value, field := o.query[i].parse(&o.query[i], text)
		if field != nil {
			field.Name = name
			wrong = note(wrong, *field)
			continue
		}
		parsed = append(parsed, Parameter{name, value, true})
	}
	for i := range o.query {
		rule := &o.query[i]
		switch {
		case seen&(1<<i) != 0:
		case rule.required:
			wrong = note(wrong, fault.Field{Name: rule.name, Code: fault.Required})
		case rule.missing != nil:
			parsed = append(parsed, Parameter{rule.name, rule.missing, false})
		}
	}
	if wrong != nil {
		return nil, &fault.Fault{Code: code, Fields: wrong}
	}
	return parsed, nil
}

// parameterFor returns a text about an unknown parameter. It suggests the parameter with the most
// similar name, or else lists the parameters of the operation.
func (o *operation) parameterFor(unknown string) i18n.Text {
	if len(o.query) == 0 {
		return "This operation takes no parameters."
	}
	names := make([]string, len(o.query))
	for i := range o.query {
		names[i] = o.query[i].name
	}
	if near := fault.Nearest(unknown, names); near != "" {
		return fault.DidYouMean(near)
	}
	return i18n.Format("This operation knows only these parameters: %s.", strings.Join(names, ", "))
}

// unknown returns the text about an unknown parameter. If a later version has the parameter, the
// text names this version.
func (r *Document) unknown(op, name string, words i18n.Text) i18n.Text {
	version := r.later(op, name)
	if version == "" {
		return words
	}
	return i18n.Join(" ", words, i18n.Format("The parameter %s comes with version %s.", name, version))
}

// note appends f to fields. It does nothing if the list already has an error of this name or is
// full.
func note(fields []fault.Field, f fault.Field) []fault.Field {
	if len(fields) == MaxErrors || slices.ContainsFunc(fields, func(o fault.Field) bool { return o.Name == f.Name }) {
		return fields
	}
	return append(fields, f)
}

var (
	badEncoding = i18n.Text("The percent-encoding is not valid, is not UTF-8 or holds a control character.")
	twice       = i18n.Text("This parameter may be given only once.")
	plusIsSpace = i18n.Text("In an address, + means a space. Encode the plus sign of the offset as %2B.")
)

// unescape decodes a name or value of a query (application/x-www-form-urlencoded). It returns false
// if the encoding is invalid, or if the result is not UTF-8 or has control characters.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') >= 0 || strings.IndexByte(s, '+') >= 0 {
		decoded := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '+':
				decoded = append(decoded, ' ')
			case '%':
				if i+2 >= len(s) {
					return "", false
				}
				high, ok := unhex(s[i+1])
				low, ok2 := unhex(s[i+2])
				if !ok || !ok2 {
					return "", false
				}
				decoded = append(decoded, high<<4|low)
				i += 2
			default:
				decoded = append(decoded, s[i])
			}
		}
		s = string(decoded)
	}
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return "", false
			}
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && size == 1 || c < 0xa0 {
			return "", false
		}
		i += size
	}
	return s, true
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// parseInteger parses an integer in JSON syntax, except -0.
func parseInteger(rule *parameterRule, text string) (any, *fault.Field) {
	if !integerText(text) {
		return nil, &fault.Field{Code: fault.InvalidFormat, Limit: "integer"}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < rule.min || n > rule.max {
		return nil, &fault.Field{Code: fault.OutOfRange, Limit: fault.Range{Min: rule.min, Max: rule.max}}
	}
	return n, nil
}

func integerText(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '0' && s != "0" {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

func parseBoolean(_ *parameterRule, text string) (any, *fault.Field) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, &fault.Field{Code: fault.InvalidFormat, Limit: "boolean"}
}

// parseTime parses a time. Elsewhere the zero value means that there is no time. So
// 1970-01-01T00:00:00Z becomes the microsecond before it, which gives the same results in
// comparisons.
func parseTime(_ *parameterRule, text string) (any, *fault.Field) {
	if t, err := clock.Parse(text); err == nil {
		if t == 0 {
			t = -1
		}
		return t, nil
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		if _, err := clock.Parse(text[:i] + "+" + text[i+1:]); err == nil {
			return nil, &fault.Field{Code: fault.InvalidFormat, Text: plusIsSpace}
		}
	}
	return nil, &fault.Field{Code: fault.InvalidFormat, Limit: expected["date-time"]}
}

func parseText(rule *parameterRule, text string) (any, *fault.Field) {
	if len(rule.enum) > 0 {
		if !slices.Contains(rule.enum, text) {
			return nil, &fault.Field{Code: fault.NotInEnum, Limit: rule.enum}
		}
		return text, nil
	}
	switch n := int64(utf8.RuneCountInString(text)); {
	case n < rule.min:
		return nil, &fault.Field{Code: fault.TooShort, Limit: rule.min}
	case n > rule.max:
		return nil, &fault.Field{Code: fault.TooLong, Limit: rule.max}
	}
	if rule.pattern != nil && !rule.pattern.MatchString(text) {
		return nil, &fault.Field{Code: fault.InvalidFormat, Limit: form(rule.pattern.String())}
	}
	return text, nil
}
