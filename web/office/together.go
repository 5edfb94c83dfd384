package office

import (
	"cmp"
	"slices"
	"sync"
)

// together runs functions at the same time, and returns the first error in their
// order.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() { errs[i] = f() })
	}
	running.Wait()
	return cmp.Or(errs...)
}

// unique returns the texts of a list, each once, sorted.
func unique(list []string) []string {
	sorted := slices.Sorted(slices.Values(list))
	return slices.Compact(sorted)
}
