package web_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// luminance returns the relative luminance of an sRGB colour (WCAG 2.2). hex has six digits.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// contrast returns the contrast ratio of two luminances, from 1 to 21.
func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// colours returns the colours in tokens.css by name, each for the light and the dark scheme.
func colours(t *testing.T) map[string][2]string {
	t.Helper()
	css, err := os.ReadFile("static/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`).FindAllStringSubmatch(string(css), -1) {
		all[m[1]] = [2]string{m[2], m[3]}
	}
	return all
}

// pairs are foreground and background colours that appear together, and the minimum contrast ratio
// that WCAG 2.2 AA requires for each.
var pairs = []struct {
	above, below []string
	least        float64
}{
	{[]string{"text", "muted", "accent", "ok", "warn", "bad", "info"}, []string{"ground", "raised", "selected"}, 4.5},
	{[]string{"text", "muted"}, []string{"sunken"}, 4.5},
	{[]string{"onaccent"}, []string{"accent"}, 4.5},
	{[]string{"text"}, []string{"mark", "infoground", "okground", "warnground", "badground"}, 4.5},
	{[]string{"ok"}, []string{"okground"}, 4.5},
	{[]string{"warn"}, []string{"warnground"}, 4.5},
	{[]string{"bad"}, []string{"badground"}, 4.5},
	{[]string{"info", "accent"}, []string{"infoground"}, 4.5},
	{[]string{"focus", "control"}, []string{"ground", "raised"}, 3},
}

// TestContrast checks that the colour pairs have the contrast that WCAG 2.2 AA requires, in both
// colour schemes.
func TestContrast(t *testing.T) {
	colour := colours(t)
	for _, p := range pairs {
		for _, above := range p.above {
			for _, below := range p.below {
				for i, scheme := range []string{"light", "dark"} {
					if colour[above][i] == "" || colour[below][i] == "" {
						t.Fatalf("no colour %s or %s", above, below)
					}
					if got := contrast(luminance(t, colour[above][i]), luminance(t, colour[below][i])); got < p.least {
						t.Errorf("%s: %s on %s has %.2f, needs %.1f", scheme, above, below, got, p.least)
					}
				}
			}
		}
	}
}
