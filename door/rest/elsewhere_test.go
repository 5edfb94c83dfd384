package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kartei/door/rest"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestMisplaced checks that API calls without /v1 get a problem document. Other requests are passed
// on.
func TestMisplaced(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	const page = "a page"
	h := rest.Misplaced(o.API, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(page))
	}))
	const key = "Bearer kart_test_x"
	for _, test := range []struct {
		method, path, authorization string
		misplaced                   bool
	}{
		{"GET", "/contacts", key, true},
		{"POST", "/contacts", key, true},
		{"PATCH", "/contacts/con_1", "bearer  kart_live_x", true},
		{"GET", "/me", key, true},
		{"GET", "/api/v1/contacts", key, true},
		{"GET", "/v2/contacts", key, true},
		{"GET", "/v1.0/contacts", key, true},
		{"HEAD", "/contacts", key, true},
		{"GET", "/contacts", "", false},
		{"GET", "/contacts", "Basic eDp5", false},
		{"GET", "/docs/openapi.json", key, false},
		{"POST", "/oauth/token", key, false},
		{"GET", "/vault", key, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, nil)
		if test.authorization != "" {
			r.Header.Set("Authorization", test.authorization)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		a := &apitest.Answer{TB: t, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
		switch {
		case !test.misplaced && w.Body.String() != page:
			t.Errorf("%s %s %q: %d %s", test.method, test.path, test.authorization, w.Code, w.Body)
		case test.misplaced && test.method == http.MethodHead && (w.Code != 404 || w.Body.Len() > 0):
			t.Errorf("HEAD: %d %s", w.Code, w.Body)
		case test.misplaced && test.method != http.MethodHead:
			if p := a.Want(404, "NOT_FOUND").JSON(); !strings.Contains(p["detail"].(string), "/v1") ||
				p["instance"] != test.path || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %v %v", test.method, test.path, p, a.Header)
			}
		}
	}
}

// TestNoPath checks that the response for an unknown path refers to the documentation. The response
// for an unknown record does not.
func TestNoPath(t *testing.T) {
	s, c := open(t)
	for path, says := range map[string]bool{
		"/contact": true, "/Contacts": true, "/contacts/": true, "": true,
		"/contacts/con_01m7q5p4xkeq58z2c7n4r6t9bd": false,
	} {
		p := s.Send(c, apitest.Wire{Method: "GET", Path: path}).Want(404, "NOT_FOUND").JSON()
		if got := strings.Contains(p["detail"].(string), "/docs"); got != says {
			t.Errorf("%q: %v", path, p["detail"])
		}
	}
}
