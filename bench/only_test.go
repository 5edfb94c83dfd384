package main

import (
	"slices"
	"strings"
	"testing"
)

// An unknown name is an error that lists all names. It must not count as a run
// without measurements.
func TestOnly(t *testing.T) {
	list := []series{{name: "get"}, {name: "list"}, {name: "list, hundredth page"}, {name: "post"}}
	for only, want := range map[string][]string{
		"":     {"get", "list", "list, hundredth page", "post"},
		"list": {"list", "list, hundredth page"},
		"post": {"post"},
	} {
		chosen, err := choose(list, series.called, only)
		var names []string
		for _, s := range chosen {
			names = append(names, s.name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%q: %q, %v", only, names, err)
		}
	}
	if _, err := choose(list, series.called, "lst"); err == nil || !strings.Contains(err.Error(), `"lst"`) ||
		!strings.Contains(err.Error(), `"list"`) {
		t.Errorf("lst: %v", err)
	}
	b := bench{settings: settings{only: "lst"}, memory: []float64{1}}
	b.series = list
	if err := b.chooseSeries(); err == nil {
		t.Error("a run without a series begins")
	}
}
