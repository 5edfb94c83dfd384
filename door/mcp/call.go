package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/api"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// member is a member of a JSON object: an argument of a tool with its value.
type member struct {
	name  string
	value json.RawMessage
}

// maxMembers is the maximum number of members of an object. No tool has a tenth as many arguments.
const maxMembers = 1000

// maxQuery is the maximum length of a query in bytes. A URL over HTTP has a maximum length too.
const maxQuery = 32 << 10

// membersOf returns the members of a JSON object in their order. Errors about arguments then have
// the same order. It fails if the text is no object.
func membersOf(text []byte) (list []member, err error) {
	if len(bytes.TrimSpace(text)) == 0 || bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("the arguments are no object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		if len(list) == maxMembers {
			return nil, fmt.Errorf("the object has more than %d members", maxMembers)
		}
		m := member{name: token.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the arguments")
	}
	return list, nil
}

// text returns the value as it appears in a query: a string without its quotes.
func (m *member) text() string {
	var s string
	if json.Unmarshal(m.value, &s) == nil {
		return s
	}
	return string(m.value)
}

// outsideBody reports whether an argument belongs to the path, the query or a header, and not to
// the body.
func (t *tool) outsideBody(name string) bool {
	return !t.op.HasBody() || slices.Contains(t.query, name) ||
		name == "id" && t.op.Named() || name == "revision" && t.op.Preconditional() ||
		name == "idempotencyKey" && t.op.Idempotent()
}

// arguments returns the arguments of the operation for the arguments of the tool. It adds headers,
// such as If-Match, to header.
func (t *tool) arguments(list []member, header map[string][]string) api.Arguments {
	c := &conversion{tool: t, header: header}
	c.args.Query = url.Values{}
	for i := range list {
		c.place(&list[i])
	}
	c.complete()
	return c.args
}

// conversion turns arguments of a tool into arguments of its operation.
type conversion struct {
	*tool
	header map[string][]string
	args   api.Arguments
	body   bytes.Buffer // the members of the body, without braces
	// tooMany says that the limit is allowed over HTTP and too high for a tool.
	tooMany bool
}

// refuse stores an error about the arguments. Only the first error is kept.
func (c *conversion) refuse(f *fault.Fault) {
	if c.args.Malformed == nil {
		c.args.Malformed = f
	}
}

// place adds an argument to the path, a header, the query or the body.
func (c *conversion) place(m *member) {
	outside := c.outsideBody(m.name)
	switch {
	case outside && string(m.value) == "null": // null is the same as no argument
	case m.name == "id" && c.op.Named():
		c.args.ID = m.text()
	case m.name == "revision" && c.op.Preconditional():
		n, err := strconv.ParseInt(m.text(), 10, 64)
		if err != nil || n < 1 {
			c.refuse(fault.Invalid(fault.Field{Name: "revision", Code: fault.InvalidType, Text: revisionExpected}))
		}
		c.header["If-Match"] = []string{`"r` + strconv.FormatInt(n, 10) + `"`}
	case m.name == "idempotencyKey" && c.op.Idempotent():
		c.header["Idempotency-Key"] = []string{m.text()}
	case m.name == "limit" && c.pages:
		if n, err := strconv.ParseInt(m.text(), 10, 64); err == nil && n > maxLimit {
			// The operation refuses a limit that is no number.
			c.tooMany = true
		}
		c.args.Query.Set("limit", m.text())
	case outside:
		c.args.Query.Add(m.name, m.text())
	default:
		name, _ := json.Marshal(m.name) // a string can always be encoded
		if c.body.Len() > 0 {
			c.body.WriteByte(',')
		}
		c.body.Write(name)
		c.body.WriteByte(':')
		c.body.Write(m.value)
	}
}

// limit refuses a limit that is too high. The error also names unknown parameters, so that a client
// sees all errors at once.
func (c *conversion) limit() {
	f := fault.BadRequest(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: maxLimit}})
	for _, name := range slices.Sorted(maps.Keys(c.args.Query)) {
		if slices.Contains(c.query, name) {
			continue
		}
		f.Code = fault.UnknownParameter
		unknown := fault.Field{Name: name, Code: fault.UnknownField}
		if near := fault.Nearest(name, c.query); near != "" {
			unknown.Text = fault.DidYouMean(near)
		}
		f.Fields = append(f.Fields, unknown)
	}
	c.refuse(f)
}

// complete checks the sizes, and adds the arguments that a client may omit.
func (c *conversion) complete() {
	if c.tooMany {
		c.limit()
	}
	if len(c.args.Query.Encode()) > maxQuery || len(c.args.ID) > maxQuery {
		c.refuse(fault.New(fault.PayloadTooLarge))
		c.args.Query, c.args.ID = url.Values{}, ""
	}
	if c.op.Named() && c.args.ID == "" {
		c.refuse(fault.Invalid(fault.Field{Name: "id", Code: fault.Required}))
		c.args.ID = "-" // without an id there is no operation
	}
	if c.pages && !c.args.Query.Has("limit") {
		c.args.Query.Set("limit", strconv.Itoa(defaultLimit))
	}
	if c.op.Creates() && c.header["Idempotency-Key"] == nil {
		c.header["Idempotency-Key"] = []string{rand.Text()}
	}
	if c.op.Creates() || c.op.Method == http.MethodPatch || c.body.Len() > 0 {
		c.args.Body = []byte("{" + c.body.String() + "}")
	}
}

var revisionExpected = i18n.Text("It takes the number that the record has as revision, for example 3.")

// call runs the operation of a tool and returns its response as the result of the tool.
func (t *tool) call(ctx context.Context, x *exchange, list []member) *sdk.CallToolResult {
	if t.op == nil {
		return x.callTextTool(ctx, list)
	}
	by := x.by
	by.Header = maps.Clone(x.by.Header)
	args := t.arguments(list, by.Header)
	return x.send(ctx, by, t.op, args, func(body []byte) []sdk.Content {
		switch {
		case len(body) == 0:
			return textContent(done(t, args.ID, x.response))
		case t.op.ID == "documents.get":
			return append(textContent(body), textOf(body)...)
		}
		return textContent(body)
	})
}

// send runs an operation and returns its response as the result of a tool. show returns the
// contents for a successful response. The first content is JSON text, which also becomes the
// structured content.
func (x *exchange) send(
	ctx context.Context, by api.Caller, o op.Any, args api.Arguments, show func(body []byte) []sdk.Content,
) *sdk.CallToolResult {
	body, err := x.ask(ctx, by, o, args)
	var result *sdk.CallToolResult
	switch f := fault.From(err); {
	case err == nil:
		result = &sdk.CallToolResult{Content: show(body)}
		result.StructuredContent = json.RawMessage(result.Content[0].(*sdk.TextContent).Text)
	case x.response != nil:
		result = failed(f, x.language, x.response.Body)
	default: // the arguments are too large for a call
		result = failed(f, x.language, f.AppendProblem(nil, fault.Problem{
			TypeBase: x.base, Instance: Path, Language: x.language,
		}))
	}
	result.Meta = metaOf(x.response)
	return result
}

// ask runs an operation and returns the body of its response. The error is the fault of the
// operation. If x.response is nil, the operation was not run.
func (x *exchange) ask(ctx context.Context, by api.Caller, o op.Any, args api.Arguments) (body []byte, err error) {
	if x.response, err = api.Send(ctx, x.api, by, o, args); err != nil {
		return nil, err
	}
	if x.response.Fault != nil {
		return nil, x.response.Fault
	}
	return x.response.Body, nil
}

// textContent returns a text as the content of a result.
func textContent(text []byte) []sdk.Content {
	return []sdk.Content{&sdk.TextContent{Text: string(text)}}
}

// metaOf returns the metadata of a result: the request id, and whether the response repeats an
// earlier one with the same idempotency key.
func metaOf(r *api.Response) sdk.Meta {
	name := requestOf(r)
	if name == "" {
		return nil
	}
	meta := sdk.Meta{"kartei/requestId": name}
	if r.Header["Idempotent-Replayed"] != nil {
		meta["kartei/replayed"] = true
	}
	return meta
}

// requestOf returns the request id of a response, or an empty string.
func requestOf(r *api.Response) string {
	if r == nil || len(r.Header["Request-Id"]) == 0 {
		return ""
	}
	return r.Header["Request-Id"][0]
}

// done returns the result of a call whose response has no body.
func done(t *tool, record string, r *api.Response) []byte {
	out := map[string]any{"id": record}
	if t.op.Deletes() {
		out["deleted"] = true
	} else {
		out["changed"] = true
	}
	if tag := r.Header["ETag"]; len(tag) > 0 && len(tag[0]) > 3 {
		if n, err := strconv.ParseInt(tag[0][2:len(tag[0])-1], 10, 64); err == nil {
			out["revision"] = n
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic("mcp: " + err.Error()) // strings and numbers can always be encoded
	}
	return b
}

// failed returns the result of a refused call: a text with the error and the next step, and the
// problem document. It has no structured content, because clients would check that by the schema of
// a successful response.
func failed(f *fault.Fault, in i18n.Language, problem []byte) *sdk.CallToolResult {
	text := string(f.Code) + ": "
	switch {
	case len(f.Fields) > 0: // the fields say more than the detail
		for _, field := range f.Fields {
			text += argumentOf(field.Name) + ": " + field.Message(in) + " "
		}
	case f.Code == fault.PreconditionFailed || f.Code == fault.PreconditionRequired: // the detail names headers
	case f.DetailIn(in) != "":
		text += f.DetailIn(in) + " "
	}
	return &sdk.CallToolResult{
		IsError: true, Content: append(textContent([]byte(text+f.Advice(in))), textContent(problem)...),
	}
}

// argumentOf returns the name of the argument for a field. Two headers have arguments with other
// names.
func argumentOf(field string) string {
	switch field {
	case "If-Match":
		return "revision"
	case "Idempotency-Key":
		return "idempotencyKey"
	}
	return field
}
