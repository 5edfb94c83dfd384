package ui

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"kartei/kit/i18n"
)

// TestTop checks that the axis ends at a round number slightly above the largest value.
func TestTop(t *testing.T) {
	for highest, want := range map[int64]int64{
		0: 1, 1: 1, 2: 2, 3: 4, 7: 8, 9: 10, 10: 10, 11: 12, 13: 16, 99: 100, 101: 120, 1080: 1200,
		81_000: 100_000,
	} {
		if got := top(highest); got != want {
			t.Errorf("%d has an axis up to %d, want %d", highest, got, want)
		}
	}
	if top(math.MaxInt64) <= 0 {
		t.Error("the axis of the highest number overflows")
	}
}

// TestBars checks that bars are stacked within the drawing, and that a value of one is visible
// beside a million.
func TestBars(t *testing.T) {
	c := Chart{
		ID:     "c",
		Points: []string{"a", "b"},
		Series: []Series{{"good", Info, []int64{1_000_000, 0}}, {"bad", Bad, []int64{1, 0}}},
	}
	bars := c.bars()
	if len(bars) != 2 || len(bars[0]) != 1 || len(bars[1]) != 1 || bars[1][0].height != "2" || bars[1][0].x != "5.00%" {
		t.Fatalf("%+v", bars)
	}
	lower, _ := strconv.Atoi(bars[0][0].y)
	upper, _ := strconv.Atoi(bars[1][0].y)
	if lower-upper != 2 || upper < 0 {
		t.Errorf("the upper part begins at %v, the lower one at %v", upper, lower)
	}
}

// TestDraw checks that a line has a gap at a value of zero, and that an empty chart has no drawing.
// A drawing has a title, a description and a table with the same numbers.
func TestDraw(t *testing.T) {
	line := Series{"took", Info, []int64{5, 7, 0, 9, 4}}
	c := Chart{
		ID:     "c",
		Title:  "Time <b>",
		Desc:   "How long.",
		Head:   "Day",
		Lines:  true,
		Points: []string{"d1", "d2", "d3", "d4", "d5"},
		Ticks:  []string{"1", "2", "3", "4", "5"},
		Series: []Series{line},
	}
	if got := c.curve(line); got != "M0.5 78L1.5 54M3.5 30L4.5 90" {
		t.Errorf("the line is %q", got)
	}
	draw := func(c Chart) string {
		var b strings.Builder
		if err := Draw(View{Words: i18n.Words{Language: "en"}}, c).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	drawn := draw(c)
	if n := strings.Count(drawn, "<circle"); n != 4 {
		t.Errorf("%d marks, want 4", n)
	}
	for _, want := range []string{
		`role="img"`, `<title id="c-t">Time &lt;b&gt;</title>`, `<desc id="c-d">How long.</desc>`,
		`aria-labelledby="c-t c-d"`, "<th scope=\"row\">d4</th><td>9</td>",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the chart lacks %s: %s", want, drawn)
		}
	}
	if strings.Contains(drawn, "style=") {
		t.Error("a style in the markup is against the policy")
	}
	c.Series = []Series{{"took", Info, make([]int64, 5)}}
	if drawn := draw(c); strings.Contains(drawn, "chart-drawing") || !strings.Contains(drawn, "Nothing in this time.") {
		t.Errorf("an empty chart: %s", drawn)
	}
}
