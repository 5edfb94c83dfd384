// Package country owns the names of all countries in German and English.
package country

import (
	_ "embed"
	"strings"

	"kartei/kit/fault"
)

// names has a line for each country of ISO 3166-1: its code, and its names in German
// and English as the Unicode CLDR 32 has them (Unicode License v3), but for Eswatini
// and North Macedonia, which have been renamed since.
//
//go:embed countries.txt
var names string

// Names are the names by code (ISO 3166-1 alpha-2). Nobody changes them.
var Names = func() map[string]fault.Text {
	all := map[string]fault.Text{}
	for line := range strings.Lines(names) {
		code, both, _ := strings.Cut(strings.TrimSpace(line), " ")
		de, en, _ := strings.Cut(both, "|")
		all[code] = fault.Text{DE: de, EN: en}
	}
	return all
}()
