package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/api"
	"kartei/kit/fault"
)

// member is an argument as it was sent.
type member struct {
	name  string
	value json.RawMessage
}

// mostMembers bounds the members of an object: no tool has a tenth of that.
const mostMembers = 1000

// mostQuery bounds the query that arguments make, in bytes. A URL over HTTP has a bound too.
const mostQuery = 32 << 10

// membersOf returns the members of a JSON object in their order, so that errors come in
// that order too.
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
		if len(list) == mostMembers {
			return nil, fmt.Errorf("the object has more than %d members", mostMembers)
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

// text returns a value as it stands in a query: a string without its quotes.
func (m *member) text() string {
	var s string
	if json.Unmarshal(m.value, &s) == nil {
		return s
	}
	return string(m.value)
}

// beside reports whether an argument stands beside the body: in the path or the query, or
// for a header.
func (t *tool) beside(name string) bool {
	return !t.op.HasBody() || slices.Contains(t.query, name) ||
		name == "id" && t.op.Named() || name == "revision" && t.op.Preconditional() || name == "idempotencyKey" && t.op.Idempotent()
}

// arguments turns the arguments of a tool into those of its operation, and adds the headers
// that they stand for.
func (t *tool) arguments(list []member, header map[string][]string) (args api.Arguments) {
	args.Query = url.Values{}
	wrong := func(f *fault.Fault) {
		if args.Malformed == nil {
			args.Malformed = f
		}
	}
	var body bytes.Buffer
	for _, m := range list {
		beside := t.beside(m.name)
		switch {
		case beside && string(m.value) == "null": // absent says the same
		case m.name == "id" && t.op.Named():
			args.ID = m.text()
		case m.name == "revision" && t.op.Preconditional():
			n, err := strconv.ParseInt(m.text(), 10, 64)
			if err != nil || n < 1 {
				wrong(fault.Invalid(fault.Field{Name: "revision", Code: fault.InvalidType, Text: &revisionExpected}))
			}
			header["If-Match"] = []string{`"r` + strconv.FormatInt(n, 10) + `"`}
		case m.name == "idempotencyKey" && t.op.Idempotent():
			header["Idempotency-Key"] = []string{m.text()}
		case m.name == "limit" && t.pages:
			if n, err := strconv.ParseInt(m.text(), 10, 64); err == nil && n > mostLimit { // the path refuses what is no size at all
				wrong(fault.BadRequest(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: mostLimit}}))
			}
			args.Query.Set("limit", m.text())
		case beside:
			args.Query.Add(m.name, m.text())
		default:
			name, _ := json.Marshal(m.name) // a text always encodes
			if body.Len() > 0 {
				body.WriteByte(',')
			}
			body.Write(name)
			body.WriteByte(':')
			body.Write(m.value)
		}
	}
	if len(args.Query.Encode()) > mostQuery || len(args.ID) > mostQuery {
		wrong(fault.New(fault.PayloadTooLarge))
		args.Query, args.ID = url.Values{}, ""
	}
	if t.op.Named() && args.ID == "" {
		wrong(fault.Invalid(fault.Field{Name: "id", Code: fault.Required}))
		args.ID = "-" // the operation is found by a path with an id
	}
	if t.pages && !args.Query.Has("limit") {
		args.Query.Set("limit", strconv.Itoa(usualLimit))
	}
	if t.op.Creates() && header["Idempotency-Key"] == nil {
		header["Idempotency-Key"] = []string{rand.Text()}
	}
	if t.op.Creates() || t.op.Method == http.MethodPatch || body.Len() > 0 {
		args.Body = []byte("{" + body.String() + "}")
	}
	return args
}

var revisionExpected = fault.Text{
	DE: "Erwartet wird die Zahl, die im Datensatz als revision steht, zum Beispiel 3.",
	EN: "It takes the number that the record has as revision, for example 3.",
}

// call calls the operation of a tool along the path of every other call, and turns the
// answer into a result.
func (t *tool) call(ctx context.Context, x *exchange, list []member) *sdk.CallToolResult {
	by := x.by
	by.Header = map[string][]string{"Svc-Preview": {"true"}, "Accept-Language": by.Header["Accept-Language"], "User-Agent": by.Header["User-Agent"]}
	if t.op == nil {
		return x.readText(ctx, by, list)
	}
	args := t.arguments(list, by.Header)
	return x.send(ctx, by, t.op.ID, args, func(body []byte) []sdk.Content {
		switch {
		case len(body) == 0:
			return said(done(t, args.ID, x.response))
		case t.op.ID == "documents.get":
			return append(said(body), textOf(body)...)
		}
		return said(body)
	})
}

// send calls an operation. show returns what the result of a successful call says of its
// answer: first a text in JSON, which is the structured content too.
func (x *exchange) send(ctx context.Context, by api.Caller, operation string, args api.Arguments, show func(body []byte) []sdk.Content) *sdk.CallToolResult {
	var err error
	x.response, err = api.Send(ctx, x.api, by, operation, args)
	var result *sdk.CallToolResult
	switch {
	case err != nil: // the arguments are too large
		f := fault.From(err)
		result = failed(f, x.language, f.AppendProblem(nil, fault.Problem{TypeBase: x.base, Instance: Path, Language: x.language}))
	case x.response.Fault != nil:
		result = failed(x.response.Fault, x.language, x.response.Body)
	default:
		result = &sdk.CallToolResult{Content: show(x.response.Body)}
		result.StructuredContent = json.RawMessage(result.Content[0].(*sdk.TextContent).Text)
	}
	result.Meta = metaOf(x.response)
	return result
}

// said returns a text as content.
func said(text []byte) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: string(text)}} }

// metaOf returns what a result says about its call: the name of the request, and whether
// the answer is that of an earlier call with the same key.
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

// requestOf returns the name of the request of an answer, which may be missing.
func requestOf(r *api.Response) string {
	if r == nil || len(r.Header["Request-Id"]) == 0 {
		return ""
	}
	return r.Header["Request-Id"][0]
}

// done is the result of a call that is answered without a body.
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
		panic("mcp: " + err.Error()) // texts and numbers always encode
	}
	return b
}

// failed is the result of a call that was refused: what is wrong and what to do, and the
// problem as the API has it. There is no structured content: a client would check it by
// the schema of an answer.
func failed(f *fault.Fault, in fault.Language, problem []byte) *sdk.CallToolResult {
	text := string(f.Code) + ": "
	switch {
	case len(f.Fields) > 0: // each says more than the detail, which only announces them
		for _, field := range f.Fields {
			text += argumentOf(field.Name) + ": " + field.Message(in) + " "
		}
	case f.Code == fault.PreconditionFailed || f.Code == fault.PreconditionRequired: // the detail is about headers
	case f.DetailIn(in) != "":
		text += f.DetailIn(in) + " "
	}
	return &sdk.CallToolResult{IsError: true, Content: append(said([]byte(text+f.Advice(in))), said(problem)...)}
}

// argumentOf returns the argument that stands for a header, and any other field as it is.
func argumentOf(field string) string {
	switch field {
	case "If-Match":
		return "revision"
	case "Idempotency-Key":
		return "idempotencyKey"
	}
	return field
}
