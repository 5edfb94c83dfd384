package db_test

import (
	"slices"
	"testing"

	"kartei/store/db"
)

func TestStatementGrows(t *testing.T) {
	given := []any{1}
	s := db.Statement{Query: "select id from t where org = $1", Args: given[:1:1]}
	s.And("refused = true")
	s.And("at between ? and ?", 2, 3)
	s.AndIf(false, "id = ?", "unset")
	s.AndIf(true, "(id = ? or part = ?)", "a", "b")
	s.Add(" limit ?", 4)
	const want = "select id from t where org = $1 and refused = true and at between $2 and $3 and (id = $4 or part = $5) limit $6"
	if s.Query != want || !slices.Equal(s.Args, []any{1, 2, 3, "a", "b", 4}) {
		t.Errorf("%s %v, want %s", s.Query, s.Args, want)
	}
}

// TestStatementKeepsValuesApart checks that a value with SQL or placeholders in it stays an
// argument.
func TestStatementKeepsValuesApart(t *testing.T) {
	var s db.Statement
	s.Add("select 1 where a = ?", "x' or ? = $1")
	s.And("b = ?", "y")
	if want := "select 1 where a = $1 and b = $2"; s.Query != want {
		t.Errorf("%s, want %s", s.Query, want)
	}
}
