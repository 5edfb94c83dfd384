package api

import (
	"bytes"
	"context"
	"mime"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kartei/api/op"
	"kartei/api/schema"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/dunglas/httpsfv"
)

// decodeResult holds the results of decode: the values that the client sent.
type decodeResult struct {
	sent        func() ([]byte, error) // returns the body, read at most once
	parameters  []schema.Parameter
	input       reflect.Value
	body        []byte
	ifMatch     op.Precondition
	ifNoneMatch []string
	// ifNoneMatchAny is If-None-Match: *.
	ifNoneMatchAny bool
	idempotency    string // the key
}

// checker is an input with rules about combinations of parameters.
type checker interface {
	Check(given func(parameter string) bool) []fault.Field
}

// decode checks the query, the headers and the body against the version's
// frozen document.
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

// newInput builds the operation's input from path and query, or copies the
// input of a door.
func (c *call) newInput() reflect.Value {
	if c.Input == nil {
		return c.op.Run.bind.fill(c.record, c.parameters)
	}
	in := reflect.New(c.op.Input)
	in.Elem().Set(reflect.ValueOf(c.Input))
	return in
}

// inputAgain builds the input for another run of the operation: the previous one may have
// changed it.
func (c *call) inputAgain(a *API) error {
	c.input = c.newInput()
	return c.fillBody(a, c.input)
}

func (c *call) decodeHeaders() error {
	var wrong []fault.Field
	fail := func(name string, code fault.FieldCode, text i18n.Text) {
		wrong = append(wrong, fault.Field{Name: name, Code: code, Text: text})
	}
	if !c.op.Run.file && !acceptsJSON(c.Header["Accept"]) {
		return fault.New(fault.NotAcceptable)
	}
	if c.op.Run.writes {
		var ok bool
		if c.ifMatch, ok = precondition(c.Header["If-Match"]); !ok {
			fail("If-Match", fault.InvalidFormat, tagExpected)
		}
		c.ifMatch.Waived = !c.duties.Precondition
		if c.acceptsKey() {
			switch key, ok := idempotencyKey(c.Header["Idempotency-Key"]); {
			case !ok:
				fail("Idempotency-Key", fault.InvalidFormat, keyExpected)
			case key == "" && c.op.Creates() && c.duties.IdempotencyKey:
				fail("Idempotency-Key", fault.Required, keyMissing)
			default:
				c.idempotency = key
			}
		}
	} else if values := c.Header["If-None-Match"]; isStar(values) {
		c.ifNoneMatchAny = true
	} else if len(values) > 0 {
		tags, ok := entityTags(values)
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

// empty reports whether a body is an object without members. Many HTTP clients
// send one with every POST.
func empty(body []byte) bool {
	inner, open := bytes.CutPrefix(bytes.TrimSpace(body), []byte("{"))
	inner, closed := bytes.CutSuffix(inner, []byte("}"))
	return open && closed && len(bytes.TrimSpace(inner)) == 0
}

// read returns the body. It is read once, because a call may start over.
func (c *call) read() ([]byte, error) {
	if c.sent == nil {
		c.sent = sync.OnceValues(c.Body)
	}
	return c.sent()
}

var noBody = i18n.Text("This call accepts no body.")

var encoded = i18n.Text("Content-Encoding is not accepted for the body of a request. Send it uncompressed.")

// fillBody decodes the body into an input: by the rules of the version's document, or as JSON
// that is the whole input.
func (c *call) fillBody(a *API, in reflect.Value) error {
	switch bind := c.op.Run.bind; {
	case bind.whole:
		return decodeInput(c.body, in.Interface())
	case bind.body >= 0:
		return c.rules.Body(c.op.ID, c.body, in.Elem().Field(bind.body).Addr().Interface(), a.services)
	}
	return nil
}

// contentType accepts application/json and, for a patch, its own type. An
// encoded body is refused, not decoded (RFC 9110, section 8.4).
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

// acceptsJSON reports whether an Accept header allows JSON (RFC 9110, section
// 12.5.1).
func acceptsJSON(values []string) bool {
	if len(values) == 0 {
		return true
	}
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "*/*", "application/*", "application/json", "application/problem+json", "":
				if !refused(parameters) {
					return true
				}
			}
		}
	}
	return false
}

// refused reports whether the parameters of a media type have the weight zero.
func refused(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || weight == 0
		}
	}
	return false
}

// precondition parses If-Match: * or a list of entity tags (RFC 9110, section
// 13.1.1). Several headers form one list.
func precondition(values []string) (op.Precondition, bool) {
	if len(values) == 0 {
		return op.Precondition{}, true
	}
	if isStar(values) {
		return op.Precondition{Sent: true, Any: true}, true
	}
	tags, ok := entityTags(values)
	p := op.Precondition{Sent: true}
	for _, t := range tags {
		if !strings.HasPrefix(t, "W/") {
			p.Tags = append(p.Tags, t)
		}
	}
	return p, ok
}

// isStar reports whether a header is *, and not a list of entity tags. The
// quoted "*" is an ordinary entity tag.
func isStar(values []string) bool {
	return len(values) == 1 && strings.Trim(values[0], " \t") == "*"
}

// entityTags parses a list of one or more entity tags. Tags are returned
// without quotes, and weak ones begin with W/. Empty entries are skipped (RFC
// 9110, section 5.6.1.2).
func entityTags(values []string) (tags []string, ok bool) {
	for _, rest := range values {
		for rest = strings.TrimLeft(rest, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			tag, after, ok := entityTag(rest)
			if !ok {
				return nil, false
			}
			tags = append(tags, tag)
			if rest = strings.TrimLeft(after, " \t"); rest != "" && rest[0] != ',' {
				return nil, false
			}
		}
	}
	return tags, len(tags) > 0
}

// entityTag parses the first tag of s: visible characters in double quotes,
// after W/ for a weak one.
func entityTag(s string) (tag, rest string, ok bool) {
	weak := ""
	if after, found := strings.CutPrefix(s, "W/"); found {
		weak, s = "W/", after
	}
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 {
		return "", "", false
	}
	opaque := s[1 : 1+end]
	for i := range len(opaque) {
		if opaque[i] < 0x21 || opaque[i] == 0x7f {
			return "", "", false
		}
	}
	return weak + opaque, s[end+2:], true
}

// idempotencyKey parses the key: 1 to 255 printable ASCII characters, bare or
// as a structured field string. Both forms mean the same key. Without a header
// the key is empty.
func idempotencyKey(values []string) (key string, ok bool) {
	if len(values) == 0 {
		return "", true
	}
	if len(values) > 1 {
		return "", false
	}
	key = values[0]
	if strings.HasPrefix(key, `"`) {
		item, err := httpsfv.UnmarshalItem(values)
		if err != nil {
			return "", false
		}
		if key, ok = item.Value.(string); !ok {
			return "", false
		}
	}
	if len(key) < 1 || len(key) > 255 {
		return "", false
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return "", false
		}
	}
	return key, true
}

// DecodeBody reads the body of an operation into a value, by the rules for people: the
// newest version's rules. What comes from a file, not from a call, meets the same rules.
func (a *API) DecodeBody(operation string, raw []byte, into any, services *op.Services) error {
	return a.internal.rules.Body(operation, raw, into, services)
}
