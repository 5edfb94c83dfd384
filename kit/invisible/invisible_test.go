package invisible

import (
	"testing"
	"unicode"
)

// TestIs checks that Is agrees with the ranges of DerivedCoreProperties.txt of Unicode 15, the
// version of Go's tables.
func TestIs(t *testing.T) {
	ignorable := [][2]rune{
		{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x202a, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8},
		{0x1bca0, 0x1bca3},
		{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	}
	in := func(r rune) bool {
		for _, x := range ignorable {
			if r >= x[0] && r <= x[1] {
				return true
			}
		}
		return false
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Is(r) != in(r) && (unicode.Is(unicode.Cf, r) || in(r)) {
			t.Errorf("%U: %v, want %v", r, Is(r), in(r))
		}
	}
}

func TestRemove(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "Schröder": "Schröder", "\u202a+49 221 123456\u202c": "+49 221 123456",
		"eva@b16.example\u200b": "eva@b16.example",
		"Schr\u00ad\u2060\u200c\u200d\ufe0f\ufeff\u200e\u200föder": "Schröder", "https://x.example/\u2066a\u2069": "https://x.example/a",
		"👩\u200d💻": "👩💻", "\u200b": "", "\U000e0101葛\u034f": "葛", "\xff\u00ad": "\ufffd",
	} {
		if got := Remove(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestTidy(t *testing.T) {
	for s, want := range map[string]string{
		"Eva\u200b": "Eva", "Schr\u00adöder": "Schröder", "Müller\u200d-\u200cLüdenscheidt": "Müller-Lüdenscheidt",
		"\ufeffBerg\u200e": "Berg",
		// A name keeps these characters.
		"می\u200cخواهم": "می\u200cخواهم", "क्\u200dष": "क्\u200dष", "ශ්\u200dරී": "ශ්\u200dරී", "👩\u200d💻": "👩\u200d💻",
		"👩🏽\u200d❤\ufe0f\u200d👩": "👩🏽\u200d❤\ufe0f\u200d👩",
		"葛\U000e0101城":           "葛\U000e0101城", "☎\ufe0e": "☎\ufe0e", "1\ufe0f\u20e3": "1\ufe0f\u20e3",
		"ᠠ\u180b": "ᠠ\u180b", "\u1100\u1160": "\u1100\u1160",
		"🏴\U000e0067\U000e0062\U000e007f": "🏴\U000e0067\U000e0062\U000e007f",
		// Tidy removes the same characters where they have no meaning.
		"An\U000e0101na": "Anna", "Kim\u1160": "Kim", "Lee\u3164": "Lee", "می\u200c": "می", "\u200c\u200dBerg": "Berg",
		"Berg\U000e0067": "Berg", "\u00adBerg\xff": "Berg\ufffd", "Berg\u200b\xc3": "Berg\ufffd",
	} {
		if got := Tidy(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
