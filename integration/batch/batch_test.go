package batch

import (
	"bufio"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// partPath is the pattern for paths in the OpenAPI document.
var partPath = regexp.MustCompile(`^/[^\x00-\x20\x7f#]*$`)

// FuzzTarget checks that a path in a batch has the same meaning as in a request of its own.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"/me", "/contacts?q=a%20b", "/contacts/%2e%2e/batch", "//x", "/%", "/%zz", "/ä?ö=ü", "/a?b?c",
		"/?%zz", "/;a", "/x%2F", `/\`, "/:80", "/[::1]", "/http://a@b/", "/\u0085", "/\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !partPath.MatchString(path) {
			return
		}
		got, query, err := (&Call{Path: path}).Target()
		r, alone := http.ReadRequest(bufio.NewReader(strings.NewReader("GET /v1" + path + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if (err == nil) != (alone == nil) {
			t.Fatalf("%q: %v in a batch, %v alone", path, err, alone)
		}
		if err == nil && ("/v1"+got != r.URL.EscapedPath() || query != r.URL.RawQuery) {
			t.Fatalf("%q leads to %q, %q in a batch, and alone to %q, %q", path, got, query, r.URL.EscapedPath(), r.URL.RawQuery)
		}
	})
}

// TestAnswer checks that the response of a batch is valid JSON and contains the response of each
// call.
func TestAnswer(t *testing.T) {
	header := map[string][]string{
		"ETag": {`"r1"`}, "RateLimit": {`"key";r=1;t=2`}, "WWW-Authenticate": {"Bearer"}, "Svc-Version": {"2026-11-01"},
		"Location": {"/v1/contacts/con_x"},
	}
	r := Results{[]Result{ResultOf("a\"\n", 200, header, []byte(`{"id":"x"}`)), ResultOf("1", 204, nil, nil)}}
	var got struct {
		Results []struct {
			ID      string
			Status  int
			Headers map[string]string
			Body    map[string]string
		}
	}
	if err := json.Unmarshal(r.AppendJSON(nil), &got); err != nil {
		t.Fatal(err)
	}
	if first := got.Results[0]; first.ID != "a\"\n" || first.Body["id"] != "x" || len(first.Headers) != 4 ||
		first.Headers["ETag"] != `"r1"` ||
		first.Headers["RateLimit"] != `"key";r=1;t=2` || first.Headers["WWW-Authenticate"] != "Bearer" {
		t.Errorf("%+v", first)
	}
	if second := got.Results[1]; second.Status != 204 || second.Body != nil || second.Headers == nil {
		t.Errorf("%+v", second)
	}
	if appended := string(r.AppendJSON([]byte("x"))); !strings.HasPrefix(appended, `x{"results":[{`) {
		t.Error(appended)
	}
}
