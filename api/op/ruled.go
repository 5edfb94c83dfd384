package op

import (
	"slices"

	"kartei/kit/fault"
)

// Checker is a body with rules that a schema cannot express.
type Checker interface {
	// Wrong returns the faults of the members that sent allows to judge. It finds only faults that
	// do not need the database. It does not change the body.
	Wrong(s *Services, sent RuleScope) []fault.Field
}

// RuleScope says which members of a body rules may judge. The zero value is for a whole record, of
// which every member may be judged.
type RuleScope struct {
	// New is true for a creation, where a missing member is empty. Otherwise a missing member keeps
	// its value.
	New bool
	// Unfit, if set, reports whether a member must not be judged. Its value is invalid, or the
	// patch does not have the member.
	Unfit func(member string) bool
}

// Fit reports whether a rule about these members may be checked.
func (s RuleScope) Fit(members ...string) bool {
	return s.Unfit == nil || !slices.ContainsFunc(members, s.Unfit)
}
