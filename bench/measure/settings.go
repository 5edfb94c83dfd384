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
	// Organizations is the value of --organizations. Zero means that organizations are not
	// measured.
	Organizations int
	// Documents is the value of --documents. Zero means that documents are not measured.
	Documents int
	// Webhooks is the number of deliveries of --webhooks. Zero means that webhooks are not
	// measured.
	Webhooks int
	// Imports is the number of contacts of an import. Zero means that imports are not measured.
	Imports int
	// Additional is the number of additional emails, and of additional telephone numbers, of a
	// contact. Zero means that these members are not measured.
	Additional int
	// Other is the path of the program with which the program of this tree is compared.
	Other string
}
