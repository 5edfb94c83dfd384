package progress

import (
	"strings"
	"testing"
	"time"
)

// run calls Tell for each step at its time, and returns the output of the Bar.
func run(terminal bool, total int64, steps ...mark) string {
	var out strings.Builder
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	b := New(&out)
	b.terminal = terminal
	for _, s := range steps {
		b.now = func() time.Time { return begin.Add(s.at.Sub(time.Time{})) }
		b.Tell(s.done, total)
	}
	b.End()
	return out.String()
}

func after(d time.Duration, done int64) mark { return mark{time.Time{}.Add(d), done} }

// TestEstimateIgnoresEarlierProgress checks that progress from before the first call does not count
// for the rate.
func TestEstimateIgnoresEarlierProgress(t *testing.T) {
	got := run(false, 1000, after(0, 500), after(10*time.Second, 600))
	if want := "[########################................]  60 %, 10/s, about 40s left\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEstimateFollowsRecentRate checks that the estimate follows the recent rate when a command
// gets slower.
func TestEstimateFollowsRecentRate(t *testing.T) {
	got := run(false, 10_000, after(0, 0), after(30*time.Second, 3000), after(60*time.Second, 3300),
		after(90*time.Second, 3600))
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, "36 %, 10/s, about 10m40s left") {
		t.Errorf("the last line is %q", last)
	}
}

func TestTerminalHasOneLine(t *testing.T) {
	got := run(true, 4, after(0, 0), after(100*time.Millisecond, 1), after(time.Second, 2), after(2*time.Second, 4))
	if strings.Count(got, "\r") != 2 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(got, "["+strings.Repeat("#", width)+"] 100 %") {
		t.Errorf("the end is not drawn: %q", got)
	}
}

// TestMoreThanTotal checks that the bar stays within 100 % if done is above total. Data that are
// copied may grow meanwhile.
func TestMoreThanTotal(t *testing.T) {
	got := run(true, 40, after(0, 0), after(time.Second, 45))
	if !strings.Contains(got, "["+strings.Repeat("#", width)+"] 100 %") {
		t.Errorf("got %q", got)
	}
}

func TestNothingToDraw(t *testing.T) {
	var none *Bar
	none.Tell(1, 2)
	none.End()
	if got := run(true, 0, after(0, 0), after(time.Hour, 0)); got != "" {
		t.Errorf("a bar without a total wrote %q", got)
	}
}
