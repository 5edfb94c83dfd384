package operation

import (
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json"
)

// failure is the stored form of a fault. It has the texts in all languages, because the reader's
// language is not yet known.
type failure struct {
	Code   fault.Code     `json:"code"`
	Detail i18n.Wording   `json:"detail,omitzero"`
	Fields []failureField `json:"fields,omitempty"`
}

type failureField struct {
	Name string          `json:"name"`
	Code fault.FieldCode `json:"code"`
	Text i18n.Wording    `json:"text,omitzero"`
}

func encode(f *fault.Fault) (string, error) {
	kept := failure{Code: f.Code, Detail: f.Detail.Wording()}
	for _, field := range f.Fields {
		kept.Fields = append(kept.Fields, failureField{field.Name, field.Code, i18n.WordingOf(field.Message)})
	}
	b, err := json.Marshal(kept)
	return string(b), err
}

func parse(raw string) (*fault.Fault, error) {
	var kept failure
	if err := json.Unmarshal([]byte(raw), &kept); err != nil {
		return nil, err
	}
	f := &fault.Fault{Code: kept.Code, Detail: kept.Detail.Text()}
	for _, field := range kept.Fields {
		f.Fields = append(f.Fields, fault.Field{Name: field.Name, Code: field.Code, Text: field.Text.Text()})
	}
	return f, nil
}
