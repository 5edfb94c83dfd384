package shell

import (
	"maps"
	"slices"
)

// Conflict is a member that two people changed to different values.
type Conflict struct {
	Name string
	// Base is the value that both people saw. Theirs is the stored value. Mine is the typed value.
	Base, Theirs, Mine string
}

// MergeResult is the result of Merge.
type MergeResult struct {
	// Values are the merged values of the form's members. A member in conflict has the stored
	// value.
	Values Values
	// Mine and Theirs are the members that only one of the two people changed.
	Mine, Theirs []string
	// Conflicts are the members for which a person must choose a value.
	Conflicts []Conflict
}

// Merge combines the values that a person typed with the values that another person stored
// meanwhile. base has the values that the person saw, mine the values of the submitted form, and
// theirs the stored values.
//
// If only one of the two people changed a member, or if both typed the same value, Merge takes the
// changed value. All other differences are conflicts. No typed value is lost, and no stored value
// is overwritten unseen.
func Merge(base, mine, theirs Values) MergeResult {
	m := MergeResult{Values: Values{}}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		b, i, t := base[name], mine[name], theirs[name]
		switch {
		case i == t:
			m.Values[name] = t
		case i == b:
			m.Values[name] = t
			m.Theirs = append(m.Theirs, name)
		case t == b:
			m.Values[name] = i
			m.Mine = append(m.Mine, name)
		default:
			m.Values[name] = t
			m.Conflicts = append(m.Conflicts, Conflict{name, b, t, i})
		}
	}
	return m
}
