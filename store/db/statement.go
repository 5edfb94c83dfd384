package db

import (
	"strconv"
	"strings"
)

// Statement is a statement with its arguments. One with optional conditions grows from a
// text: it has a condition only for a filter that is set. PostgreSQL makes one plan for
// all values, so a condition that may be void would prevent every index. What is added
// is written in the code, never in a request.
type Statement struct {
	Query string
	Args  []any
}

// Add adds text to the query. Each ? in it stands for a value, and becomes the $ of its argument.
func (s *Statement) Add(text string, values ...any) {
	for _, v := range values {
		before, after, _ := strings.Cut(text, "?")
		s.Args = append(s.Args, v)
		s.Query += before + "$" + strconv.Itoa(len(s.Args))
		text = after
	}
	s.Query += text
}

// And adds a condition to a query that ends with one.
func (s *Statement) And(condition string, values ...any) {
	s.Add(" and "+condition, values...)
}

// AndIf is And for a filter that may not be set.
func (s *Statement) AndIf(set bool, condition string, values ...any) {
	if set {
		s.And(condition, values...)
	}
}
