package imports

import (
	"context"
	"fmt"

	"kartei/api/op"
	"kartei/kit/fault"
)

// What is told of entries whose contacts are there already, or may be.

// commonWords say what an entry and its contact have in common, by the kind of key.
var commonWords = map[byte]fault.Text{
	'i': {DE: "Kennung in Kartei", EN: "id in Kartei"},
	'x': {DE: "externe Kennung", EN: "external ID"},
	'e': {DE: "E-Mail-Adresse", EN: "email address"},
	'n': {DE: "Telefonnummer", EN: "telephone number"},
	'f': {DE: "Name der Firma", EN: "name of the company"},
}

// toldThere says which record an entry is already, and by what that is known.
func (x *candidate) toldThere(target string) problem {
	is := fault.Text{DE: "Diesen Kontakt gibt es schon.", EN: "This contact is there already."}
	if x.firm {
		is = fault.Text{DE: "Diese Firma gibt es schon.", EN: "This company is there already."}
	}
	if by, known := commonWords[x.by]; known {
		is.DE += " Erkannt an: " + by.DE + "."
		is.EN += " Recognized by: " + by.EN + "."
	}
	return problem{Code: fault.Duplicate, DE: is.DE, EN: is.EN, Record: target}
}

// toldSame says which entry was about the same record.
func (s *sighting) toldSame() problem {
	de, en := "Derselbe Kontakt", "The same contact"
	if s.firmKey != "" {
		de, en = "Dieselbe Firma", "The same company"
	}
	de, en = fmt.Sprintf("%s wie in Zeile %d der Datei", de,
		s.line), fmt.Sprintf("%s as on line %d of the file", en, s.line)
	if s.file != "" {
		de, en = fmt.Sprintf("%s „%s“", de, s.file), fmt.Sprintf("%s “%s”", en, s.file)
	}
	return problem{Code: fault.Duplicate, DE: de + ".", EN: en + "."}
}

var aNamesake = fault.Text{
	DE: "Einen Kontakt dieses Namens gibt es schon, mit anderen oder ohne gemeinsame Angaben. Es ist ein weiterer.",
	EN: "A contact of this name is there already, with other values or none in common. This is another one.",
}

// toldNamesake is the hint that a new contact has the name of another one.
func (x *candidate) toldNamesake(outcome Outcome) []problem {
	if outcome != Created || x.namesake == "" {
		return nil
	}
	return []problem{{Code: fault.Duplicate, DE: aNamesake.DE, EN: aNamesake.EN, Record: x.namesake}}
}

// namesakes finds contacts that have the names of new ones. Of an entry without a first or a
// last name nothing is found: half a name is no hint.
func namesakes(ctx context.Context, c *op.Call, list []*candidate) error {
	of := map[string][]*candidate{}
	var keys []string
	for _, x := range list {
		if x.match == nil && x.identity.first != "" && x.identity.last != "" {
			key := x.identity.last + "\t" + x.identity.first
			of[key], keys = append(of[key], x), append(keys, key)
		}
	}
	return firstNamed(ctx, c, "contacts", visibleTo(c), keys, func(key, id string) {
		for _, x := range of[key] {
			x.namesake = id
		}
	})
}
