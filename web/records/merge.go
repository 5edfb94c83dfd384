package records

import (
	"maps"
	"slices"

	"kartei/web/shell"
)

// conflict is a member that two people changed to different values.
type conflict struct {
	Name string
	// Base is the value that both saw. Theirs is stored. Mine was typed.
	Base, Theirs, Mine string
}

// mergeResult is the result of merge.
type mergeResult struct {
	// Values are the record's values after the merge, for the members of the form. A
	// member in conflict has the stored value.
	Values shell.Values
	// Mine and Theirs are the members that only one side changed.
	Mine, Theirs []string
	// Conflicts need the decision of a person.
	Conflicts []conflict
}

// merge combines the values that a person typed with the values that somebody else
// stored meanwhile. base has the values that the person saw. mine has the values of the
// form when it was sent. theirs has the values of the record now.
//
// A member that one side changed is taken over. So is one that both changed to the
// same value. Every other difference is a conflict: no typed value is lost or
// written unseen.
func merge(base, mine, theirs shell.Values) mergeResult {
	m := mergeResult{Values: shell.Values{}}
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
			m.Conflicts = append(m.Conflicts, conflict{name, b, t, i})
		}
	}
	return m
}
