package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
)

// FuzzQuery sends lists a query of any text. It checks that the status is never 5xx and that the
// response fits the OpenAPI document. An accepted query must be accepted again.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=1", "limit=0", "limit=5&limit=5", "q=berg", "q=%C3%A4", "q=%ff", "q=%00", "q=%",
		"sort=updatedAt&updatedSince=2026-11-01T00:00:00Z&includeDeleted=true", "cursor=AAAA",
		"q=a&sort=updatedAt", "nosuch=1", "&&&", "=", "limit", "q=%F0%9F%98%80", "updatedSince=2026-11-01T00:00:00+01:00",
		"a[]=1&a[]=2", "q=" + strings.Repeat("x", 200), "q=%22%27%3B%20--", "q=*", "q=%25_",
	} {
		f.Add(seed)
	}
	o := office(f)
	c := o.As(access.Member)
	for _, body := range []string{
		`{"firstName":"Jürgen","lastName":"Weiß"}`, `{"lastName":"Berg","email":"berg@example.com"}`,
	} {
		c.Do("POST", "/contacts", body).Want(201)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/contacts", "/contacts/count", "/events"} {
			r := httptest.NewRequest("GET", "/v1"+path, nil)
			r.URL.RawQuery = query // unparsed, as a server passes it
			r.Header = http.Header{"Authorization": {"Bearer " + c.Key}}
			w := httptest.NewRecorder()
			o.Handler.ServeHTTP(w, r)
			if w.Code != 200 && w.Code != 400 {
				t.Fatalf("%s?%q: %d %s", path, query, w.Code, w.Body)
			}
			apitest.Conform(t, apitest.Current(), "GET", path, w.Code, w.Result().Header, w.Body.Bytes())
		}
		if told := o.Logged.Take(); told != "" {
			t.Fatalf("the log has %s", told)
		}
	})
}

// FuzzHeaders sends the same value in every header that the API reads.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{
		"", "*", `"r1"`, "true", "en", "2026-11-01", "application/json", "Bearer x",
		strings.Repeat("x", 5000), "\x00", "\xff\xfe", `"`, "application/json; charset=\"utf-8\"", "%",
		"a, b",
	} {
		f.Add(seed)
	}
	o := office(f)
	c := o.As(access.Member)
	made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	names := []string{
		"Accept", "Accept-Language", "Authorization", "Content-Type", "Idempotency-Key", "If-Match",
		"If-None-Match", "Svc-Organization", "Svc-Preview", "Svc-Version",
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range names {
			for _, call := range []struct{ method, path, body string }{
				{"GET", "/contacts/" + made, ""},
				{"POST", "/contacts", `{"nosuch":1}`},
				{"PATCH", "/contacts/" + made, `{}`},
			} {
				r := httptest.NewRequest(call.method, "/v1"+call.path, strings.NewReader(call.body))
				r.Header = http.Header{
					"Authorization": {"Bearer " + c.Key}, "Svc-Preview": {"true"}, "Idempotency-Key": {"k"}, "If-Match": {"*"},
					"Content-Type": {"application/json"},
				}
				r.Header[name] = []string{value}
				w := httptest.NewRecorder()
				o.Handler.ServeHTTP(w, r)
				if w.Code >= 500 {
					t.Fatalf("%s %s with %s: %q: %d %s", call.method, call.path, name, value, w.Code, w.Body)
				}
				apitest.Conform(t, apitest.Current(), call.method, call.path, w.Code, w.Result().Header, w.Body.Bytes())
			}
		}
	})
}

// FuzzPath sends any text as a path, and checks that only existing records are found.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/contacts/x", "/contacts/%2F", "/contacts/..", "/contacts/%2e%2e/me", "//", "/me",
		"/contacts/con_/a/b", "/invoices/1", "/events/%00", "/%zz", "", "x", "/contacts/ä", "/contacts/\x00",
	} {
		f.Add(seed)
	}
	o := office(f)
	c := o.As(access.Member)
	f.Fuzz(func(t *testing.T, path string) {
		at, err := url.ParseRequestURI("/v1" + path)
		if err != nil || !strings.HasPrefix(at.Path, "/v1") {
			return // a server does not pass such a path to this handler
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL, r.Header = at, http.Header{"Authorization": {"Bearer " + c.Key}}
		w := httptest.NewRecorder()
		o.Handler.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", path, w.Code, w.Body)
		}
		if w.Code < 300 && strings.ContainsAny(at.EscapedPath(), "%;") {
			t.Fatalf("%q is found: %s", path, w.Body)
		}
	})
}
