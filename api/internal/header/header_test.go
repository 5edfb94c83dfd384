package header_test

import (
	"strings"
	"testing"

	"kartei/api/internal/header"
)

// FuzzIfMatch checks that each tag of an accepted If-Match is in the header, and can be sent alone
// with the same meaning.
func FuzzIfMatch(f *testing.F) {
	for _, seed := range []string{
		`*`, `"r1"`, `W/"r1"`, `"r1", "r2"`, `"r1",W/"r2" ,"r3"`, `r1`, `"r1`, `"r1" "r2"`, `*, "r1"`, `,`,
		`""`, ` "r1" `, "\"a\xffb\"", `W/`, `"r9223372036854775808"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		p, ok := header.Precondition([]string{value})
		if !ok {
			return
		}
		if !p.Sent {
			t.Fatalf("%q was sent and counts as missing", value)
		}
		if p.Any != (strings.TrimSpace(value) == "*") {
			t.Fatalf("%q: any is %v", value, p.Any)
		}
		for _, tag := range p.Tags {
			if strings.ContainsAny(tag, "\" \t\r\n\x00\x7f") || !strings.Contains(value, `"`+tag+`"`) {
				t.Fatalf("%q holds the tag %q", value, tag)
			}
		}
		// A parsed tag can be sent alone, with the same meaning.
		for _, tag := range p.Tags {
			q, ok := header.Precondition([]string{`"` + tag + `"`})
			if !ok || q.Any || len(q.Tags) != 1 || q.Tags[0] != tag {
				t.Fatalf("%q of %q: %+v, %v", tag, value, q, ok)
			}
		}
		if err := p.Require(1); err == nil && !p.Any && !strings.Contains(value, `"r1"`) {
			t.Fatalf("%q matches revision 1", value)
		}
	})
}

// FuzzIdempotencyKey checks that an accepted key has 1 to 255 printable ASCII characters, and that
// its quoted form means the same key. A refused key must be empty.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{
		"k", `"k"`, `"a \"b\" \\ c"`, `"open`, `""`, "", "a\tb", "schlüssel", strings.Repeat("k", 255),
		strings.Repeat("k", 256), `"k";a=1`, `"a", "b"`, `:aGVsbG8=:`, `"a`, "\x7f", ` `,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, ok := header.IdempotencyKey([]string{value})
		if !ok {
			if key != "" {
				t.Fatalf("%q is refused and gives %q", value, key)
			}
			return
		}
		if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q gives %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, ok := header.IdempotencyKey([]string{quoted}); !ok || again != key {
			t.Fatalf("%q gives %q, but %q gives %q, %v", value, key, quoted, again, ok)
		}
	})
}

// FuzzAccept checks that a media range that is accepted alone is also accepted in a list.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"", "*/*", "application/json", "text/html", "application/json;q=0", "application/json;q=0.000",
		"*/*;q=0.1,text/html", ";;;", "a/b;q=", "application/json; charset=utf-8; q=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if header.AcceptsJSON([]string{value}) && !header.AcceptsJSON([]string{"text/html", value}) {
			t.Fatalf("%q is accepted only alone", value)
		}
		if !header.AcceptsJSON([]string{value, "application/json"}) {
			t.Fatalf("%q hides application/json", value)
		}
	})
}
