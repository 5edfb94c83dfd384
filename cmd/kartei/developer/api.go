// Package developer owns the commands for whoever writes a client of the API.
package developer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"kartei/api"
	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"

	"golang.org/x/net/http/httpguts"
)

// API is the command that calls the API of an instance.
type API struct {
	Call []string `arg:"" optional:"" name:"call" help:"A method and a path, a path alone to read it, or the id of an operation."`
	command.InstanceFlags
	Texts    []string `name:"raw-field" short:"f" sep:"none" placeholder:"NAME=VALUE" help:"A text: part of the path, a parameter of a read, or a field of a body."`
	Values   []string `name:"field" short:"F" sep:"none" placeholder:"NAME=VALUE" help:"The same, but numbers, true, false, null, arrays and objects are JSON values. @FILE is the text of a file, @- that of standard input."`
	Headers  []string `name:"header" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"An additional header, or another value for a header that is sent by default."`
	Input    string   `name:"input" placeholder:"FILE" help:"The body, from a file or (-) from standard input."`
	Output   string   `name:"output" short:"o" placeholder:"FILE" help:"File for the answer. It is written only if the answer is complete."`
	Include  bool     `name:"include" short:"i" help:"Print the status and the headers too."`
	Paginate bool     `name:"paginate" help:"Read all pages of a list, and print each record on one line."`
	Once     string   `name:"idempotency-key" placeholder:"KEY" help:"The Idempotency-Key, for repeating a call after a lost answer; a new one by default."`
	IfMatch  string   `name:"if-match" placeholder:"ETAG" help:"The ETag that the record must have."`
	Revision int      `name:"revision" placeholder:"N" help:"The revision to change or delete; the same as --if-match '\"rN\"'."`
	Lang     string   `name:"lang" enum:"de,en" default:"en" help:"The language of errors: ${enum}."`
	List     bool     `name:"list" help:"List the operations."`
}

// Help returns the help text below the summary.
func (*API) Help() string {
	return `Examples, with the key in KARTEI_KEY and the address in KARTEI_URL:

  kartei api me.get
  kartei api GET /contacts -f q=Müller --paginate
  kartei api contacts.create -f firstName=Anna -f address.city=Köln -f 'tags[]=Mandant'
  kartei api contacts.create -f lastName=Berg -f 'additionalPhones[].phone=0221 555' -f 'additionalPhones[].label=fax'
  kartei api contacts.update -f id=con_... --revision 1 -F note=null
  kartei api documents.content -f id=doc_... -o Klageschrift.pdf

The answer goes to standard output, that of an error too; the words of an error go to standard error.
With --paginate only records are printed. Svc-Preview is always sent, and an Idempotency-Key with
each POST. On 429 the call waits as long as the answer says, else 1, 2, 4 and 8 s, and gives up
after five attempts. It does not wait for an exhausted quota. A call without an answer is repeated
in the same way, if that does no harm.

The exit status is 0, or 1 for an error on this machine, 2 for a wrong command line, 3 if the key
may not do it (401, 403), 4 for any other error of the call (4xx), 5 for an error of the instance
(5xx, or an answer of another program), 6 for a limit (429), 7 if no answer came or it broke off,
and 130 after an interrupt.`
}

// Run makes the call and prints the response.
func (c *API) Run(ctx context.Context, g *command.Globals) error {
	if c.List {
		for _, op := range api.Operations {
			fmt.Fprintf(g.Out, "%-6s  %-40s  %s\n", op.Method, op.Path, op.ID)
		}
		return nil
	}
	built, err := c.request()
	if err != nil {
		return command.Usagef("%w", err)
	}
	client, err := c.NewClientWith(g, 0, func(why error, wait time.Duration) {
		fmt.Fprintf(g.Err, "The instance: %v; trying again in %s.\n", why, wait.Round(100*time.Millisecond))
	})
	if err != nil {
		return err
	}
	if built.Body, err = c.body(built.Body); err != nil {
		return err
	}
	out := &apiOutput{Globals: g, include: c.Include ||
		built.Method == http.MethodHead, file: c.Output, records: c.Paginate}
	if c.Paginate {
		err = client.Each(ctx, built.Request, out.record)
	} else {
		err = c.once(ctx, client, built.Request, out)
	}
	if err == nil {
		return nil
	}
	out.refusal(err)
	c.tellOutcome(g, built, err)
	if ctx.Err() != nil {
		return command.ErrInterrupted
	}
	return c.Explain(g, advise(err))
}

// advise adds the missing flag to the error of a refused call.
func advise(err error) error {
	refused := new(remote.Refusal)
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case "PRECONDITION_REQUIRED":
		return fmt.Errorf("%w; read the record, and give its revision with --revision N", err)
	case "PRECONDITION_FAILED":
		return fmt.Errorf("%w; read the record again, and give its revision with --revision N", err)
	}
	return err
}

func (c *API) once(ctx context.Context, client *remote.Client, r remote.Request, out *apiOutput) error {
	response, err := client.Send(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return out.answer(response)
}

// tellOutcome prints advice if the outcome of a write is unknown.
func (c *API) tellOutcome(g *command.Globals, b *apiRequest, err error) {
	none, refused := new(remote.NoAnswerError), new(remote.Refusal)
	unknown := errors.As(err, &none) && none.Sent
	if errors.As(err, &refused) {
		paused := refused.Status == http.StatusServiceUnavailable && refused.Code != ""
		unknown = !paused && (refused.Status >= 500 || refused.Status < 400)
	}
	if !unknown || b.Method == http.MethodGet || b.Method == http.MethodHead {
		return
	}
	fmt.Fprint(g.Err, "It is not known whether the call was carried out. ")
	if key := b.Header.Get("Idempotency-Key"); key != "" && b.Repeatable {
		fmt.Fprintf(g.Err, "Repeat it with --idempotency-key %s: it is carried out once at most.\n", key)
		return
	}
	fmt.Fprintln(g.Err, "Read the record before you repeat it.")
}

// apiRequest is a call of an API operation.
type apiRequest struct {
	remote.Request
	op *api.Operation // nil for an unknown path
}

// request returns the call for the command line.
func (c *API) request() (*apiRequest, error) {
	b, path, err := c.target()
	if err != nil {
		return nil, err
	}
	fields, err := c.fields()
	if err != nil {
		return nil, err
	}
	if path, fields, err = fillPath(path, fields); err != nil {
		return nil, err
	}
	if err := b.place(path, fields, c.Input != "", c.Paginate); err != nil {
		return nil, err
	}
	if err := c.header(b); err != nil {
		return nil, err
	}
	switch {
	case c.Paginate && b.Method != http.MethodGet:
		return nil, errors.New("--paginate: only a read (GET) has pages")
	case c.Paginate && (c.Include || c.Output != ""):
		return nil, errors.New("--paginate cannot be used with --include or --output; redirect standard output instead")
	case c.Input != "" && (b.Method == http.MethodGet || b.Method == http.MethodHead || b.Method == http.MethodDelete):
		return nil, fmt.Errorf("--input: %s has no body", b.Method)
	}
	return b, nil
}

// target returns the call with its method, and the path. The path may contain {id}.
func (c *API) target() (*apiRequest, string, error) {
	switch {
	case len(c.Call) == 1 && !strings.HasPrefix(c.Call[0], "/"):
		for i := range api.Operations {
			if op := &api.Operations[i]; op.ID == c.Call[0] {
				return &apiRequest{remote.Request{Method: op.Method}, op}, op.Path, nil
			}
		}
		if strings.ContainsAny(c.Call[0], ":/") || leadsAnywhere("/"+c.Call[0]) {
			return nil, "", notPath(c.Call[0])
		}
		return nil, "", fmt.Errorf("there is no operation %q; kartei api --list shows them", c.Call[0])
	case len(c.Call) == 1:
		return c.named(http.MethodGet, c.Call[0])
	case len(c.Call) == 2:
		return c.named(strings.ToUpper(c.Call[0]), c.Call[1])
	}
	return nil, "", errors.New("name a call: a method and a path (GET /contacts), or an operation (contacts.list)")
}

func (c *API) named(method, path string) (*apiRequest, string, error) {
	path = strings.TrimPrefix(path, "/v1")
	if u, err := url.Parse(path); err != nil || !strings.HasPrefix(path, "/") || u.Host != "" || u.Fragment != "" {
		return nil, "", notPath(c.Call[len(c.Call)-1])
	}
	if !httpguts.ValidHeaderFieldName(method) {
		return nil, "", fmt.Errorf("%q is not a method such as GET", method)
	}
	bare, _, _ := strings.Cut(path, "?")
	for i := range api.Operations {
		if op := &api.Operations[i]; (op.Method == method || op.Method == http.MethodGet && method == http.MethodHead) &&
			leadsTo(bare, op.Path) {
			return &apiRequest{remote.Request{Method: method}, op}, path, nil
		}
	}
	return &apiRequest{remote.Request{Method: method}, nil}, path, nil
}

// notPath returns the error for an argument that is not a path.
func notPath(word string) error {
	switch u, err := url.Parse(word); {
	case err == nil && u.Host != "":
		return fmt.Errorf("%q is a whole address: give the path alone, such as /contacts, and the address of the instance in KARTEI_URL or with --url", word)
	case slices.ContainsFunc(api.Operations, func(op api.Operation) bool { return op.ID == word }):
		return fmt.Errorf("%q is an operation, which has a method already: kartei api %[1]s", word)
	case err == nil && u.Fragment == "" && leadsAnywhere("/"+word):
		return fmt.Errorf("%q is not a path, which begins with a slash: /%[1]s", word)
	}
	return fmt.Errorf("%q is not a path such as /contacts", word)
}

// leadsAnywhere reports whether a path is the path of any operation.
func leadsAnywhere(path string) bool {
	bare, _, _ := strings.Cut(path, "?")
	return slices.ContainsFunc(api.Operations, func(op api.Operation) bool { return leadsTo(bare, op.Path) })
}

// leadsTo reports whether a path matches the path template of an operation. Templates without {id}
// come first in the table. So /contacts/count is not matched as the id of a contact.
func leadsTo(path, template string) bool {
	a, b := strings.Split(path, "/"), strings.Split(template, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (a[i] == "" || !strings.HasPrefix(b[i], "{")) {
			return false
		}
	}
	return true
}

// fillPath replaces the parameters of a path by fields, and returns the other fields.
func fillPath(path string, fields []apiField) (string, []apiField, error) {
	for {
		before, rest, found := strings.Cut(path, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return path, fields, nil
		}
		i := slices.IndexFunc(fields, func(f apiField) bool { return f.name == name })
		if i < 0 || fields[i].text == "" {
			return "", nil, fmt.Errorf("the path %s needs -f %s=VALUE", path, name)
		}
		path = before + url.PathEscape(fields[i].text) + after
		fields = slices.Delete(slices.Clone(fields), i, i+1)
	}
}

// place puts the fields into the query or the body. They go into the query if the call is a read or
// a deletion, or if its body comes from a file.
func (b *apiRequest) place(path string, fields []apiField, input, paginate bool) error {
	b.Path = path
	if b.Method == http.MethodGet || b.Method == http.MethodHead || b.Method == http.MethodDelete || input {
		u, err := url.Parse(path)
		if err != nil {
			return err
		}
		query := u.Query()
		for _, f := range fields {
			query.Add(f.name, f.text)
		}
		if paginate && !query.Has("limit") && b.op != nil && b.op.Takes("limit") {
			query.Set("limit", "100") // a call costs the same for any limit
		}
		u.RawQuery = query.Encode()
		b.Path = u.String()
		return nil
	}
	if len(fields) == 0 && (b.op == nil || !b.op.HasBody()) {
		return nil
	}
	body := map[string]any{}
	for _, f := range fields {
		if err := set(body, f.name, f.value); err != nil {
			return fmt.Errorf("-f %s: %w", f.name, err)
		}
	}
	var err error
	b.Body, err = json.Marshal(body)
	return err
}

// set sets a field of a body. The name address.city means a field of a nested object, and tags[]
// appends to an array. With additionalPhones[].phone, it means a field of the last object of an
// array. A field that this object has already begins the next object.
func set(body map[string]any, name string, value any) error {
	first, rest, deeper := strings.Cut(name, ".")
	switch {
	case first == "" || deeper && rest == "":
		return errors.New("the name of a field is missing")
	case deeper && strings.HasSuffix(first, "[]"):
		list, err := array(body, strings.TrimSuffix(first, "[]"))
		if err != nil {
			return err
		}
		if len(list) > 0 {
			last, is := list[len(list)-1].(map[string]any)
			if _, there := last[strings.Split(rest, ".")[0]]; is && !there {
				return set(last, rest, value)
			}
		}
		next := map[string]any{}
		body[strings.TrimSuffix(first, "[]")] = append(list, next)
		return set(next, rest, value)
	case deeper:
		inner, is := body[first].(map[string]any)
		if _, there := body[first]; there && !is {
			return fmt.Errorf("%s is a value and cannot have fields", first)
		}
		if inner == nil {
			inner = map[string]any{}
			body[first] = inner
		}
		return set(inner, rest, value)
	case strings.HasSuffix(first, "[]"):
		first = strings.TrimSuffix(first, "[]")
		list, err := array(body, first)
		if err == nil {
			body[first] = append(list, value)
		}
		return err
	}
	if _, there := body[first]; there {
		return errors.New("the field is given twice; for an array, write " + first + "[]")
	}
	body[first] = value
	return nil
}

// array returns the array in a field of a body. It is empty if the body does not have the field.
func array(body map[string]any, name string) ([]any, error) {
	list, is := body[name].([]any)
	if _, there := body[name]; there && !is {
		return nil, fmt.Errorf("%s is not an array", name)
	}
	return list, nil
}

// header sets the default headers and the headers of the command line.
func (c *API) header(b *apiRequest) error {
	b.Header = http.Header{}
	b.Header.Set("Svc-Preview", "true")
	b.Header.Set("Accept-Language", c.Lang)
	if b.Body != nil || c.Input != "" {
		b.Header.Set("Content-Type", "application/json")
	}
	switch {
	case b.Method == http.MethodPost:
		b.Header.Set("Idempotency-Key", cmp.Or(c.Once, rand.Text()))
	case c.Once != "":
		return fmt.Errorf("--idempotency-key: only a POST has one, not a %s", b.Method)
	}
	switch {
	case c.IfMatch != "" && c.Revision != 0:
		return errors.New("--if-match and --revision cannot be used together; give one of them")
	case c.Revision < 0:
		return errors.New("--revision: must be at least 1")
	case c.Revision != 0:
		b.Header.Set("If-Match", fmt.Sprintf(`"r%d"`, c.Revision))
	case c.IfMatch != "":
		b.Header.Set("If-Match", c.IfMatch)
	}
	for _, line := range c.Headers {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("--header: must be NAME:VALUE, such as Svc-Version:2026-11-01")
		case strings.EqualFold(name, "Authorization"):
			return errors.New("--header: Authorization cannot be given; set the key in KARTEI_KEY, where other users of the machine cannot see it")
		}
		b.Header.Set(name, value)
	}
	for name, values := range b.Header {
		if !httpguts.ValidHeaderFieldValue(values[0]) {
			return fmt.Errorf("the header %s: the value has characters that no header can have", name)
		}
	}
	b.Repeatable = b.Method == http.MethodGet || b.Method == http.MethodHead ||
		b.op != nil && b.op.Idempotent() && b.Header.Get("Idempotency-Key") != ""
	return nil
}

// apiField is the value of one -f or -F flag.
type apiField struct {
	name  string
	text  string // for the path or the query
	value any    // for the body
}

func (c *API) fields() ([]apiField, error) {
	var fields []apiField
	for _, f := range c.Texts {
		name, text, found := strings.Cut(f, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("-f %s: must be NAME=VALUE", f)
		}
		fields = append(fields, apiField{name, text, text})
	}
	for _, f := range c.Values {
		name, text, found := strings.Cut(f, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("-F %s: must be NAME=VALUE", f)
		}
		one := apiField{name, text, text}
		if file, is := strings.CutPrefix(text, "@"); is {
			b, err := readInput(file)
			if err != nil {
				return nil, fmt.Errorf("-F %s: %w", name, err)
			}
			one.text, one.value = string(b), string(b)
		} else if json.Valid([]byte(text)) {
			one.value = json.RawMessage(text)
		}
		fields = append(fields, one)
	}
	return fields, nil
}

// body returns the body from --input, or the given one.
func (c *API) body(made []byte) ([]byte, error) {
	if c.Input == "" {
		return made, nil
	}
	b, err := readInput(c.Input)
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	return b, nil
}

// maxInput is the maximum size of an input file in bytes. Instances accept only smaller JSON.
const maxInput = 8 << 20

func readInput(name string) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return b, err
	}
	if len(b) > maxInput {
		return b, fmt.Errorf("%s is larger than 8 MiB", name)
	}
	return b, nil
}
