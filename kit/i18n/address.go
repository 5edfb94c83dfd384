package i18n

import (
	"cmp"
	"strings"
)

// Address is a postal address.
type Address struct{ Street, PostalCode, City, Region, Country string }

// home returns the country of the office (ISO 3166-1), where letters do not need the name of the
// country.
func (w Words) home() string { return cmp.Or(w.Home, "DE") }

// formats maps countries to the formats of their postal addresses. Bars separate the lines. S is
// the street, P the postal code, C the city, c the city in capitals, and R the region.
var formats = map[string]string{
	"DE": "S|P C", "AT": "S|P C", "CH": "S|P C", "LI": "S|P C", "LU": "S|P C", "BE": "S|P C", "DK": "S|P C", "NO": "S|P C",
	"SE": "S|P C", "FI": "S|P C", "PL": "S|P C", "CZ": "S|P C", "SK": "S|P C", "SI": "S|P C", "HR": "S|P C", "PT": "S|P C",
	"FR": "S|P c", "MC": "S|P c", "NL": "S|P  c", "IT": "S|P C R", "GB": "S|c|P", "IE": "S|C|R|P", "US": "S|C, R P",
	"CA": "S|c R  P",
	"AU": "S|c R P", "HU": "c|S|P", "BR": "S|C - R|P",
}

// generic is the format for countries that are not in formats.
const generic = "S|P C|R"

// Lines returns the lines of an address on a letter (DIN 5008), in the format of its country. The
// last line is the name of the country in capitals, unless it is the country of the office.
func (w Words) Lines(a Address) []string {
	format := cmp.Or(formats[cmp.Or(a.Country, w.home())], generic)
	var lines []string
	for line := range strings.SplitSeq(format, "|") {
		if text := a.fill(line); text != "" {
			lines = append(lines, text)
		}
	}
	if a.Country != "" && a.Country != w.home() && len(lines) > 0 {
		lines = append(lines, strings.ToUpper(w.Country(a.Country)))
	}
	return lines
}

// fill returns a line of a format with the fields of the address in place of their letters. A
// separator is left out if the field before or after is empty.
func (a Address) fill(line string) string {
	var b strings.Builder
	between := ""
	for _, place := range line {
		var text string
		switch place {
		case 'S':
			text = a.Street
		case 'P':
			text = a.PostalCode
		case 'C':
			text = a.City
		case 'c':
			text = strings.ToUpper(a.City)
		case 'R':
			text = a.Region
		default:
			between += string(place)
			continue
		}
		if text != "" && b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(text)
		between = ""
	}
	return b.String()
}
