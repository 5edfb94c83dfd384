package measure

import (
	"slices"
	"strings"
	"testing"
)

// TestOnly checks that --only selects series, and that an unknown name causes an error with all
// names.
func TestOnly(t *testing.T) {
	list := []Series{{Name: "get"}, {Name: "list"}, {Name: "list, hundredth page"}, {Name: "post"}}
	for only, want := range map[string][]string{
		"":     {"get", "list", "list, hundredth page", "post"},
		"list": {"list", "list, hundredth page"},
		"post": {"post"},
	} {
		chosen, err := Choose(list, Series.called, only)
		var names []string
		for _, s := range chosen {
			names = append(names, s.Name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%q: %q, %v", only, names, err)
		}
	}
	if _, err := Choose(list, Series.called, "lst"); err == nil || !strings.Contains(err.Error(), `"lst"`) ||
		!strings.Contains(err.Error(), `"list"`) {
		t.Errorf("lst: %v", err)
	}
	b := Bench{Settings: Settings{Only: "lst"}}
	b.Series = list
	if err := b.ChooseSeries(); err == nil {
		t.Error("a run without a series begins")
	}
}
