package apitest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kartei/api/openapi"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Conform fails the test unless an answer is in the frozen document of the
// version. The operation must have the status, the headers must be as
// described, and the body must have the content type and schema. path is below
// /v1, with or without a query.
//
// Answers that belong to no operation (404 of an unknown path, 405, 403 of a
// blocked family) are not in the document. They are checked as problems only.
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

// contract is one frozen document, read without any code of package api. So
// only a mistake in both would pass.
type contract struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

const contractURL = "contract:///openapi.json"

var contracts sync.Map // version -> *contract

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
	c := &contract{compiler: compiler, schemas: map[string]*jsonschema.Schema{}}
	c.root, _ = root.(map[string]any)
	return c, nil
}

// place is a part of the document and its JSON Pointer.
type place struct {
	value   map[string]any
	pointer string
}

// at follows names down from p, and resolves references.
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

// check returns an error that describes the first mistake in an answer.
func (c *contract) check(method, path string, status int, header http.Header, body []byte) (wrong []string) {
	operation, found := c.operation(method, path)
	var response place
	switch {
	case !found && status < 400:
		return []string{"the document has no such operation"}
	case !found:
		response = c.at(place{c.root, ""}, "components", "responses", "NotFound")
	default:
		response = c.at(operation, "responses", strconv.Itoa(status))
	}
	if response.value == nil {
		return []string{"the operation has no such status"}
	}
	wrong = c.checkHeaders(response, header)
	if found {
		wrong = append(wrong, c.checkOthers(response, header)...)
	}
	content, _ := response.value["content"].(map[string]any)
	switch {
	case method == http.MethodHead || content == nil:
		if len(body) > 0 {
			wrong = append(wrong, "it has a body")
		}
		return wrong
	case content["application/octet-stream"] != nil: // the answer is a file
		return wrong
	case content[header.Get("Content-Type")] == nil:
		return append(wrong, fmt.Sprintf("Content-Type is %q", header.Get("Content-Type")))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return append(wrong, "the body is no JSON: "+err.Error())
	}
	media := c.at(response, "content", header.Get("Content-Type"))
	if err := c.validate(media.pointer+"/schema", value); err != nil {
		wrong = append(wrong, "body: "+err.Error())
	}
	wrong = append(wrong, c.checkItems(c.at(media, "schema"), value)...)
	if problem, is := value.(map[string]any); is && status >= 400 {
		wrong = append(wrong, checkProblem(response, found, problem, status, header)...)
	}
	return wrong
}

// checkItems checks what the schema of a page cannot say: each item is either a
// whole record or a deletion marker.
func (c *contract) checkItems(page place, value any) (wrong []string) {
	item := c.at(page, "properties", "data", "items")
	record, is := strings.CutSuffix(item.pointer, "ListItem")
	if !is {
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
		} else if err := c.validate(record, v); err != nil {
			wrong = append(wrong, fmt.Sprintf("data[%d]: %v", i, err))
		}
	}
	return wrong
}

// checkProblem checks what the schema of a problem cannot say.
func checkProblem(response place, found bool, problem map[string]any, status int, header http.Header) (wrong []string) {
	codes, _ := response.value["x-kartei-codes"].([]any)
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

// operation finds the operation of a request; HEAD has that of GET. Fixed words
// take precedence over {id}. Methods are case-sensitive (RFC 9110, section
// 9.1).
func (c *contract) operation(method, path string) (place, bool) {
	if method != strings.ToUpper(method) {
		return place{}, false
	}
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	paths := c.at(place{c.root, ""}, "paths")
	for _, template := range []string{path, withID(path)} {
		if paths.value[template] == nil {
			continue
		}
		item := c.at(paths, template)
		if method != strings.ToUpper(method) || item.value[strings.ToLower(method)] == nil { // methods are case-sensitive
			return place{}, false
		}
		return c.at(item, strings.ToLower(method)), true
	}
	return place{}, false
}

// withID replaces the second segment of a path by {id}.
func withID(path string) string {
	segments := strings.Split(path, "/")
	if len(segments) > 2 && segments[2] != "" {
		segments[2] = "{id}"
	}
	return strings.Join(segments, "/")
}

// undescribed are the headers of HTTP itself, which OpenAPI leaves to the media type and
// the protocol.
var undescribed = []string{"Content-Type", "Content-Length", "Content-Encoding", "Date", "Connection", "Transfer-Encoding"}

func (c *contract) checkHeaders(response place, header http.Header) (wrong []string) {
	described, _ := response.value["headers"].(map[string]any)
	for name := range described {
		h := c.at(response, "headers", name)
		values := header.Values(name)
		switch {
		case len(values) == 0:
			if h.value["required"] == true {
				wrong = append(wrong, "the header "+name+" is missing")
			}
		case len(values) > 1:
			wrong = append(wrong, "the header "+name+" is there more than once")
		default:
			if err := c.validate(h.pointer+"/schema", values[0]); err != nil {
				wrong = append(wrong, "header "+name+": "+err.Error())
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// checkOthers finds headers that the document does not have.
func (c *contract) checkOthers(response place, header http.Header) (wrong []string) {
	known := slices.Clone(undescribed)
	described, _ := response.value["headers"].(map[string]any)
	for name := range described {
		known = append(known, http.CanonicalHeaderKey(name))
	}
	for name := range header {
		if !slices.Contains(known, name) {
			wrong = append(wrong, "the header "+name+" is not described")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (c *contract) validate(pointer string, value any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	schema := c.schemas[pointer]
	if schema == nil {
		var err error
		if schema, err = c.compiler.Compile(contractURL + "#" + escapeFragment(pointer)); err != nil {
			return err
		}
		c.schemas[pointer] = schema
	}
	return schema.Validate(value)
}

// escapeFragment escapes the braces of a path for a URL's fragment.
func escapeFragment(pointer string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D", "+", "%2B").Replace(pointer)
}
