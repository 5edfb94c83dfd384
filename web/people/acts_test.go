package people

import (
	"slices"
	"strings"
	"testing"

	"kartei/api"
	"kartei/people/offboarding"
	bulkacts "kartei/transfer/bulk"
	"kartei/transfer/imports"
	"kartei/web/shell"
)

// TestActsHaveWords checks that acts has a text for each audit word that an operation writes, and
// no others.
func TestActsHaveWords(t *testing.T) {
	unused := map[string]bool{}
	for word := range acts {
		unused[word] = true
	}
	for _, r := range api.Unpublished {
		if r.Audit == "" || r.Who.String() == "operator" && r.Audit == "job.retry" {
			continue
		}
		if _, known := acts[r.Audit]; !known {
			t.Errorf("%s: acts has no words for %q", r.ID, r.Audit)
		}
		delete(unused, r.Audit)
	}
	for word := range acts {
		group, _, _ := strings.Cut(word, ".")
		if !slices.ContainsFunc(auditGroups, func(o shell.Option) bool { return o.Value == group }) {
			t.Errorf("no choice of the filter has %q", word)
		}
	}
	for _, word := range []string{offboarding.DoneWord, imports.DoneWord, imports.UndoneWord, bulkacts.DoneWord, bulkacts.UndoneWord, "session.refuse", "records.give"} {
		if _, known := acts[word]; !known {
			t.Errorf("acts has no words for %q", word)
		}
		delete(unused, word)
	}
	for word := range unused {
		t.Errorf("no row writes %q", word)
	}
}
