package socket

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// problem is the JSON of an error on the socket. It includes causes, because only the operator
// reads it.
type problem struct {
	Code   fault.Code   `json:"code,omitempty"`
	Detail i18n.Wording `json:"detail,omitempty"`
	Fields []wrongField `json:"fields,omitempty"`
	// Message is the text of an error that is not a fault.
	Message string `json:"message,omitempty"`
}

type wrongField struct {
	Name string          `json:"name"`
	Code fault.FieldCode `json:"code"`
	Text i18n.Wording    `json:"text"`
}

func statusOf(err error) int {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Code.Status()
	}
	return http.StatusInternalServerError
}

func encodeError(err error) ([]byte, error) {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.Internal {
		return json.Marshal(problem{Message: err.Error()})
	}
	p := problem{Code: f.Code, Detail: f.Detail.Wording()}
	for _, field := range f.Fields {
		p.Fields = append(p.Fields, wrongField{field.Name, field.Code, i18n.WordingOf(field.Message)})
	}
	return json.Marshal(p)
}

func decodeError(status int, body []byte) error {
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" && p.Message == "" {
		return fmt.Errorf("admin: the server answered %d without saying why", status)
	}
	if p.Code == "" {
		return errors.New(p.Message)
	}
	f := &fault.Fault{Code: p.Code, Detail: p.Detail.Text()}
	for _, field := range p.Fields {
		f.Fields = append(f.Fields, fault.Field{Name: field.Name, Code: field.Code, Text: field.Text.Text()})
	}
	return f
}
