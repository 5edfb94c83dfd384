package apitest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kartei/api/openapi"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Conform fails the test if a response does not conform to the OpenAPI document of the version. The
// document must have the operation with this status, and describe the headers, the content type and
// the schema of the body. path is below /v1, with or without a query.
//
// Some responses belong to no operation: 404 of an unknown path, 405, and 403 of a blocked family.
// The document does not have them. Conform checks them as problems only.
func Conform(t testing.TB, version, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	c, err := contractOf(version)
	if err != nil {
		t.Fatalf("apitest: the OpenAPI document of %s: %v", version, err)
	}
	for _, wrong := range c.check(method, path, status, Received(header), body) {
		t.Errorf("%s %.120s: %d is not as the OpenAPI document of %s has it: %s", method, path, status, version, wrong)
	}
}

// contract is one frozen OpenAPI document. It is read without any code of package api, so a mistake
// in that package cannot hide itself.
type contract struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
	// responses caches the responses that were looked up before. Without the cache, tests would
	// spend half of their time on this search.
	responses map[string]*response
}

// response is the part of the document about the responses of an operation with one status.
type response struct {
	headers []*headerRule // ordered by name
	content map[string]mediaRule
	codes   []any
}

type headerRule struct {
	name     string
	required bool
	schema   *jsonschema.Schema
	good     map[string]bool // the values that conform, at most maxGood
}

// maxGood is the maximum number of conforming values that are cached for a header. Most headers
// have the same few values in all responses.
const maxGood = 64

// mediaRule is the part of the document about a body. record is the schema of the records in a page
// of a list. It is nil for other bodies.
type mediaRule struct{ schema, record *jsonschema.Schema }

const contractURL = "contract:///openapi.json"

var contracts sync.Map // maps a version to its *contract

func contractOf(version string) (*contract, error) {
	if c, ok := contracts.Load(version); ok {
		return c.(*contract), nil
	}
	document, ok := openapi.Document(version)
	if !ok {
		return nil, fmt.Errorf("there is none")
	}
	c, err := readContract(document)
	if err != nil {
		return nil, err
	}
	kept, _ := contracts.LoadOrStore(version, c)
	return kept.(*contract), nil
}

func readContract(document []byte) (*contract, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(contractURL, root); err != nil {
		return nil, err
	}
	c := &contract{compiler: compiler, schemas: map[string]*jsonschema.Schema{}, responses: map[string]*response{}}
	c.root, _ = root.(map[string]any)
	return c, nil
}

// place is a JSON object within the document, with its JSON Pointer.
type place struct {
	value   map[string]any
	pointer string
}

// at returns the place that is reached from p by the member names, one after the other. It resolves
// references on the way.
func (c *contract) at(p place, names ...string) place {
	p = c.resolve(p)
	for _, name := range names {
		next, _ := p.value[name].(map[string]any)
		escaped := strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		p = c.resolve(place{next, p.pointer + "/" + escaped})
	}
	return p
}

func (c *contract) resolve(p place) place {
	ref, is := p.value["$ref"].(string)
	if !is {
		return p
	}
	names := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	return c.at(place{c.root, ""}, names...)
}

// check returns the errors in a response, one text for each.
func (c *contract) check(method, path string, status int, header http.Header, body []byte) (wrong []string) {
	template, found := c.template(method, path)
	if !found && status < 400 {
		return []string{"the document has no such operation"}
	}
	r, err := c.response(method, template, status)
	switch {
	case err != nil:
		return []string{"the document: " + err.Error()}
	case r == nil:
		return []string{"the operation has no such status"}
	}
	wrong = c.checkHeaders(r, header)
	if found {
		wrong = append(wrong, checkOthers(r, header)...)
	}
	media, described := r.content[header.Get("Content-Type")]
	_, file := r.content["application/octet-stream"]
	switch {
	case method == http.MethodHead || r.content == nil:
		if len(body) > 0 {
			wrong = append(wrong, "it has a body")
		}
		return wrong
	case file:
		return wrong
	case !described:
		return append(wrong, fmt.Sprintf("Content-Type is %q", header.Get("Content-Type")))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return append(wrong, "the body is no JSON: "+err.Error())
	}
	if err := media.schema.Validate(value); err != nil {
		wrong = append(wrong, "body: "+err.Error())
	}
	wrong = append(wrong, checkItems(media.record, value)...)
	if problem, is := value.(map[string]any); is && status >= 400 {
		wrong = append(wrong, checkProblem(r.codes, found, problem, status, header)...)
	}
	return wrong
}

// response returns the part of the document about the responses of an operation with one status. If
// template is empty, it returns the part about 404 responses. It returns nil if the operation does
// not have this status.
func (c *contract) response(method, template string, status int) (*response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprint(method, " ", template, " ", status)
	r, known := c.responses[name]
	if known {
		return r, nil
	}
	at := c.at(place{c.root, ""}, "components", "responses", "NotFound")
	if template != "" {
		at = c.at(c.operation(method, template), "responses", strconv.Itoa(status))
	}
	r, err := c.readResponse(at)
	if err != nil {
		return r, err
	}
	c.responses[name] = r
	return r, nil
}

func (c *contract) readResponse(at place) (*response, error) {
	if at.value == nil {
		return nil, nil
	}
	r := new(response)
	r.codes, _ = at.value["x-kartei-codes"].([]any)
	described, _ := at.value["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(described)) {
		h := c.at(at, "headers", name)
		schema, err := c.compile(h.pointer + "/schema")
		if err != nil {
			return nil, err
		}
		r.headers = append(r.headers, &headerRule{name, h.value["required"] == true, schema, map[string]bool{}})
	}
	content, _ := at.value["content"].(map[string]any)
	if content != nil {
		r.content = map[string]mediaRule{}
	}
	for kind := range content {
		media, err := c.readMedia(c.at(at, "content", kind), kind)
		if err != nil {
			return nil, err
		}
		r.content[kind] = media
	}
	return r, nil
}

// readMedia reads the part of the document about a body. The content of a file has no schema.
func (c *contract) readMedia(at place, kind string) (m mediaRule, err error) {
	if kind == "application/octet-stream" {
		return m, nil
	}
	if m.schema, err = c.compile(at.pointer + "/schema"); err != nil {
		return m, err
	}
	item := c.at(c.at(at, "schema"), "properties", "data", "items")
	if record, is := strings.CutSuffix(item.pointer, "ListItem"); is {
		m.record, err = c.compile(record)
	}
	return m, err
}

// checkItems checks a rule that the schema of a page cannot express: each item is either a whole
// record or a deletion marker.
func checkItems(record *jsonschema.Schema, value any) (wrong []string) {
	if record == nil {
		return nil
	}
	answer, _ := value.(map[string]any)
	data, _ := answer["data"].([]any)
	for i, v := range data {
		o, _ := v.(map[string]any)
		if _, marker := o["deleted"]; marker {
			if o["deleted"] != true || o["deletedAt"] == nil || len(o) != 4 {
				wrong = append(wrong, fmt.Sprintf("data[%d] is no deletion marker: %v", i, o))
			}
		} else if err := record.Validate(v); err != nil {
			wrong = append(wrong, fmt.Sprintf("data[%d]: %v", i, err))
		}
	}
	return wrong
}

// checkProblem checks rules that the schema of a problem cannot express, such as the same request
// id in the header and in the body.
func checkProblem(codes []any, found bool, problem map[string]any, status int, header http.Header) (wrong []string) {
	if found && !slices.Contains(codes, problem["code"]) {
		wrong = append(wrong, fmt.Sprintf("code %v is not among %v", problem["code"], codes))
	}
	if fmt.Sprint(problem["status"]) != strconv.Itoa(status) {
		wrong = append(wrong, fmt.Sprintf("the body says status %v", problem["status"]))
	}
	if problem["requestId"] != header.Get("Request-Id") {
		wrong = append(wrong, "requestId and Request-Id differ")
	}
	if kind, _ := problem["type"].(string); !strings.HasSuffix(kind, "/problems/"+fmt.Sprint(problem["code"])) {
		wrong = append(wrong, fmt.Sprintf("type %q is not the page of code %v", kind, problem["code"]))
	}
	if _, has := problem["detail"]; has && status == http.StatusUnauthorized {
		wrong = append(wrong, "401 has a detail")
	}
	if status == http.StatusTooManyRequests && (header.Get("Retry-After") == "" || problem["retryAfterMs"] == nil) {
		wrong = append(wrong, "429 names no time to wait")
	}
	if status == http.StatusMethodNotAllowed && header.Get("Allow") == "" {
		wrong = append(wrong, "405 has no Allow")
	}
	return wrong
}

// template returns the path template of the operation that the request calls. A HEAD request calls
// the GET operation. A literal segment takes precedence over {id}. Methods are case-sensitive (RFC
// 9110, section 9.1).
func (c *contract) template(method, path string) (string, bool) {
	if method != strings.ToUpper(method) {
		return "", false
	}
	path, _, _ = strings.Cut(path, "?")
	paths, _ := c.root["paths"].(map[string]any)
	for _, template := range []string{path, withID(path)} {
		if paths[template] == nil {
			continue
		}
		if c.operation(method, template).value == nil {
			return "", false
		}
		return template, true
	}
	return "", false
}

// operation returns the place of the operation with this method and path template.
func (c *contract) operation(method, template string) place {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return c.at(place{c.root, ""}, "paths", template, strings.ToLower(method))
}

// withID replaces the second segment of a path by {id}.
func withID(path string) string {
	segments := strings.Split(path, "/")
	if len(segments) > 2 && segments[2] != "" {
		segments[2] = "{id}"
	}
	return strings.Join(segments, "/")
}

// undescribed are headers that the document does not describe: headers of HTTP and of the media
// type, and headers that any refusal may have.
var undescribed = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Date", "Connection", "Transfer-Encoding",
	"Retry-After", "Www-Authenticate", "Accept-Encoding",
}

func (c *contract) checkHeaders(r *response, header http.Header) (wrong []string) {
	for _, h := range r.headers {
		values := header.Values(h.name)
		switch {
		case len(values) == 0:
			if h.required {
				wrong = append(wrong, "the header "+h.name+" is missing")
			}
		case len(values) > 1:
			wrong = append(wrong, "the header "+h.name+" is there more than once")
		default:
			if err := c.checkHeader(h, values[0]); err != nil {
				wrong = append(wrong, "header "+h.name+": "+err.Error())
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// checkOthers returns an error for each header that the document does not describe.
func checkOthers(r *response, header http.Header) (wrong []string) {
	for name := range header {
		described := func(h *headerRule) bool { return http.CanonicalHeaderKey(h.name) == name }
		if !slices.Contains(undescribed, name) && !slices.ContainsFunc(r.headers, described) {
			wrong = append(wrong, "the header "+name+" is not described")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (c *contract) checkHeader(h *headerRule, value string) error {
	c.mu.Lock()
	good := h.good[value]
	c.mu.Unlock()
	if good {
		return nil
	}
	if err := h.schema.Validate(value); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(h.good) < maxGood {
		h.good[value] = true
	}
	return nil
}

// compile returns the schema at a JSON Pointer. The caller holds c.mu.
func (c *contract) compile(pointer string) (*jsonschema.Schema, error) {
	schema := c.schemas[pointer]
	if schema == nil {
		var err error
		if schema, err = c.compiler.Compile(contractURL + "#" + escapeFragment(pointer)); err != nil {
			return nil, err
		}
		c.schemas[pointer] = schema
	}
	return schema, nil
}

// escapeFragment escapes the braces and plus signs of a JSON Pointer for the fragment of a URL.
func escapeFragment(pointer string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D", "+", "%2B").Replace(pointer)
}
