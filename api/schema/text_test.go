package schema

import (
	"testing"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/invisible"
)

// TestOrdinary checks that no body with a character that a check would remove or refuse is
// ordinary. Bodies with German letters are ordinary.
func TestOrdinary(t *testing.T) {
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || !ordinary([]byte(string(r))) {
			continue
		}
		if s := "a" + string(r); invisible.Remove(s) != s || fault.Deceptive(string(r)) != "" {
			t.Errorf("%U passes without a check", r)
		}
	}
	for text, want := range map[string]bool{
		"Müller-Lüdenscheidt, Weißer Straße": true, "Dvořák, Łódź, Şahin": true,
		"soft\u00adhyphen": false, "non\u00a0breaking": false, `"\u200b"`: false, "Ⅻ": false, "ü\u200b": false,
	} {
		if ordinary([]byte(text)) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
