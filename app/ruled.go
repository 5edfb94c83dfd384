package app

import (
	"slices"

	"kartei/kit/fault"
)

// Ruled is a body with rules that no schema can say.
type Ruled interface {
	// Wrong returns what is wrong with the members that may be judged, as far as
	// that can be told without the data base. It changes nothing.
	Wrong(s *Services, sent Sent) []fault.Field
}

// Sent tells rules what they may judge. The zero value is a record as it will
// be, of which they may judge every member.
type Sent struct {
	// New says that something is made of the members: those that were not sent are
	// empty, and not as they were before.
	New bool
	// Unfit, if set, reports whether a member must not be judged: its value is of
	// the wrong form, or a patch does not have it.
	Unfit func(member string) bool
}

// Fit reports whether a rule that looks at these members may be applied.
func (s Sent) Fit(members ...string) bool {
	return s.Unfit == nil || !slices.ContainsFunc(members, s.Unfit)
}
