package op

import (
	"slices"

	"kartei/kit/fault"
)

// Checker is a body with rules that a schema cannot express.
type Checker interface {
	// Wrong returns the faults of the members that may be judged, as far as
	// they can be found without the database. It changes nothing.
	Wrong(s *Services, sent RuleScope) []fault.Field
}

// RuleScope describes which members rules may judge. The zero value is a whole
// record, with every member.
type RuleScope struct {
	// New is true for a creation: a member that was not sent is empty.
	// Otherwise it keeps its value.
	New bool
	// Unfit, if set, reports whether a member must not be judged, because its
	// value has the wrong form or a patch does not have it.
	Unfit func(member string) bool
}

// Fit reports whether a rule about these members applies.
func (s RuleScope) Fit(members ...string) bool {
	return s.Unfit == nil || !slices.ContainsFunc(members, s.Unfit)
}
