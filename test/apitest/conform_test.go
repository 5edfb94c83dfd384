package apitest

import (
	"net/http"
	"strings"
	"testing"
)

// TestConformFinds breaks a good answer in every way that a check looks for:
// a check that cannot fail would prove nothing.
func TestConformFinds(t *testing.T) {
	c, err := contractOf("2026-11-01")
	if err != nil {
		t.Fatal(err)
	}
	const id = "01jb2z5k3xf0q8r9s7t6v5w4y3"
	type answer struct {
		method, path string
		status       int
		header       http.Header
		body         string
	}
	common := func() http.Header {
		return http.Header{
			"Request-Id": {"req_" + id}, "Svc-Version": {"2026-11-01"}, "Ratelimit": {`"key";r=300;t=0`}, "Ratelimit-Policy": {`"key";q=300;w=60`},
			"Link":          {`<https://kartei.example/docs/openapi.json?version=2026-11-01>; rel="service-desc"; type="application/json"`},
			"Cache-Control": {"private, no-cache"}, "Vary": {"Authorization, Accept-Language, Svc-Version"}, "X-Content-Type-Options": {"nosniff"},
			"Content-Type": {"application/json"},
		}
	}
	count := func() answer {
		return answer{"GET", "/contacts/count?q=a", 200, common(), `{"count":5,"capped":false,"new":true}`}
	}
	problem := func() answer {
		h := common()
		h.Set("Content-Type", "application/problem+json")
		h.Set("Content-Language", "de")
		return answer{"GET", "/contacts/con_" + id, 404, h, `{"type":"https://kartei.example/problems/NOT_FOUND","title":"Nicht gefunden","status":404,"instance":"/v1/contacts/x","code":"NOT_FOUND","requestId":"req_` + id + `"}`}
	}
	check := func(a answer) []string { return c.check(a.method, a.path, a.status, a.header, []byte(a.body)) }
	for _, good := range []answer{count(), problem()} {
		if wrong := check(good); len(wrong) > 0 {
			t.Errorf("a good answer is refused: %v", wrong)
		}
	}
	head := count()
	head.method, head.body = "HEAD", ""
	if wrong := check(head); len(wrong) > 0 {
		t.Errorf("HEAD: %v", wrong)
	}
	replaced := func(a answer, old, new string) answer {
		a.body = strings.Replace(a.body, old, new, 1)
		return a
	}
	without := func(a answer, name string) answer {
		a.header.Del(name)
		return a
	}
	with := func(a answer, name string, values ...string) answer {
		a.header[http.CanonicalHeaderKey(name)] = values
		return a
	}
	status := func(a answer, status int) answer {
		a.status = status
		return a
	}
	path := func(a answer, method, path string) answer {
		a.method, a.path = method, path
		return a
	}
	for name, bad := range map[string]answer{
		"no body":                     replaced(count(), `{"count":5,"capped":false,"new":true}`, ""),
		"no JSON":                     replaced(count(), "}", ""),
		"a member is missing":         replaced(count(), `"capped":false,`, ""),
		"a member has another type":   replaced(count(), "5", `"5"`),
		"a number is out of range":    replaced(count(), "5", "10001"),
		"HEAD with a body":            path(count(), "HEAD", "/contacts/count"),
		"a header is missing":         without(count(), "Request-Id"),
		"a header is wrong":           with(count(), "RateLimit", "key;r=1;t=0"),
		"a header twice":              with(count(), "Link", "</a>; rel=\"a\"", "</b>; rel=\"b\""),
		"another content type":        with(count(), "Content-Type", "text/html"),
		"an unknown status":           status(count(), 202),
		"an unknown path":             path(count(), "GET", "/contactz"),
		"another method":              path(count(), "PUT", "/contacts/count"),
		"a code of another operation": path(problem(), "GET", "/contacts"),
		"an unknown code":             replaced(replaced(problem(), `"NOT_FOUND"`, `"GONE"`), "problems/NOT_FOUND", "problems/GONE"),
		"a code of another type":      replaced(problem(), "problems/NOT_FOUND", "problems/GONE"),
		"another status in the body":  replaced(problem(), "404", "410"),
		"another request":             with(problem(), "Request-Id", "req_"+strings.Replace(id, "3", "4", 1)),
		"no language":                 without(problem(), "Content-Language"),
		"no code":                     replaced(problem(), `"code":"NOT_FOUND",`, ""),
		"405 without Allow":           path(status(replaced(problem(), "404", "405"), 405), "PUT", "/contacts"),
	} {
		if wrong := check(bad); len(wrong) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}
