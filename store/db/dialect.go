package db

import "encoding/json"

// Dialect holds the SQL fragments in which SQLite and PostgreSQL differ. All
// other SQL is shared.
type Dialect struct {
	// Name is sqlite or postgres.
	Name string
	// TextList is a format of a table expression with a placeholder: `select value from ` +
	// fmt.Sprintf(d.TextList, "$2"). The parameter is a JSON array of strings. The rows have one
	// column named value, in the order of the array. Conditions use In instead.
	TextList string
	// In returns a condition on the column before it: `where id ` + d.In("$2"). The column must
	// equal one of the strings in the parameter, which is a JSON array.
	//
	// With In, PostgreSQL always uses an index that ends in the column. With TextList, wrong
	// statistics can make it read the whole table, if the table often fills and empties.
	In func(placeholder string) string
	// InNumbers is In for a column of numbers. The parameter comes from the function Numbers.
	InNumbers func(placeholder string) string
	// Rows is a format of a table expression with a placeholder. The parameter is a JSON array of
	// arrays. The rows have one column named value, and `value ->> 0` is the first element as text.
	Rows string
	// Arm returns a select as one arm of a `union all` with a sorted and limited result. PostgreSQL
	// reads and sorts a whole arm unless the arm itself is sorted and limited. SQLite reads the
	// arms in the order of their indexes, but would sort an arm with a limit.
	Arm func(query, order, limit string) string
	// Along returns a hint, in a from clause, which index of the table to use. SQLite has no
	// statistics of values and would guess. A statement that cannot use the index fails on SQLite.
	// On PostgreSQL the hint is empty.
	Along func(index string) string
	// Share ends a query if its rows must not change until the transaction ends. It is empty on
	// SQLite, which has only one writer at a time.
	Share string
	// OneWriter says that a writing transaction blocks all other writing transactions.
	OneWriter bool
}

// Texts encodes texts as one parameter or column, for TextList and In. No texts are [].
func Texts(texts []string) string {
	if len(texts) == 0 {
		return "[]" // PostgreSQL rejects null in place of an array
	}
	b, _ := json.Marshal(texts) // strings always encode
	return string(b)
}

// JSON encodes a value for a column. The value consists of strings, lists and maps, so that
// encoding cannot fail. JSON panics otherwise.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("db: " + err.Error())
	}
	return string(b)
}

// Numbers encodes numbers as one parameter for InNumbers.
func Numbers(numbers []int64) string {
	b, _ := json.Marshal(append([]int64{}, numbers...)) // numbers always encode
	return string(b)
}

// Tuples encodes rows of texts and numbers as one parameter for Rows.
func Tuples(rows [][]any) string {
	b, _ := json.Marshal(append([][]any{}, rows...)) // texts and numbers always encode
	return string(b)
}

// Dialects returns the dialects of both engines. Packages build statements for both in advance.
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
