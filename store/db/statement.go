package db

import (
	"strconv"
	"strings"
)

// Statement is a statement with its arguments. Code can add conditions for the filters that are
// set. PostgreSQL makes one plan for all values. So an optional condition in the text would prevent
// the use of every index. The added text comes from the code, not from a request.
type Statement struct {
	Query string
	Args  []any
}

// Add adds text to the query, and values to the arguments. It replaces each ? in the text by the
// placeholder of the next value.
func (s *Statement) Add(text string, values ...any) {
	for _, v := range values {
		before, after, _ := strings.Cut(text, "?")
		s.Args = append(s.Args, v)
		s.Query += before + "$" + strconv.Itoa(len(s.Args))
		text = after
	}
	s.Query += text
}

// And adds a condition with "and" to a query that ends with a condition.
func (s *Statement) And(condition string, values ...any) {
	s.Add(" and "+condition, values...)
}

// AndIf adds a condition as And does, if set is true.
func (s *Statement) AndIf(set bool, condition string, values ...any) {
	if set {
		s.And(condition, values...)
	}
}
