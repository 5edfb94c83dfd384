package socket

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"kartei/kit/fault"
)

// problem is the form of an error on the socket. The other end is the operator,
// so it includes causes.
type problem struct {
	Code   fault.Code   `json:"code,omitempty"`
	Detail *fault.Text  `json:"detail,omitempty"`
	Fields []wrongField `json:"fields,omitempty"`
	// Message is the error's own text if the error is not a fault.
	Message string `json:"message,omitempty"`
}

type wrongField struct {
	Name string          `json:"name"`
	Code fault.FieldCode `json:"code"`
	Text fault.Text      `json:"text"`
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
	p := problem{Code: f.Code, Detail: f.Detail}
	for _, field := range f.Fields {
		p.Fields = append(p.Fields, wrongField{field.Name, field.Code,
			fault.Text{DE: field.Message(fault.German), EN: field.Message(fault.English)}})
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
	f := &fault.Fault{Code: p.Code, Detail: p.Detail}
	for _, field := range p.Fields {
		f.Fields = append(f.Fields, fault.Field{Name: field.Name, Code: field.Code, Text: &field.Text})
	}
	return f
}
