package source

import (
	"testing"
)

func TestDialects(t *testing.T) {
	n := 0
	for _, d := range dialects {
		if d.program == "" || len(d.headings) == 0 {
			t.Errorf("%+v has no headings", d)
		}
		for heading, m := range d.headings {
			n++
			if m.member != LeaveOut && MemberOf(m.member) == nil {
				t.Errorf("%s: %s means %s, which is no member", d.program, heading, m.member)
			}
		}
	}
	t.Log(n, "headings of", len(dialects), "programs")
}
