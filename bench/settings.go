package main

// settings are the flags that several measurements share.
type settings struct {
	records  int
	seconds  float64
	runs     int
	data     string
	program  string
	json     string
	profile  string
	only     string
	markdown bool
	postgres bool
	citus    bool
	limited  bool
	// organizations is the value of --organizations; 0 measures something else.
	organizations int
	// documents is the value of --documents; 0 measures something else.
	documents int
	// webhooks is the number of deliveries of --webhooks.
	webhooks int
	// imports is the number of contacts of an import, 0 for none.
	imports int
	// other is the program to compare with the one of this tree.
	other string
}
