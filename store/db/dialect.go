package db

import "encoding/json"

// Dialect holds the words in which SQLite and PostgreSQL differ. Everything
// else is written once.
type Dialect struct {
	// Name is sqlite or postgres.
	Name string
	// TextList turns a parameter that holds a JSON array of strings into rows
	// of one column named value, in their order: sprintf it with the placeholder,
	// as in `select value from ` + fmt.Sprintf(d.TextList, "$2"). A condition is In.
	TextList string
	// In is the condition that a column has one of the texts of a parameter that
	// holds a JSON array of strings: `where id ` + d.In("$2"). PostgreSQL reads
	// along an index that ends in the column whatever it believes to know of the
	// table, which it does not with rows of TextList: of a table that empties and
	// fills it would read all to compare.
	In func(placeholder string) string
	// Rows turns a parameter that holds a JSON array of arrays into rows of one
	// column named value, of which `value ->> 0` is the first text or number, as
	// text: sprintf it with the placeholder.
	Rows string
	// Arm writes a select as one arm of a `union all` that as a whole is put in
	// the given order and limited. PostgreSQL reads a whole arm and sorts it
	// unless the arm itself is ordered and limited; SQLite merges arms along
	// their indexes, and would sort one that is limited.
	Arm func(query, order, limit string) string
	// Along names the index that a table in a from clause is read by. SQLite,
	// which keeps no figures of how often a value occurs, would guess; where
	// the index cannot serve the statement, it fails. PostgreSQL knows.
	Along func(index string) string
	// Share ends a query whose rows must not change until the transaction ends.
	// It is empty on SQLite, where writers do not overlap.
	Share string
}

// Texts packs texts into one parameter or column, for TextList and In: [] where
// there are none.
func Texts(texts []string) string {
	if len(texts) == 0 {
		return "[]" // PostgreSQL takes no null for a list
	}
	b, _ := json.Marshal(texts) // texts always encode
	return string(b)
}

// Dialects are those of both engines, for statements that are made once.
func Dialects() []*Dialect { return []*Dialect{sqliteDialect, postgresDialect} }

var sqliteDialect = &Dialect{
	Name:     "sqlite",
	TextList: "json_each(%s)",
	In:       func(placeholder string) string { return "in (select value from json_each(" + placeholder + "))" },
	Rows:     "json_each(%s)",
	Arm:      func(query, _, _ string) string { return query },
	Along:    func(index string) string { return " indexed by " + index },
}

var postgresDialect = &Dialect{
	Name:     "postgres",
	TextList: "json_array_elements_text(cast(%s as text)::json)",
	In: func(placeholder string) string {
		return "= any (array(select value from json_array_elements_text(cast(" + placeholder + " as text)::json)))"
	},
	Rows: "jsonb_array_elements(cast(%s as text)::jsonb)",
	Arm: func(query, order, limit string) string {
		return "(" + query + " order by " + order + " limit " + limit + ")"
	},
	Along: func(string) string { return "" },
	Share: " for share",
}
