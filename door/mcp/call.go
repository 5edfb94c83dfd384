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
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/api"
	"kartei/kit/fault"
)

// member is an argument as it was sent.
type member struct {
	name  string
	value json.RawMessage
}

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
func (t *tool) arguments(list []member, header map[string][]string) (args api.Arguments, err error) {
	args.Query = url.Values{}
	var body bytes.Buffer
	for _, m := range list {
		beside := t.beside(m.name)
		switch {
		case beside && string(m.value) == "null": // absent says the same
		case m.name == "id" && t.op.Named():
			args.ID = m.text()
		case m.name == "revision" && t.op.Preconditional():
			if n, err := strconv.ParseInt(m.text(), 10, 64); err != nil || n < 1 {
				return args, fault.Invalid(fault.Field{Name: "revision", Code: fault.InvalidType})
			}
			header["If-Match"] = []string{`"r` + m.text() + `"`}
		case m.name == "idempotencyKey" && t.op.Idempotent():
			header["Idempotency-Key"] = []string{m.text()}
		case m.name == "limit" && t.pages:
			if n, err := strconv.ParseInt(m.text(), 10, 64); err == nil && n > mostLimit { // the path refuses what is no size at all
				return args, fault.BadRequest(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: mostLimit}})
			}
			args.Query.Set("limit", m.text())
		case beside:
			args.Query.Add(m.name, m.text())
		default:
			name, err := json.Marshal(m.name)
			if err != nil {
				return args, err
			}
			if body.Len() > 0 {
				body.WriteByte(',')
			}
			body.Write(name)
			body.WriteByte(':')
			body.Write(m.value)
		}
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
	return args, nil
}

// call calls the operation of a tool along the path of every other call, and turns the
// answer into a result.
func (t *tool) call(ctx context.Context, x *exchange, list []member) *sdk.CallToolResult {
	by := x.by
	by.Header = map[string][]string{"Svc-Preview": {"true"}, "Accept-Language": by.Header["Accept-Language"], "User-Agent": by.Header["User-Agent"]}
	args, wrong := t.arguments(list, by.Header)
	var err error
	if wrong != nil { // what is wrong with a call is for those only who may call
		x.response, err = api.Send(ctx, x.api, x.by, "tools.list", api.Arguments{})
	} else {
		x.response, err = api.Send(ctx, x.api, by, t.op.ID, args)
	}
	return t.result(x, args.ID, errors.Join(err, wrong))
}

// result returns the result of a call: the answer of the API, or what was wrong before.
func (t *tool) result(x *exchange, record string, wrong error) *sdk.CallToolResult {
	var result *sdk.CallToolResult
	switch {
	case x.response != nil && x.response.Fault != nil:
		result = failed(x.response.Fault, x.language, x.response.Body)
	case wrong != nil:
		f := fault.From(wrong)
		result = failed(f, x.language, f.AppendProblem(nil, fault.Problem{
			TypeBase: x.base, Instance: Path, RequestID: requestOf(x.response), Language: x.language,
		}))
	default:
		body := x.response.Body
		if len(body) == 0 {
			body = done(t, record, x.response)
		}
		result = &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(body)}}, StructuredContent: json.RawMessage(body)}
		if t.op.ID == "documents.get" {
			result.Content = append(result.Content, textOf(body)...)
		}
	}
	result.Meta = metaOf(x.response)
	return result
}

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

// failed is the result of a call that was refused: one sentence about what to do, and the
// problem as the API has it. There is no structured content: a client would check it by
// the schema of an answer.
func failed(f *fault.Fault, in fault.Language, problem []byte) *sdk.CallToolResult {
	text := string(f.Code) + ": "
	if detail := f.DetailIn(in); detail != "" {
		text += detail + " "
	}
	if len(f.Fields) > 0 {
		names := make([]string, len(f.Fields))
		for i, field := range f.Fields {
			names[i] = argumentOf(field.Name)
		}
		text += "(" + strings.Join(names, ", ") + ") "
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text + f.Advice(in)}, &sdk.TextContent{Text: string(problem)}}}
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
