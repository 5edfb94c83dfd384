package main

import (
	"slices"
	"strings"
	"testing"
)

// An unknown name is an error that lists all names. It must not count as a run
// without measurements.
func TestOnly(t *testing.T) {
	list := []series{{name: getLarge}, {name: listLarge}, {name: listHundth}, {name: postLarge}}
	for only, want := range map[string][]string{
		"":     {getLarge, listLarge, listHundth, postLarge},
		"list": {listLarge, listHundth},
		"post": {postLarge},
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
	b := bench{options: options{only: "lst"}, memory: []float64{1}}
	b.series = list
	if err := b.chooseSeries(); err == nil {
		t.Error("a run without a series begins")
	}
	for _, o := range []options{{only: "get", webhooks: 1}, {only: "get", limited: true}, {only: "get", traces: true}} {
		if o.checkOnly() == nil {
			t.Errorf("%+v: --only is ignored", o)
		}
	}
}

// The confidence interval of the median of forty pairs is from the 14th to the
// 27th, as in tables of the binomial distribution. With few pairs it is from
// the least to the greatest.
func TestConfidence(t *testing.T) {
	var forty []float64
	for i := range 40 {
		forty = append(forty, float64(i+1))
	}
	for _, c := range []struct {
		sorted   []float64
		from, to float64
	}{{forty, 14, 27}, {forty[:3], 1, 3}, {forty[:1], 1, 1}} {
		if from, to := confidence(c.sorted); from != c.from || to != c.to {
			t.Errorf("of %d: %g to %g, want %g to %g", len(c.sorted), from, to, c.from, c.to)
		}
	}
}
