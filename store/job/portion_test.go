package job

import (
	"testing"
	"time"
)

// TestPortion checks that the time of transactions approaches portionGoal from both sides, within
// Least and Most.
func TestPortion(t *testing.T) {
	for _, c := range []struct {
		each time.Duration
		want int
	}{{500 * time.Microsecond, 8}, {100 * time.Microsecond, 40}, {0, 50}, {time.Second, 5}, {600 * time.Microsecond, 6}} {
		p := Portion{Most: 50}
		for range 10 {
			p.took(p.Next(), time.Duration(p.Next())*c.each)
		}
		if got := p.Next(); got != c.want {
			t.Errorf("with %v a record: %d records, want %d", c.each, got, c.want)
		}
	}
	p := Portion{Most: 50}
	p.took(p.Next(), 0)
	if got := p.Next(); got != 20 {
		t.Errorf("after a quick transaction of 10: %d records, want 20", got)
	}
}
