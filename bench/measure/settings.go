package measure

// Settings are the flags that several measurements share.
type Settings struct {
	Records  int
	Seconds  float64
	Runs     int
	Data     string
	Program  string
	JSON     string
	Profile  string
	Only     string
	Markdown bool
	Postgres bool
	Citus    bool
	Limited  bool
	// Organizations is the value of --organizations; 0 measures something else.
	Organizations int
	// Documents is the value of --documents; 0 measures something else.
	Documents int
	// Webhooks is the number of deliveries of --webhooks.
	Webhooks int
	// Imports is the number of contacts of an import, 0 for none.
	Imports int
	// Other is the program to compare with the one of this tree.
	Other string
}
