package db

import "encoding/json"

// Dialect holds the SQL fragments in which SQLite and PostgreSQL differ. All
// other SQL is shared.
type Dialect struct {
	// Name is sqlite or postgres.
	Name string
	// TextList turns a parameter, a JSON array of strings, into rows of one
	// column named value, in the same order. Format it with the placeholder, as
	// in `select value from ` + fmt.Sprintf(d.TextList, "$2"). For a condition
	// use In.
	TextList string
	// In is the condition that a column equals one of the strings in a
	// parameter, a JSON array: `where id ` + d.In("$2"). With it PostgreSQL
	// always uses an index that ends in the column. With rows of TextList its
	// statistics may mislead it, and it reads all of a table that fills and
	// empties.
	In func(placeholder string) string
	// InNumbers is In for a column of numbers and a parameter of Numbers.
	InNumbers func(placeholder string) string
	// Rows turns a parameter, a JSON array of arrays, into rows of one column
	// named value. `value ->> 0` is the first element as text. Format it with
	// the placeholder.
	Rows string
	// Arm writes a select as one arm of a `union all` whose result is sorted
	// and limited. PostgreSQL reads and sorts a whole arm unless the arm itself
	// is sorted and limited. SQLite merges arms along their indexes, and would
	// sort a limited one.
	Arm func(query, order, limit string) string
	// Along names the index of a table in a from clause. SQLite keeps no
	// statistics of values and would guess. If the index does not fit the
	// statement, it fails. PostgreSQL needs no hint.
	Along func(index string) string
	// Share ends a query whose rows must not change until the transaction ends.
	// It is empty on SQLite, which has only one writer at a time.
	Share string
	// OneWriter says that a transaction that writes holds up all others that write.
	OneWriter bool
}

// Texts encodes texts as one parameter or column, for TextList and In: [] if
// there are none.
func Texts(texts []string) string {
	if len(texts) == 0 {
		return "[]" // PostgreSQL rejects null in place of an array
	}
	b, _ := json.Marshal(texts) // strings always encode
	return string(b)
}

// JSON encodes a value that always encodes, as a column: strings, lists and maps of them.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("db: " + err.Error())
	}
	return string(b)
}

// Numbers encodes numbers as one parameter, for InNumbers.
func Numbers(numbers []int64) string {
	b, _ := json.Marshal(append([]int64{}, numbers...)) // numbers always encode
	return string(b)
}

// Tuples encodes rows of texts and numbers as one parameter, for Rows.
func Tuples(rows [][]any) string {
	b, _ := json.Marshal(append([][]any{}, rows...)) // texts and numbers always encode
	return string(b)
}

// Dialects returns the dialects of both engines, for statements that are built in
// advance.
func Dialects() []*Dialect { return []*Dialect{SQLite, PostgreSQL} }

// SQLite is the dialect of package sqlite.
var SQLite = &Dialect{
	Name:      "sqlite",
	TextList:  "json_each(%s)",
	In:        func(placeholder string) string { return "in (select value from json_each(" + placeholder + "))" },
	InNumbers: func(placeholder string) string { return "in (select value from json_each(" + placeholder + "))" },
	Rows:      "json_each(%s)",
	Arm:       func(query, _, _ string) string { return query },
	Along:     func(index string) string { return " indexed by " + index },

	OneWriter: true,
}

// PostgreSQL is the dialect of package postgres.
var PostgreSQL = &Dialect{
	Name:     "postgres",
	TextList: "json_array_elements_text(cast(%s as text)::json)",
	In: func(placeholder string) string {
		return "= any (array(select value from json_array_elements_text(cast(" + placeholder + " as text)::json)))"
	},
	InNumbers: func(placeholder string) string {
		return "= any (array(select cast(value as bigint) from json_array_elements_text(cast(" + placeholder +
			" as text)::json)))"
	},
	Rows: "jsonb_array_elements(cast(%s as text)::jsonb)",
	Arm: func(query, order, limit string) string {
		return "(" + query + " order by " + order + " limit " + limit + ")"
	},
	Along: func(string) string { return "" },
	Share: " for share",
}
