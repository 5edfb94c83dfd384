package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kartei/api/internal/header"
	"kartei/api/op"
	"kartei/api/schema"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// decodeResult holds the results of decode: the values that the client sent.
type decodeResult struct {
	sent        func() ([]byte, error) // returns the body, read at most once
	parameters  []schema.Parameter
	input       reflect.Value
	body        []byte
	ifMatch     op.Precondition
	ifNoneMatch []string
	// ifNoneMatchAny says that the request has If-None-Match: *.
	ifNoneMatchAny bool
	idempotency    string // the Idempotency-Key
}

// checker is an input that also checks which query parameters are combined. given reports whether
// the request has a parameter.
type checker interface {
	Check(given func(parameter string) bool) []fault.Field
}

// decode checks the query, the headers and the body by the frozen document of the version, and
// builds the input.
func decode(a *API, _ context.Context, c *call) error {
	if c.Malformed != nil {
		return c.Malformed
	}
	if c.op.Published() {
		var err error
		if c.parameters, err = c.rules.Query(c.op.ID, c.Query); err != nil {
			return err
		}
	}
	c.input = c.newInput()
	if in, ok := c.input.Interface().(checker); ok {
		if wrong := in.Check(c.given); len(wrong) > 0 {
			return fault.BadRequest(wrong...)
		}
	}
	if err := c.decodeHeaders(); err != nil {
		return err
	}
	return c.decodeBody(a)
}

func (c *call) given(name string) bool {
	return slices.ContainsFunc(c.parameters, func(p schema.Parameter) bool { return p.Name == name && p.Given })
}

// newInput returns a pointer to a new input. It is filled from path and query, or is a copy of
// Request.Input.
func (c *call) newInput() reflect.Value {
	if c.Input == nil {
		return c.op.Run.bind.fill(c.record, c.parameters)
	}
	in := reflect.New(c.op.Input)
	in.Elem().Set(reflect.ValueOf(c.Input))
	return in
}

// inputAgain builds the input again for another run of the operation, because the run before may
// have changed it.
func (c *call) inputAgain(a *API) error {
	c.input = c.newInput()
	return c.fillBody(a, c.input)
}

func (c *call) decodeHeaders() error {
	var wrong []fault.Field
	fail := func(name string, code fault.FieldCode, text i18n.Text) {
		wrong = append(wrong, fault.Field{Name: name, Code: code, Text: text})
	}
	if !c.op.Run.file && !header.AcceptsJSON(c.Header["Accept"]) {
		return fault.New(fault.NotAcceptable)
	}
	if c.op.Run.writes {
		var ok bool
		if c.ifMatch, ok = header.Precondition(c.Header["If-Match"]); !ok {
			fail("If-Match", fault.InvalidFormat, tagExpected)
		}
		c.ifMatch.Waived = !c.duties.Precondition
		if c.acceptsKey() {
			switch key, ok := header.IdempotencyKey(c.Header["Idempotency-Key"]); {
			case !ok:
				fail("Idempotency-Key", fault.InvalidFormat, keyExpected)
			case key == "" && c.op.Creates() && c.duties.IdempotencyKey:
				fail("Idempotency-Key", fault.Required, keyMissing)
			default:
				c.idempotency = key
			}
		}
	} else if values := c.Header["If-None-Match"]; header.IsAny(values) {
		c.ifNoneMatchAny = true
	} else if len(values) > 0 {
		tags, ok := header.EntityTags(values)
		if !ok {
			fail("If-None-Match", fault.InvalidFormat, tagExpected)
		}
		for _, t := range tags {
			c.ifNoneMatch = append(c.ifNoneMatch, strings.TrimPrefix(t, "W/"))
		}
	}
	if len(wrong) > 0 {
		return fault.BadRequest(wrong...)
	}
	return nil
}

var (
	tagExpected = i18n.Text(`This header takes an ETag in double quotes, for example "r1".`)
	keyExpected = i18n.Text("This header takes 1 to 255 printable ASCII characters, sent once.")
	keyMissing  = i18n.Text("The header Idempotency-Key is missing. It makes the call safe to repeat: send a text of your own, for example a UUID, another one for each new operation.")
)

func (c *call) decodeBody(a *API) error {
	if bind := c.op.Run.bind; bind.body < 0 && !bind.whole {
		if c.HasBody && c.Body != nil {
			if sent, err := c.read(); err != nil {
				return err
			} else if len(sent) > 0 && !(c.op.Act == op.Change && empty(sent)) {
				return &fault.Fault{
					Code:   fault.InvalidRequest,
					Fields: []fault.Field{{Name: "body", Code: fault.UnknownField, Text: noBody}},
				}
			}
		}
		return nil
	}
	if c.op.Published() {
		if err := c.contentType(); err != nil {
			return err
		}
	}
	if c.Body != nil {
		var err error
		if c.body, err = c.read(); err != nil {
			return err
		}
	}
	return c.fillBody(a, c.input)
}

// empty reports whether a body is a JSON object without members. Many HTTP clients send such a body
// with every POST.
func empty(body []byte) bool {
	inner, open := bytes.CutPrefix(bytes.TrimSpace(body), []byte("{"))
	inner, closed := bytes.CutSuffix(inner, []byte("}"))
	return open && closed && len(bytes.TrimSpace(inner)) == 0
}

// read returns the body. It calls Body only once, because a call may start again.
func (c *call) read() ([]byte, error) {
	if c.sent == nil {
		c.sent = sync.OnceValues(c.Body)
	}
	return c.sent()
}

var noBody = i18n.Text("This call accepts no body.")

var encoded = i18n.Text("Content-Encoding is not accepted for the body of a request. Send it uncompressed.")

// fillBody decodes the body into an input. If the operation is in the contract, it follows the
// version's document. Otherwise the whole input is JSON.
func (c *call) fillBody(a *API, in reflect.Value) error {
	switch bind := c.op.Run.bind; {
	case bind.whole:
		return decodeInput(c.body, in.Interface())
	case bind.body >= 0:
		return c.rules.Body(c.op.ID, c.body, in.Elem().Field(bind.body).Addr().Interface(), a.services)
	}
	return nil
}

// contentType accepts application/json and, for a PATCH, application/merge-patch+json. A body with
// a Content-Encoding is refused (RFC 9110, section 8.4).
func (c *call) contentType() error {
	for _, coding := range c.Header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			return &fault.Fault{
				Code:   fault.UnsupportedMediaType,
				Detail: encoded,
				Header: map[string]string{"Accept-Encoding": "identity"},
			}
		}
	}
	values := c.Header["Content-Type"]
	if len(values) > 1 {
		return fault.BadRequest(fault.Field{Name: "Content-Type", Code: fault.InvalidFormat})
	}
	if len(values) == 1 && values[0] == "application/json" {
		return nil
	}
	if len(values) == 1 {
		media, parameters, err := mime.ParseMediaType(values[0])
		charset := strings.ToLower(parameters["charset"])
		known := media == "application/json" || media == "application/merge-patch+json" && c.op.Act == op.Update
		if err == nil && known && (charset == "" || charset == "utf-8") {
			return nil
		}
		if media == "multipart/form-data" && c.op.ID == "documents.create" {
			return &fault.Fault{Code: fault.UnsupportedMediaType, Detail: fileElsewhere}
		}
	}
	return fault.New(fault.UnsupportedMediaType)
}

var fileElsewhere = i18n.Text("No file is sent here. Begin with POST /v1/uploads, send the file to the address that you get there, and then create the document with JSON.")

// DecodeBody decodes the JSON body of an operation into a value. It follows the rules of the
// internal version, which are also the rules for people. Imports use it for records from a file.
func (a *API) DecodeBody(operation string, raw []byte, into any, services *op.Services) error {
	return a.internal.rules.Body(operation, raw, into, services)
}

// binding maps the fields of an input type to parts of the request. It is built once for each
// operation, so a call only sets fields.
type binding struct {
	input reflect.Type
	// path is the index of the field tagged `path:"id"`, or -1.
	path int
	// query maps the name of a query parameter to the index of its field, which may be in an
	// embedded struct.
	query map[string][]int
	// body is the index of the field tagged `body:"..."`, or -1.
	body int
	// whole is true for operations outside of the contract. Their body is the whole input.
	whole bool
}

// bindingFor returns the binding for the tags of an input type. It panics if a field has no tag,
// which is a mistake in the program.
func bindingFor(t reflect.Type) *binding {
	b := &binding{input: t, path: -1, body: -1, query: map[string][]int{}}
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Anonymous:
		case f.Tag.Get("query") != "":
			b.query[f.Tag.Get("query")] = f.Index
		case len(f.Index) == 1 && f.Tag.Get("path") != "":
			b.path = f.Index[0]
		case len(f.Index) == 1 && f.Tag.Get("body") != "":
			b.body = f.Index[0]
		default:
			panic(fmt.Sprintf("api: %s.%s says not where it comes from", t, f.Name))
		}
	}
	return b
}

// fill builds an input from the id in the path and the query parameters, and returns a pointer to
// the input.
func (b *binding) fill(id string, parameters []schema.Parameter) reflect.Value {
	in := reflect.New(b.input)
	v := in.Elem()
	if b.path >= 0 {
		v.Field(b.path).SetString(id)
	}
	for _, p := range parameters {
		f := v.FieldByIndex(b.query[p.Name])
		switch value := p.Value.(type) {
		case string:
			f.SetString(value)
		case int64:
			f.SetInt(value)
		case bool:
			f.SetBool(value)
		case clock.Micros:
			f.SetInt(int64(value))
		}
	}
	return in
}

// codec has the JSON options for responses and for whole inputs. They behave like encoding/json,
// which the command line uses. A duration is a number of nanoseconds, and omitempty leaves out
// false and 0.
var codec = json.JoinOptions(jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true))

// decodeInput decodes a whole input. It fails if the body has an unknown member. An empty body
// leaves the input unchanged.
func decodeInput(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return wrongInput(json.Unmarshal(body, into, codec, json.RejectUnknownMembers(true)))
}

// wrongInput returns the fault for an error of the JSON decoder.
func wrongInput(err error) error {
	if err == nil {
		return nil
	}
	wrong, is := errors.AsType[*json.SemanticError](err)
	switch {
	case is && errors.Is(err, json.ErrUnknownName):
		return fault.BadRequest(fault.Field{Name: wrong.JSONPointer.LastToken(), Code: fault.UnknownField})
	case is && wrong.JSONPointer != "":
		return fault.BadRequest(fault.Field{Name: memberPath(wrong.JSONPointer), Code: fault.InvalidType})
	}
	return &fault.Fault{Code: fault.InvalidRequest, Cause: err}
}

// memberPath returns a JSON pointer in the notation of problem documents, for example networks[1].
func memberPath(at jsontext.Pointer) string {
	var b strings.Builder
	for token := range at.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}
