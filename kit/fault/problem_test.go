package fault_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

const base = "https://kartei.example"

// decode parses a problem document. It fails the test for invalid UTF-8 and duplicate members.
func decode(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(document, &m); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	return m
}

func TestProblemOfEveryCode(t *testing.T) {
	for _, code := range fault.Codes() {
		e := code.Entry()
		documents := map[i18n.Language]map[string]any{}
		for _, l := range []i18n.Language{i18n.German, i18n.English} {
			p := fault.Problem{TypeBase: base, Instance: "/v1/contacts", RequestID: "req_x", Language: l}
			m := decode(t, fault.New(code).AppendProblem(nil, p))
			want := map[string]any{
				"type": base + "/problems/" + string(code), "title": e.Title.In(l), "status": float64(e.Status),
				"detail": e.Detail.In(l), "instance": "/v1/contacts", "code": string(code), "requestId": "req_x",
			}
			if code == fault.Unauthenticated {
				delete(want, "detail")
			}
			if e.Status == 429 {
				want["retryAfterMs"] = 1000.0
			}
			if diff := cmp.Diff(want, m); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", code, l, diff)
			}
			documents[l] = m
		}
		if documents[i18n.German]["title"] == documents[i18n.English]["title"] {
			t.Errorf("%s: the same title in both languages", code)
		}
	}
}

func TestProblemMembersInOrder(t *testing.T) {
	f := &fault.Fault{
		Code:       fault.ValidationFailed,
		Detail:     "No.",
		Fields:     []fault.Field{{Name: "tags[3]", Code: fault.TooLong, Limit: 50}, {Name: `a"b`, Code: fault.UnknownField}},
		RetryAfter: 1500*time.Millisecond + time.Microsecond,
		Extra: map[string]any{
			"violated-policies": []string{"key", "writes"}, "currentRevision": int64(7),
			"code": "OTHER", "broken": func() {},
		},
		Reason: "secret reason", Cause: nil,
	}
	got := string(f.AppendProblem([]byte("prefix "), fault.Problem{
		TypeBase: base, Instance: "/v1/contacts/con_1", RequestID: "req_1", Language: i18n.English,
	}))
	want := `prefix {"type":"https://kartei.example/problems/VALIDATION_FAILED","title":"Validation failed","status":422,"detail":"No.",` +
		`"instance":"/v1/contacts/con_1","code":"VALIDATION_FAILED","requestId":"req_1",` +
		`"errors":[{"field":"tags[3]","code":"TOO_LONG","message":"At most 50 characters are allowed."},` +
		`{"field":"a\"b","code":"UNKNOWN_FIELD","message":"This name is not known here."}],` +
		`"retryAfterMs":1501,"currentRevision":7,"violated-policies":["key","writes"]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemOfBrokenText(t *testing.T) {
	f := fault.Invalid(fault.Field{Name: "a\xffb\x00", Code: fault.UnknownField})
	f.Extra = map[string]any{"name": "\xfe", "\xfd": 1}
	m := decode(t, f.AppendProblem(nil, fault.Problem{TypeBase: base, Instance: "\xff", RequestID: "r"}))
	field := m["errors"].([]any)[0].(map[string]any)["field"]
	if field != "a\uFFFDb\x00" || m["name"] != "\uFFFD" || m["instance"] != "%FF" {
		t.Errorf("got %q %q %q", field, m["name"], m["instance"])
	}
}

func TestWait(t *testing.T) {
	tests := []struct {
		fault fault.Fault
		want  time.Duration
	}{
		{fault.Fault{Code: fault.NotFound}, 0},
		{fault.Fault{Code: fault.NotFound, RetryAfter: -time.Second}, 0},
		{fault.Fault{Code: fault.IdempotencyInProgress, RetryAfter: time.Second}, time.Second},
		{fault.Fault{Code: fault.RateLimited}, time.Second},
		{fault.Fault{Code: fault.RateLimited, RetryAfter: 38 * time.Second}, 38 * time.Second},
	}
	for _, tt := range tests {
		if got := tt.fault.Wait(); got != tt.want {
			t.Errorf("%s after %v: %v, want %v", tt.fault.Code, tt.fault.RetryAfter, got, tt.want)
		}
	}
}

// FuzzProblemInstance checks problem documents for paths and field names with any bytes. The
// document must be valid JSON. The member instance must be a URI reference without query and
// fragment, and all other members stay.
func FuzzProblemInstance(f *testing.F) {
	for _, s := range []string{
		"/v1/contacts", "", "/v1/%2e%2e/%", "/v1/\"\\\x00\xff", "//host/x", "/ä?b#c", "/%zz%4", "</script>",
		"a:b",
	} {
		f.Add(s, "email")
	}
	f.Fuzz(func(t *testing.T, path, field string) {
		problem := fault.Invalid(fault.Field{Name: field, Code: fault.UnknownField})
		document := problem.AppendProblem(nil, fault.Problem{
			TypeBase: base, Instance: path, RequestID: "req_1", Language: i18n.German,
		})
		m := decode(t, document)
		instance := m["instance"].(string)
		if strings.ContainsAny(instance, "?#\"\\<> ") {
			t.Errorf("instance %q", instance)
		}
		if strings.HasPrefix(path, "/v1/") {
			if u, err := url.Parse(instance); err != nil || u.RawQuery != "" || u.Fragment != "" {
				t.Errorf("instance %q: %v", instance, err)
			}
		}
		if m["code"] != "VALIDATION_FAILED" || m["requestId"] != "req_1" || len(m) != 8 {
			t.Errorf("members changed: %s", document)
		}
	})
}

func BenchmarkAppendProblem(b *testing.B) {
	f := fault.New(fault.NotFound)
	p := fault.Problem{
		TypeBase: base, Instance: "/v1/contacts/con_01m7q5p4xkeq58z2c7n4r6t9bd",
		RequestID: "req_01m7q5p4xjf0r8yq3v6w2t9m7c", Language: i18n.German,
	}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = f.AppendProblem(buf[:0], p)
	}
}
