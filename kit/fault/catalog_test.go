package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// declared returns the values of the string constants with the type typeName in fault.go.
func declared(t *testing.T, typeName string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typeName {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		return true
	})
	if len(values) < 10 {
		t.Fatalf("found only %d constants of type %s", len(values), typeName)
	}
	return values
}

func TestEveryCodeHasAnEntry(t *testing.T) {
	var got []string
	for _, c := range fault.Codes() {
		got = append(got, string(c))
	}
	want := declared(t, "Code")
	if !slices.Equal(got, want) {
		t.Errorf("catalogue and constants differ\ncatalogue: %v\nconstants: %v", got, want)
	}
}

func TestEveryFieldCodeHasAnEntry(t *testing.T) {
	var got []string
	for _, c := range fault.FieldCodes() {
		got = append(got, string(c))
	}
	want := declared(t, "FieldCode")
	if !slices.Equal(got, want) {
		t.Errorf("catalogue and constants differ\ncatalogue: %v\nconstants: %v", got, want)
	}
}

// contractStatus maps the codes of the contract, and the codes that were added later, to their
// statuses.
var contractStatus = map[fault.Code]int{
	"INVALID_REQUEST": 400, "VALIDATION_FAILED": 422, "UNAUTHENTICATED": 401, "FORBIDDEN": 403,
	"ORGANIZATION_MISMATCH": 403, "API_MODULE_DISABLED": 403, "RISK_FAMILY_BLOCKED": 403,
	"NOT_FOUND": 404, "OPERATION_NOT_IN_VERSION": 404, "IDEMPOTENCY_IN_PROGRESS": 409,
	"IDEMPOTENCY_PAYLOAD_MISMATCH": 422, "VERSION_SUNSET": 410, "PRECONDITION_FAILED": 412,
	"PRECONDITION_REQUIRED": 428, "CURSOR_MISMATCH": 400, "UNKNOWN_PARAMETER": 400,
	"UPLOAD_INCOMPLETE": 409, "UPLOAD_CHECKSUM_MISMATCH": 422, "UPLOAD_REJECTED": 422,
	"BATCH_TOO_LARGE": 400, "BATCH_FAMILY_NOT_ALLOWED": 422, "WEBHOOK_URL_INVALID": 422,
	"WEBHOOK_ENDPOINT_LIMIT_REACHED": 409, "RATE_LIMITED": 429, "OVERLOADED": 429,
	"QUOTA_EXHAUSTED": 429, "API_PAUSED": 503, "UPSTREAM": 502, "INSTANCE_PENDING": 503,
	"INTERNAL": 500, "METHOD_NOT_ALLOWED": 405, "NOT_ACCEPTABLE": 406,
	"PAYLOAD_TOO_LARGE": 413, "UNSUPPORTED_MEDIA_TYPE": 415, "RANGE_NOT_SATISFIABLE": 416,
}

func TestStatusMatchesContract(t *testing.T) {
	if len(fault.Codes()) != len(contractStatus) {
		t.Errorf("%d codes, the contract has %d", len(fault.Codes()), len(contractStatus))
	}
	for _, c := range fault.Codes() {
		if c.Status() != contractStatus[c] {
			t.Errorf("%s: status %d, want %d", c, c.Status(), contractStatus[c])
		}
	}
}

func TestUnknownCodeIsInternal(t *testing.T) {
	c := fault.Code("NO_SUCH_CODE")
	if c.Known() || c.Status() != 500 || c.Entry().Code != fault.Internal {
		t.Errorf("got %v %d %s", c.Known(), c.Status(), c.Entry().Code)
	}
}

// checkText checks the form of a text in both languages. A sentence must end with a full stop, and
// no other text may.
func checkText(t *testing.T, name string, text i18n.Text, sentence bool) {
	t.Helper()
	if text == "" {
		t.Errorf("%s: empty", name)
		return
	}
	de, en := text.In(i18n.German), text.In(i18n.English)
	if de == en {
		t.Errorf("%s: the same in both languages: %q", name, de)
	}
	for _, s := range []string{de, en} {
		if !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.Contains(s, "  ") {
			t.Errorf("%s: stray space or broken text: %q", name, s)
		}
		if sentence != strings.HasSuffix(s, ".") {
			t.Errorf("%s: full stop: %q", name, s)
		}
	}
}

func TestWordsInBothLanguages(t *testing.T) {
	titles := map[string]fault.Code{}
	for _, c := range fault.Codes() {
		e := c.Entry()
		if e.Code != c {
			t.Errorf("%s: entry of %s", c, e.Code)
		}
		checkText(t, string(c)+" title", e.Title, false)
		checkText(t, string(c)+" what", e.What, true)
		checkText(t, string(c)+" why", e.Why, true)
		checkText(t, string(c)+" do", e.Do, true)
		if c == fault.Unauthenticated {
			if e.Detail != "" {
				t.Errorf("UNAUTHENTICATED has a detail: %v", e.Detail)
			}
		} else {
			checkText(t, string(c)+" detail", e.Detail, true)
		}
		for _, title := range []string{e.Title.In(i18n.German), e.Title.In(i18n.English)} {
			if other, used := titles[title]; used {
				t.Errorf("%s and %s share the title %q", c, other, title)
			}
			titles[title] = c
		}
		if e.Example.Request == "" || e.Example.Instance == "" || e.Example.Fault.Code != c {
			t.Errorf("%s: example incomplete", c)
		}
		if !strings.Contains(e.Example.Request, " "+e.Example.Instance) {
			t.Errorf("%s: the example's request is not for %s", c, e.Example.Instance)
		}
	}
	for _, c := range fault.FieldCodes() {
		checkText(t, string(c)+" message", c.Entry().Message, true)
		checkText(t, string(c)+" meaning", c.Entry().Meaning, true)
	}
}

func TestDetail(t *testing.T) {
	f := &fault.Fault{Code: fault.Forbidden, Detail: "The file is empty."}
	if f.DetailIn(i18n.German) != "Die Datei ist leer." || f.DetailIn(i18n.English) != "The file is empty." {
		t.Error("the fault's own detail is not used")
	}
	f.Code = fault.Unauthenticated
	if f.DetailIn(i18n.German) != "" || f.DetailIn(i18n.English) != "" {
		t.Error("a credential failure has a detail")
	}
}
