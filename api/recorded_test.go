package api_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/release"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordedCall is a call in testdata/recorded-VERSION.json with its response. Ids and cursors are
// new in each run, so the file has names in their place (con_#2, cursor_#1).
type recordedCall struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitzero"`
	Body    jsontext.Value    `json:"body,omitzero"`
	// Next is true if the next version has another response, by a declared difference.
	Next bool `json:"next,omitzero"`
	// Early is true if the call is answered before its version is known, and so by the current
	// version.
	Early  bool    `json:"early,omitzero"`
	Answer *answer `json:"answer,omitzero"`
}

type answer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitzero"`
}

var fillIn = flag.Bool("record", false, "fill in the answers that a recording has not, and what those that it has have gained; nothing else of them is changed (make docs)")

// names maps the ids and cursors of one run to their names in the recording. The names are numbered
// in the order in which the ids appear.
type names struct {
	byReal, byName map[string]string
	count          map[string]int
}

var (
	opaque = regexp.MustCompile(`\b(con|cmp|tsk|evt|req|usr|svc|org|key)_[0-9a-z]{26}\b|"nextCursor":"[^"]+"|"kidShort":"[^"]+"`)
	named  = regexp.MustCompile(`[a-z]+_#[0-9]+`)
	// The list of open families may grow within a version.
	growing = regexp.MustCompile(`"openFamilies":\[[^]]*\]`)
	// The texts of problems may change, because programs use the codes.
	words = regexp.MustCompile(`"(detail|message)":"([^"\\]|\\.)*"`)
)

func sameBut(what *regexp.Regexp, a, b string) bool {
	return what.ReplaceAllString(a, "") == what.ReplaceAllString(b, "")
}

func newNames() *names {
	return &names{map[string]string{}, map[string]string{}, map[string]int{}}
}

// hide replaces ids and cursors by their names, and removes request ids.
func (n *names) hide(text string) string {
	text = growing.ReplaceAllString(text, `"openFamilies":[]`)
	return opaque.ReplaceAllStringFunc(text, func(found string) string {
		kind, _, _ := strings.Cut(found, "_")
		real, quoted := found, false
		switch {
		case strings.HasPrefix(found, `"nextCursor":"`):
			kind, real, quoted = "cursor", strings.TrimSuffix(strings.TrimPrefix(found, `"nextCursor":"`), `"`), true
		case strings.HasPrefix(found, `"kidShort":"`):
			return `"kidShort":""`
		}
		switch {
		case kind == "req":
			return "req_"
		case strings.HasSuffix(real, "_01jb2z5k3xf0q8r9s7t6v5w4y3"): // this id belongs to no record
			return real
		}
		if n.byReal[real] == "" {
			n.count[kind]++
			name := fmt.Sprintf("%s_#%d", kind, n.count[kind])
			n.byReal[real], n.byName[name] = name, real
		}
		if quoted {
			return `"nextCursor":"` + n.byReal[real] + `"`
		}
		return n.byReal[real]
	})
}

// show replaces names by their ids and cursors.
func (n *names) show(t testing.TB, text string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string {
		if n.byName[name] == "" {
			t.Fatalf("%s is named before it appears", name)
		}
		return n.byName[name]
	})
}

// play sends a recorded call and returns its response in the form of the recording. An empty
// version sends no Svc-Version header.
func (n *names) play(t testing.TB, c *apitest.Client, r *recordedCall, version string) *answer {
	t.Helper()
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		headers = append(headers, name, n.show(t, r.Headers[name]))
	}
	if version != "" {
		headers = append(headers, "Svc-Version", version)
	}
	var body any
	if r.Body != nil {
		body = n.show(t, string(r.Body))
	}
	a := c.Do(r.Method, n.show(t, r.Path), body, headers...)
	out := &answer{Status: a.Status, Headers: map[string]string{}, Body: n.hide(string(a.Body))}
	for name, values := range a.Header {
		if !slices.Contains([]string{"Request-Id", "Ratelimit", "Ratelimit-Policy", "Content-Length", "Date"}, name) {
			out.Headers[http.CanonicalHeaderKey(name)] = n.hide(strings.Join(values, " | "))
		}
	}
	return out
}

// TestRecordedCalls repeats recorded calls of 2026-11-01. The calls go to production, to the
// release candidate, and with Svc-Version to the next version. The responses of the old version
// must be the same byte for byte, apart from ids, cursors and limits. The responses of the next
// version may differ only as declared.
func TestRecordedCalls(t *testing.T) {
	apitest.Alone(t)
	const file = "testdata/recorded-2026-11-01.json"
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var calls []*recordedCall
	if err := json.Unmarshal(read, &calls); err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		current := apitest.Current() // the version of calls without Svc-Version
		for _, run := range []struct{ name, environment, version string }{
			{"production", "production", old},
			{"production, nothing asked", "production", ""},
			{"rc", "rc", old},
			{"rc, the next version", "rc", next},
		} {
			t.Run(run.name, func(t *testing.T) {
				served := release.VersionsIn(run.environment)
				o := apitest.New(t, d, apitest.Versions(served...))
				c, n := o.As(access.Member), newNames()
				n.hide(c.Principal + " " + o.SandboxID)
				differ := 0
				for _, r := range calls {
					got := n.play(t, c, r, run.version)
					if r.Answer == nil {
						if !*fillIn || run.name != "production" {
							t.Fatalf("%s %s has no answer in %s", r.Method, r.Path, file)
						}
						r.Answer = got
						continue
					}
					if *fillIn && run.name == "production" && gained(r.Answer, got) {
						r.Answer = got
					}
					want := *r.Answer
					want.Body = strings.ReplaceAll(want.Body, `"versionPin":"`+old, `"versionPin":"`+current)
					want.Headers = maps.Clone(want.Headers)
					version := cmp.Or(run.version, current)
					if r.Early {
						version = current
					}
					if version > old {
						for name, value := range want.Headers {
							want.Headers[name] = strings.ReplaceAll(value, old, version)
						}
						want.Body = strings.ReplaceAll(want.Body, `"apiVersion":"`+old, `"apiVersion":"`+version)
						if r.Next {
							if got.Status == want.Status && got.Body == want.Body {
								t.Errorf("%s %s: the next version answers alike:\n%+v", r.Method, r.Path, got)
							}
							differ++
							continue
						}
					}
					want.Headers["Link"] += successor(version, served)
					if got.Status != want.Status || !sameBut(words, got.Body, want.Body) || !maps.Equal(got.Headers, want.Headers) {
						t.Errorf("%s %s %s\n%s", r.Method, r.Path, r.Body, firstDifference(&want, got))
					}
				}
				if cmp.Or(run.version, current) > old && differ == 0 {
					t.Error("the recording shows no difference")
				}
			})
		}
	})
	if *fillIn {
		write(t, file, calls)
	}
}

// gained reports whether a response differs from the recorded response only by additional members
// and headers.
func gained(was, is *answer) bool {
	for name, value := range was.Headers {
		if is.Headers[name] != value {
			return false
		}
	}
	var before, now any
	if was.Body != "" && (json.Unmarshal([]byte(was.Body), &before) != nil ||
		json.Unmarshal([]byte(is.Body), &now) != nil) {
		return false
	}
	return was.Status == is.Status && (was.Body != "" || is.Body == "") && within(before, now)
}

// within reports whether is equals was, apart from additional members of objects.
func within(was, is any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, same := is.(map[string]any)
		for name, value := range was {
			same = same && (within(value, now[name]) || slices.Contains([]string{"detail", "message"}, name))
			if _, there := now[name]; !there {
				return false
			}
		}
		return same
	case []any:
		now, same := is.([]any)
		same = same && len(was) == len(now)
		for i := range was {
			same = same && within(was[i], now[i])
		}
		return same
	}
	return was == is
}

// firstDifference describes the first difference between a recorded response (was) and a new
// response (is).
func firstDifference(was, is *answer) string {
	if was.Status != is.Status {
		return fmt.Sprintf("was %d %s\nis  %d %s", was.Status, was.Body, is.Status, is.Body)
	}
	names := maps.Clone(was.Headers)
	maps.Copy(names, is.Headers)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was.Headers[name] != is.Headers[name] {
			return fmt.Sprintf("%s was %q\n%[1]s is  %[3]q", name, was.Headers[name], is.Headers[name])
		}
	}
	a, b, same := was.Body, is.Body, 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	around := func(text string) string { return text[max(0, same-60):min(len(text), same+60)] }
	return fmt.Sprintf("from byte %d on: was ...%s...\nand is ...%s...\nWhere it only has more members, make docs writes them.", same, around(a), around(b))
}

// TestGained checks that -record accepts only differences that clients do not notice.
func TestGained(t *testing.T) {
	of := func(body string) *answer {
		return &answer{200, map[string]string{"ETag": "x"}, body}
	}
	for _, test := range []struct {
		was, is string
		want    bool
	}{
		{`{"a":1}`, `{"a":1,"b":null}`, true},
		{`{"data":[{"a":null}]}`, `{"data":[{"b":{},"a":null}]}`, true},
		{`{"detail":"Ja."}`, `{"detail":"Nein."}`, true},
		{`{"a":1,"b":null}`, `{"a":1}`, false},
		{`{"a":1}`, `{"a":2,"b":3}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"data":[]}`, `{"data":[{}]}`, false},
		{`{"a":{}}`, `{"a":null}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{``, `{}`, false},
		{`{}`, ``, false},
	} {
		if got := gained(of(test.was), of(test.is)); got != test.want {
			t.Errorf("%s, then %s: %v", test.was, test.is, got)
		}
	}
	if more := (&answer{200, map[string]string{"ETag": "x", "Link": "y"}, `{}`}); !gained(of(`{}`), more) ||
		gained(more, of(`{}`)) {
		t.Error("headers may come and not go")
	}
	if gained(of(`{}`), &answer{201, map[string]string{"ETag": "x"}, `{}`}) {
		t.Error("another status is another answer")
	}
}

func write(t *testing.T, file string, calls []*recordedCall) {
	var b bytes.Buffer
	for i, r := range calls {
		b.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0])
		line, err := json.Marshal(r, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	b.WriteString("\n]\n")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
