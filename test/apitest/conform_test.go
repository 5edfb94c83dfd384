package apitest

import (
	"net/http"
	"strings"
	"testing"
)

// TestConformFinds checks that the check accepts correct responses and finds each error in
// badSamples.
func TestConformFinds(t *testing.T) {
	c, err := contractOf("2026-11-01")
	if err != nil {
		t.Fatal(err)
	}
	check := func(a sample) []string { return c.check(a.method, a.path, a.status, a.header, []byte(a.body)) }
	for name, good := range map[string]sample{"an answer": goodCount(), "HEAD": goodHead(), "a problem": goodProblem()} {
		if wrong := check(good); len(wrong) > 0 {
			t.Errorf("a good answer is refused: %s: %v", name, wrong)
		}
	}
	for name, bad := range badSamples {
		if wrong := check(bad); len(wrong) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}

// badSamples are responses that do not conform, by the error in each.
var badSamples = map[string]sample{
	"no body":                     goodCount().replaced(goodCount().body, ""),
	"no JSON":                     goodCount().replaced("}", ""),
	"a member is missing":         goodCount().replaced(`"capped":false,`, ""),
	"a member has another type":   goodCount().replaced("5", `"5"`),
	"a number is out of range":    goodCount().replaced("5", "10001"),
	"HEAD with a body":            goodCount().to("HEAD", "/contacts/count"),
	"a header is missing":         goodCount().without("Request-Id"),
	"a header is wrong":           goodCount().with("RateLimit", "key;r=1;t=0"),
	"a header is not described":   goodCount().with("Last-Modified", "Sun, 01 Nov 2026 09:30:00 GMT"),
	"a header twice":              goodCount().with("Link", "</a>; rel=\"a\"", "</b>; rel=\"b\""),
	"another content type":        goodCount().with("Content-Type", "text/html"),
	"an unknown status":           goodCount().as(202),
	"an unknown path":             goodCount().to("GET", "/contactz"),
	"another method":              goodCount().to("PUT", "/contacts/count"),
	"a code of another operation": goodProblem().to("GET", "/contacts"),
	"an unknown code": goodProblem().replaced(`"NOT_FOUND"`, `"GONE"`).replaced("problems/NOT_FOUND",
		"problems/GONE"),
	"a code of another type":     goodProblem().replaced("problems/NOT_FOUND", "problems/GONE"),
	"another status in the body": goodProblem().replaced("404", "410"),
	"another request":            goodProblem().with("Request-Id", "req_"+strings.Replace(sampleID, "3", "4", 1)),
	"no language":                goodProblem().without("Content-Language"),
	"no code":                    goodProblem().replaced(`"code":"NOT_FOUND",`, ""),
	"405 without Allow":          goodProblem().replaced("404", "405").as(405).to("PUT", "/contacts"),
}

// sample is a response with its request. Its methods return a changed copy.
type sample struct {
	method, path string
	status       int
	header       http.Header
	body         string
}

const sampleID = "01jb2z5k3xf0q8r9s7t6v5w4y3"

func goodHeader() http.Header {
	return http.Header{
		"Request-Id": {"req_" + sampleID}, "Svc-Version": {"2026-11-01"}, "Ratelimit": {`"key";r=300;t=0`},
		"Ratelimit-Policy": {`"key";q=300;w=60`},
		"Link": {
			`<https://kartei.example/docs/openapi.json?version=2026-11-01>; rel="service-desc"; type="application/json"`,
		},
		"Cache-Control": {"private, no-cache"}, "Vary": {"Authorization, Accept-Language, Svc-Version"},
		"X-Content-Type-Options": {"nosniff"},
		"Content-Type":           {"application/json"},
	}
}

func goodCount() sample {
	return sample{"GET", "/contacts/count?q=a", 200, goodHeader(), `{"count":5,"capped":false,"new":true}`}
}

func goodHead() sample {
	a := goodCount()
	a.method, a.body = "HEAD", ""
	return a
}

func goodProblem() sample {
	return sample{
		"GET", "/contacts/con_" + sampleID, 404, goodHeader(),
		`{"type":"https://kartei.example/problems/NOT_FOUND","title":"Nicht gefunden","status":404,"instance":"/v1/contacts/x","code":"NOT_FOUND","requestId":"req_` + sampleID + `"}`,
	}.
		with("Content-Type", "application/problem+json").with("Content-Language", "de")
}

func (a sample) replaced(old, new string) sample {
	a.body = strings.Replace(a.body, old, new, 1)
	return a
}

func (a sample) without(name string) sample {
	a.header.Del(name)
	return a
}

func (a sample) with(name string, values ...string) sample {
	a.header[http.CanonicalHeaderKey(name)] = values
	return a
}

func (a sample) as(status int) sample {
	a.status = status
	return a
}

func (a sample) to(method, path string) sample {
	a.method, a.path = method, path
	return a
}
