// Package schema owns the enforcement of a frozen OpenAPI document: what it says of queries and bodies is checked.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/api/schema/pattern"
	"kartei/kit/clock"
	"kartei/kit/i18n"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document holds the rules of each operation in the frozen document of one version. It is compiled
// at the start, from the same bytes that clients can read. So rules and document always agree.
type Document struct {
	document   map[string]any
	operations map[string]*operation
	later      Later
}

// Later returns the first version in which an operation has a query parameter, or the empty text.
type Later func(operation, parameter string) (version string)

type operation struct {
	query []parameterRule
	// body is the schema of the JSON body, or nil if the operation has no body.
	body *jsonschema.Schema
	// answer has the names of the members of the response. If a body must not contain one of these
	// members, the error is READ_ONLY and not UNKNOWN_FIELD.
	answer map[string]bool
}

// MaxErrors is the maximum number of errors in one response. More errors would not help a client.
const MaxErrors = 100

// Compile compiles an OpenAPI document. It fails if the document is invalid.
func Compile(document []byte, later Later) (*Document, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("schema: reading the OpenAPI document: %w", err)
	}
	root, _ := parsed.(map[string]any)
	r := &Document{document: root, operations: map[string]*operation{}, later: later}
	compiler := newCompiler()
	if err := compiler.AddResource(documentURL, parsed); err != nil {
		return nil, fmt.Errorf("schema: reading the OpenAPI document: %w", err)
	}
	for path, item := range r.object(root["paths"]) {
		for method, o := range r.object(item) {
			id, _ := r.object(o)["operationId"].(string)
			if id == "" {
				continue
			}
			if r.operations[id], err = r.compile(compiler, path, method, r.object(o)); err != nil {
				return nil, fmt.Errorf("schema: %s: %w", id, err)
			}
		}
	}
	return r, nil
}

// documentURL is the name of the document for the compiler. It is never fetched.
const documentURL = "kartei:///openapi.json"

// plainPattern is an expression that matches all texts of visible ASCII characters and spaces whose
// first character is visible. For these texts it does not run the expression. Without this
// shortcut, the expression took a quarter of the time of checking a new contact.
type plainPattern struct{ *regexp.Regexp }

// MatchString reports whether the expression matches s.
func (p plainPattern) MatchString(s string) bool { return plain(s) || p.Regexp.MatchString(s) }

func plain(s string) bool {
	if s == "" || s[0] == ' ' {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func compilePattern(text string) (jsonschema.Regexp, error) {
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	switch text {
	case pattern.Line, pattern.Text, pattern.Parameter:
		return plainPattern{r}, nil
	}
	return r, nil
}

func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	for name, check := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, is := v.(string); is && !check(s) {
				return errFormat
			}
			return nil
		}})
	}
	return c
}

// noLoader refuses references to other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the document", url)
}

var errFormat = errors.New("wrong format")

func (r *Document) compile(compiler *jsonschema.Compiler, path, method string, o map[string]any) (*operation, error) {
	var out operation
	for _, p := range list(o["parameters"]) {
		p := r.object(p)
		if p["in"] != "query" {
			continue
		}
		rule, err := r.parameter(p)
		if err != nil {
			return nil, err
		}
		out.query = append(out.query, rule)
	}
	if o["requestBody"] == nil {
		return &out, nil
	}
	schema, err := compiler.Compile(documentURL + "#" +
		pointer("paths", path, method, "requestBody", "content", jsonMediaType, "schema"))
	if err != nil {
		return nil, err
	}
	out.body = schema
	out.answer = r.answerMembers(o)
	return &out, nil
}

const jsonMediaType = "application/json"

// answerMembers returns the names of the members of a successful response.
func (r *Document) answerMembers(o map[string]any) map[string]bool {
	members := map[string]bool{}
	for status, response := range r.object(o["responses"]) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		media := r.object(r.object(r.object(response)["content"])[jsonMediaType])
		for name := range r.object(r.object(media["schema"])["properties"]) {
			members[name] = true
		}
	}
	return members
}

// object returns v as an object and follows references. For any other value it returns nil.
func (r *Document) object(v any) map[string]any {
	o, _ := v.(map[string]any)
	for range 8 { // the document has shorter chains of references
		ref, is := o["$ref"].(string)
		if !is {
			return o
		}
		_, fragment, _ := strings.Cut(ref, "#")
		o, _ = r.at(fragment).(map[string]any)
	}
	return o
}

// at returns the value at a JSON Pointer in the document, or nil.
func (r *Document) at(fragment string) any {
	var v any = r.document
	for _, token := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			v = at[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// bounds returns the minimum and the maximum of a number or a length. A missing bound is the
// minimum or the maximum of int64.
func bounds(schema map[string]any, low, high string) (int64, int64) {
	lowest, highest := int64(math.MinInt64), int64(math.MaxInt64)
	if n, ok := whole(schema[low]); ok {
		lowest = n
	}
	if n, ok := whole(schema[high]); ok {
		highest = n
	}
	return lowest, highest
}

func whole(v any) (int64, bool) {
	n, is := v.(interface{ Int64() (int64, error) })
	if !is {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// formats are the checks of formats. They are stricter than those of the JSON Schema library,
// because records must be able to store the values.
var formats = map[string]func(string) bool{
	"email":     isEmail,
	"date":      isDate,
	"date-time": func(s string) bool { _, err := clock.Parse(s); return err == nil },
	"uri":       isWebAddress,
}

// expected has the text that describes a format or a pattern in an error.
var expected = map[string]i18n.Text{
	"email":     "an email address",
	"date":      "a date in the form YYYY-MM-DD",
	"date-time": "an RFC 3339 date-time with offset, for example 2026-11-01T09:30:00Z",
	"uri":       "an address with http:// or https://",

	pattern.Line:      "one line without control characters and with at least one visible character",
	pattern.Text:      "text without control characters and with at least one visible character",
	pattern.Website:   "an address with http:// or https://, in ASCII letters and without spaces and credentials; bücher.de is xn--bcher-kva.de",
	pattern.Attribute: "1 to 40 ASCII letters, digits, _ and -, with a letter first",
	pattern.Language:  "a language tag as in BCP 47, for example de-DE",
	pattern.Target:    "a path that begins with /, without /v1, spaces and #",
	pattern.Hex:       "hexadecimal digits (0 to 9, a to f)",
	pattern.Version:   "a version in the form YYYY-MM-DD",
}

// isEmail reports whether s is an address to which mail systems actually deliver. The local part is
// unquoted and has at most 64 bytes (RFC 5321, Dot-string, and RFC 6531 beyond ASCII). The domain
// name has two labels or more.
func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	if i < 1 || i > 64 || len(s) > 254 {
		return false
	}
	local, domain := s[:i], s[i+1:]
	for part := range strings.SplitSeq(local, ".") {
		if part == "" || strings.ContainsFunc(part, notAtom) {
			return false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, notLabel) {
			return false
		}
	}
	return strings.IndexByte(domain, '.') > 0
}

// notAtom reports whether c is not allowed in the local part of an address.
func notAtom(c rune) bool {
	return notLabel(c) && !strings.ContainsRune("!#$%&'*+/=?^_`{|}~", c)
}

// notLabel reports whether c is not allowed in a label of a domain name.
func notLabel(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
		return false
	}
	return c < utf8.RuneSelf || !unicode.In(c, unicode.L, unicode.M, unicode.N)
}

// isDate reports whether s is an existing day in the form YYYY-MM-DD, in the years 1 to 9999.
func isDate(s string) bool {
	if len(s) != 10 {
		return false
	}
	_, err := clock.Parse(s + "T00:00:00Z")
	return err == nil
}

// isWebAddress reports whether s is an absolute http or https URL.
func isWebAddress(s string) bool {
	return webAddress.MatchString(s)
}

var webAddress = regexp.MustCompile(`^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#@\\]+([/?#][^\s\\]*)?$`)

// shown returns a name from the client's input for an error. It has at most 100 characters, and
// control characters become U+FFFD.
func shown(name string) string {
	const limit = 100
	if strings.ContainsFunc(name, unicode.IsControl) {
		name = strings.Map(func(c rune) rune {
			if unicode.IsControl(c) {
				return utf8.RuneError
			}
			return c
		}, name)
	}
	n := 0
	for i := range name {
		if n++; n > limit {
			return name[:i] + "…"
		}
	}
	return name
}
