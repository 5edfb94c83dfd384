package schema

import (
	"regexp"
	"testing"

	"kartei/api/schema/pattern"
)

// TestPlainPattern checks that the shortcut for visible ASCII gives the same
// results as the expression.
func TestPlainPattern(t *testing.T) {
	for _, text := range []string{pattern.Line, pattern.Text, pattern.Parameter} {
		quick, err := compilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, is := quick.(plainPattern); !is {
			t.Errorf("%q is matched by its expression alone", text)
		}
		slow := regexp.MustCompile(text)
		check := func(s string) {
			if got, want := quick.MatchString(s), slow.MatchString(s); got != want {
				t.Errorf("%q matches %q: %v, want %v", text, s, got, want)
			}
		}
		check("")
		for c := range rune(0x200) {
			for _, s := range []string{string(c), "a" + string(c), string(c) + "a", " " + string(c), string([]byte{byte(c)})} {
				check(s)
			}
		}
	}
	if other, _ := compilePattern(pattern.Version); other.MatchString("x") {
		t.Error("another pattern matches anything")
	}
}
