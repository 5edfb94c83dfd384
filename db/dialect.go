package db

// Dialect holds the words in which SQLite and PostgreSQL differ. Everything
// else is written once.
type Dialect struct {
	// Name is sqlite or postgres.
	Name string
	// TextList turns a parameter that holds a JSON array of strings into rows
	// of one column named value: sprintf it with the placeholder, as in
	// `select ... where id in (select value from ` + fmt.Sprintf(d.TextList, "$2") + `)`.
	TextList string
}

var sqliteDialect = &Dialect{
	Name:     "sqlite",
	TextList: "json_each(%s)",
}

var postgresDialect = &Dialect{
	Name:     "postgres",
	TextList: "json_array_elements_text(cast(%s as text)::json)",
}
