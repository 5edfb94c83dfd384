package shell

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kartei/test/seed"
)

// TestMergeLosesNothing checks for random edits by two people that merge loses no change.
func TestMergeLosesNothing(t *testing.T) {
	names := []string{"lastName", "mobile", "address.city", "tags"}
	text := rapid.SampledFrom([]string{"", "a", "b", "c"})
	seed.Check(t, func(t *rapid.T) {
		draw := func(label string) Values {
			v := Values{}
			for _, name := range names {
				v[name] = text.Draw(t, label+" "+name)
			}
			return v
		}
		base, mine, theirs := draw("base"), draw("mine"), draw("theirs")
		m := Merge(base, mine, theirs)
		for _, name := range names {
			at := slices.IndexFunc(m.Conflicts, func(c Conflict) bool { return c.Name == name })
			typed, stored := mine[name] != base[name], theirs[name] != base[name]
			switch got := m.Values[name]; {
			case at >= 0:
				c := m.Conflicts[at]
				if !typed || !stored || mine[name] == theirs[name] {
					t.Errorf("%s is a conflict although only one side changed it: %+v", name, c)
				}
				if c.Base != base[name] || c.Mine != mine[name] || c.Theirs != theirs[name] || got != theirs[name] {
					t.Errorf("%s: conflict %+v, value %q", name, c, got)
				}
			case typed && got != mine[name]:
				t.Errorf("%s: %q was typed and is lost: %q", name, mine[name], got)
			case !typed && got != theirs[name]:
				t.Errorf("%s: %q was stored by somebody else and is overwritten unseen: %q", name, theirs[name], got)
			}
		}
	})
}
