// Package codesample owns the code samples of the reference, in curl, Python, JavaScript and Go.
package codesample

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options are the settings of the samples.
type Options struct {
	// Server is the base URL of the API, with /v1.
	Server string
	// Version is the API version that samples send. It is empty if calls get this version by
	// default.
	Version string
}

// Sample is one entry of x-codeSamples, in the form that ReDoc and similar
// tools read.
type Sample struct {
	Lang   string `json:"lang"`
	Label  string `json:"label"`
	Source string `json:"source"`
}

// Add returns the document with the member x-codeSamples in each operation. Nothing else changes,
// and members keep their order. It fails if the document is not a valid OpenAPI document.
//
// Samples read the key from the environment variable KARTEI_KEY. Ids, and revisions in If-Match,
// are the examples of the document.
func Add(document []byte, o Options) ([]byte, error) {
	var s spec
	if err := json.Unmarshal(document, &s); err != nil {
		return nil, fmt.Errorf("codesample: %w", err)
	}
	var out bytes.Buffer
	w := writer{
		spec: &s, options: o, in: jsontext.NewDecoder(bytes.NewReader(document)),
		out: jsontext.NewEncoder(&out, jsontext.PreserveRawStrings(true)),
	}
	if err := w.members(w.section); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("codesample: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// writer copies a document token by token, which keeps the order of members.
type writer struct {
	spec    *spec
	options Options
	in      *jsontext.Decoder
	out     *jsontext.Encoder
	path    string
}

// members copies an object and calls value for each of its values.
func (w *writer) members(value func(name string) error) error {
	open, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	if err := w.out.WriteToken(open); err != nil {
		return err
	}
	for w.in.PeekKind() == '"' {
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if err := w.out.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := value(name); err != nil {
			return err
		}
	}
	end, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	return w.out.WriteToken(end)
}

func (w *writer) section(name string) error {
	if name == "paths" {
		return w.members(func(path string) error {
			w.path = path
			return w.members(w.operation)
		})
	}
	return w.copy()
}

func (w *writer) copy() error {
	value, err := w.in.ReadValue()
	if err != nil {
		return err
	}
	return w.out.WriteValue(value)
}

// operation copies an operation and adds the samples after its last member.
// Other members of a path, such as its parameters, stay unchanged.
func (w *writer) operation(name string) error {
	value, err := w.in.ReadValue()
	if err != nil {
		return err
	}
	switch method := strings.ToUpper(name); method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		var op operation
		if err := json.Unmarshal(value, &op); err != nil {
			return err
		}
		c, err := w.spec.call(method, w.path, &op, w.options)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, w.path, err)
		}
		samples, err := c.samples()
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, w.path, err)
		}
		added, err := json.Marshal(samples)
		if err != nil {
			return err
		}
		value = bytes.TrimSuffix(bytes.TrimSpace(value), []byte("}"))
		value = fmt.Appendf(bytes.Clone(value), `,"x-codeSamples":%s}`, added)
	}
	return w.out.WriteValue(value)
}

// spec is the part of an OpenAPI document that the samples need.
type spec struct {
	Components struct {
		Parameters map[string]parameter `json:"parameters"`
		Responses  map[string]response  `json:"responses"`
	} `json:"components"`
}

type operation struct {
	ID          string      `json:"operationId"`
	Parameters  []parameter `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct {
				Value jsontext.Value `json:"value"`
			} `json:"examples"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Example  any    `json:"example"`
}

type response struct {
	Ref     string                    `json:"$ref"`
	Content map[string]jsontext.Value `json:"content"`
}

// flow is the way in which a sample handles the response.
type flow string

const (
	printed  flow = "printed"  // prints the JSON of the response
	empty    flow = "empty"    // the response has no body
	saved    flow = "saved"    // saves the response as a file
	uploaded flow = "uploaded" // uploads a file to the address in the response
	polled   flow = "polled"   // polls the operation in the response
)

// sampleFile is the file that samples upload or save.
const sampleFile = "Klageschrift.pdf"

// call is the data of one call for the templates.
type call struct {
	Server  string
	Method  string
	URL     string
	Query   []field
	Headers []field
	Body    *node
	Flow    flow
	// File is the name of the file to upload or save.
	File string
}

// field is a parameter or a header.
type field struct {
	Name, Value string
	// Number is true if the value is a number.
	Number bool
}

// Fresh reports whether each run of a sample generates a new value.
func (f field) Fresh() bool { return f.Name == idempotencyKey }

const idempotencyKey = "Idempotency-Key"

// shown are the optional query parameters that samples set. They are useful in a first call and can
// be combined.
var shown = map[string]bool{"limit": true, "q": true, "createdSince": true, "version": true}

func (s *spec) call(method, path string, op *operation, o Options) (*call, error) {
	c := &call{Server: o.Server, Method: method, File: sampleFile}
	if o.Version != "" {
		c.Headers = append(c.Headers, field{Name: "Svc-Version", Value: o.Version})
	}
	for _, p := range op.Parameters {
		p, err := s.parameter(p)
		if err != nil {
			return nil, err
		}
		example := fmt.Sprint(p.Example)
		_, number := p.Example.(float64)
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", example)
		case p.In == "query" && (p.Required || shown[p.Name]):
			c.Query = append(c.Query, field{p.Name, example, number})
		case p.In == "header" && (p.Required || p.Name == idempotencyKey):
			c.Headers = append(c.Headers, field{p.Name, example, false})
		}
	}
	c.URL = o.Server + path
	if err := c.body(op); err != nil {
		return nil, err
	}
	return c, s.flow(c, op)
}

// flow decides how a sample handles the response.
func (s *spec) flow(c *call, op *operation) error {
	content := map[string]bool{}
	for status, r := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if r.Ref != "" {
			found, known := s.Components.Responses[path.Base(r.Ref)]
			if !known {
				return fmt.Errorf("%s refers to a part that does not exist", r.Ref)
			}
			r = found
		}
		for media := range r.Content {
			content[media] = true
		}
	}
	_, accepted := op.Responses["202"]
	switch {
	case op.ID == "uploads.create":
		c.Flow = uploaded
	case accepted:
		c.Flow = polled
	case len(content) == 0:
		c.Flow = empty
	case !content["application/json"]:
		c.Flow = saved
	case op.ID == "openapi.get":
		c.Flow, c.File = saved, "openapi.json"
	default:
		c.Flow = printed
	}
	return nil
}

func (s *spec) parameter(p parameter) (parameter, error) {
	if p.Ref == "" {
		return p, nil
	}
	found, known := s.Components.Parameters[path.Base(p.Ref)]
	if !known {
		return p, fmt.Errorf("%s refers to a part that does not exist", p.Ref)
	}
	return found, nil
}
