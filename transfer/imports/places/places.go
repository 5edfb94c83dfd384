// Package places owns how a postal address and its country are read.
package places

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/language"

	"kartei/kit/i18n"
	"kartei/transfer/imports/source"
)

// countries maps folded names of countries to ISO codes. It has the German and English names, and
// otherNames.
var countries = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for code, name := range i18n.CountryNames {
		for _, l := range i18n.Languages {
			all[source.Fold(name.In(l))] = code
		}
	}
	for line := range strings.Lines(otherNames) {
		code, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		for name := range strings.SplitSeq(names, ",") {
			all[source.Fold(name)] = code
		}
	}
	return all
})

// otherNames are former names, abbreviations, codes of number plates and names in neighbouring
// languages.
const otherNames = `DE D,BRD,GER,Bundesrepublik Deutschland,Federal Republic of Germany,Allemagne,Germania,Alemania,Duitsland,Niemcy,Německo,Tyskland,Deutschl.,Almanya
AT A,Ö,Oe,Österr.,Republik Österreich,Autriche,Oostenrijk,Rakousko,Avusturya,Oesterr.
CH Suisse,Svizzera,Suiza,Zwitserland,Schweizerische Eidgenossenschaft,Confoederatio Helvetica,Szwajcaria,İsviçre
LI FL,Fürstentum Liechtenstein
LU L,Großherzogtum Luxemburg
NL Holland,Netherlands,The Netherlands,Nederland,Pays-Bas,Paesi Bassi,Königreich der Niederlande
BE B,België,Belgique,Belgio,Königreich Belgien
FR F,Francia,Frankrijk,Französische Republik
IT I,Italia,Italie,Włochy
ES E,España,Espagne,Spagna,Hiszpania
PT P
PL Polska,Pologne,Republik Polen
CZ Tschechien,Tschechei,Tschechische Republik,Czech Republic,Česko,Česká republika,CSR
SK Slowakische Republik,Slovak Republic,Slovensko
HU H,Magyarország
DK Danmark,Königreich Dänemark
SE S,Sverige
NO N,Norge
FI Suomi
IE Republik Irland,Republic of Ireland,Eire,Irland (Republik)
GR Hellas,Ellada,Griechische Republik
HR Hrvatska
SI SLO,Slovenija
RS Srbija
BA Bosnien,Bosnien und Herzegowina,Bosnien-Herzegowina,Bosnia and Herzegovina,Bosnia,BIH
MK Mazedonien,Macedonia,Nordmazedonien,North Macedonia,FYROM,Ehemalige jugoslawische Republik Mazedonien
TR Türkiye,Turkiye,Turquie
GB Großbritannien,England,Schottland,Wales,Nordirland,UK,U.K.,Great Britain,Scotland,Northern Ireland,Vereinigtes Königreich,United Kingdom,Royaume-Uni,Britain
RU Russland,Russische Föderation,Russian Federation,Russia
BY Weißrussland,Belarus,Belarussland,White Russia,Byelorussia
UA Ukraine,Ucraina
MD Moldawien,Moldau,Moldova,Republik Moldau
US USA,U.S.A.,U.S.,Vereinigte Staaten,Vereinigte Staaten von Amerika,United States of America,Amerika,Etats-Unis,Stati Uniti
CA Kanada
AE UAE,VAE,Emirate,Vereinigte Arabische Emirate
CN VR China,Volksrepublik China,People's Republic of China,PR China,PRC,Chine
HK Hongkong,Hong Kong
TW Taiwan,Republik China
KR Südkorea,Republik Korea,Republic of Korea,South Korea,Korea
KP Nordkorea,North Korea
VN Viet Nam
LA Laos
MM Birma,Burma
IR Iran,Persien
SY Syrien,Syria
CI Elfenbeinküste,Ivory Coast,Côte d'Ivoire
CD Kongo,Demokratische Republik Kongo,DR Kongo,Zaire
CG Republik Kongo
CV Kapverden,Kap Verde,Cape Verde
SZ Swasiland,Swaziland
TL Osttimor,East Timor
VA Vatikan,Vatikanstadt,Vatican,Holy See
PS Palästina,Palestine
GE Georgien
ZA Südafrika
NZ Neuseeland
BN Brunei
FM Mikronesien
LK Sri Lanka,Ceylon
TZ Tansania
`

// separated matches a country with another text next to it: Germany (DE), Deutschland/Bayern.
var separated = regexp.MustCompile(`^(.*?)\s*[(\[/,;–-]\s*([^()\[\]/,;]+?)\s*[)\]]?$`)

// stateForm matches words within the name of a state: Korea, Republic of.
var stateForm = regexp.MustCompile(`(?i)republi|state|kingdom|staat|königreich|federa|islami|demokrat|democrat|\bof\b|ehemalig|former|province|sar\b`)

// countryOf returns the ISO code of a country. known is false if the text is not a country.
func countryOf(text string) (code string, known bool) {
	text = strings.TrimSpace(text)
	name := source.Fold(text)
	for _, form := range []string{
		name, strings.TrimPrefix(name, "the"), strings.TrimPrefix(name, "republik"),
		strings.TrimPrefix(name, "republicof"), strings.TrimPrefix(name, "la"),
	} {
		if code = countries()[form]; code != "" {
			return code, true
		}
	}
	if upper := strings.ToUpper(text); i18n.CountryNames[upper] != "" {
		return upper, true
	}
	if utf8.RuneCountInString(text) == 3 { // DEU
		if r, err := language.ParseRegion(strings.ToUpper(text)); err == nil && i18n.CountryNames[r.String()] != "" {
			return r.String(), true
		}
	}
	return "", false
}

// Country returns the code of a country (ISO 3166-1), and a region next to it: Deutschland/Bayern.
func Country(text string) (code, region string, known bool) {
	if code, known = countryOf(text); known {
		return code, "", true
	}
	m := separated.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] == "" || stateForm.MatchString(text) {
		return "", "", false
	}
	first, firstKnown := countryOf(m[1])
	second, secondKnown := countryOf(m[2])
	switch {
	case firstKnown && secondKnown && first == second: // Frankreich (F)
		return first, "", true
	case firstKnown && secondKnown && len(m[2]) != 2:
		return "", "", false
	case firstKnown && secondKnown: // Georgia, US
		return second, m[1], true
	case firstKnown:
		return first, m[2], true
	case secondKnown:
		return second, m[1], true
	}
	return "", "", false
}

// isCountry reports whether a text is only a country.
func isCountry(text string) bool {
	_, known := countryOf(text)
	return known
}

// coded matches a postal code with a country code: A-1010.
var coded = regexp.MustCompile(`^(D|DE|A|AT|CH|L|LU|FL|LI|B|BE|F|FR|I|IT|NL|DK|CZ|PL|E|ES|H|HU)[- ]?(\d[\d -]{3,6}(?: ?[A-Z]{2})?)$`)

// Address is an address with its parts as texts of a file. More are additional lines.
type Address struct {
	Street, Number, PostalCode, City, Region, Country string
	More                                              []string
}

// IsEmpty reports whether all parts of an address are empty.
func (a *Address) IsEmpty() bool {
	return a.Street+a.Number+a.PostalCode+a.City+a.Region+a.Country == "" && len(a.More) == 0
}

// StreetLine returns the street, the number and the additional lines in one line.
func (a *Address) StreetLine() string {
	street := source.JoinLines(a.Street)
	if a.Number != "" && !strings.HasSuffix(street, " "+a.Number) {
		street = strings.TrimSpace(street + " " + a.Number)
	}
	parts := []string{}
	if street != "" {
		parts = append(parts, street)
	}
	for _, m := range a.More {
		if m = source.JoinLines(m); m != "" && !strings.Contains(street, m) {
			parts = append(parts, m)
		}
	}
	return strings.Join(parts, ", ")
}

// Line returns the whole address in one line, for the note.
func (a *Address) Line() string {
	place := strings.TrimSpace(a.PostalCode + " " + a.City)
	var parts []string
	for _, part := range []string{a.StreetLine(), place, a.Region, a.Country} {
		if part != "" {
			parts = append(parts, source.JoinLines(part))
		}
	}
	return strings.Join(parts, ", ")
}

// placed matches a postal code before a city.
var placed = regexp.MustCompile(`^((?:[A-Z]{1,3}[ -]?)?\d{4,5}|\d{3} \d{2}|\d{2}-\d{3}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\s+(\S.*)$`)

// SetPlace sets the postal code and the city from one text.
func (a *Address) SetPlace(text string) {
	text = source.JoinLines(text)
	if m := placed.FindStringSubmatch(text); m != nil {
		a.PostalCode, a.City = m[1], m[2]
		return
	}
	if strings.Trim(text, "0123456789 -") == "" {
		a.PostalCode = text
		return
	}
	a.City = text
}

// placedBehind matches a postal code and a city directly after a street.
var placedBehind = regexp.MustCompile(`^(.*\pL.*?)[ ,;]+((?:[A-Z]{1,3}-)?\d{5}|(?:A|CH|L|FL|B|DK)-\d{4})\s+(\pL[^\d]*)$`)

// SetWhole sets the parts from an address in one text. Without a postal code, the text becomes the
// street.
func (a *Address) SetWhole(text string) {
	if i := strings.LastIndexByte(text, '\n'); i > 0 { // the last line may be only a country
		if isCountry(text[i+1:]) {
			text, a.Country = text[:i], strings.TrimSpace(text[i+1:])
		}
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' || r == ';' })
	for i := 0; i < len(parts); i++ {
		if parts[i] = strings.TrimSpace(parts[i]); parts[i] == "" {
			parts = slices.Delete(parts, i, i+1)
			i--
		}
	}
	for i, part := range parts {
		behind := parts[i+1:]
		if m := placedBehind.FindStringSubmatch(part); m != nil && !isCountry(m[3]) { // Hauptstr. 5 50667 Köln
			a.set(append(slices.Clone(parts[:i]), m[1]), m[2], m[3], behind)
			return
		}
		m := placed.FindStringSubmatch(part)
		switch {
		case m == nil:
		case i > 0:
			a.set(parts[:i], m[1], m[2], behind)
			return
		default: // 50667 Köln, Hauptstr. 5
			if n := len(behind); n > 0 && a.Country == "" && isCountry(behind[n-1]) {
				a.Country, behind = behind[n-1], behind[:n-1]
			}
			a.set(behind, m[1], m[2], nil)
			return
		}
	}
	a.Street = source.JoinLines(text)
}

// set sets the parts of an address. The text after the city is the country.
func (a *Address) set(street []string, postalCode, city string, behind []string) {
	a.Street, a.PostalCode, a.City = strings.Join(street, ", "), postalCode, city
	if rest := strings.Join(behind, ", "); rest != "" && a.Country == "" {
		a.Country = rest
	} else if rest != "" {
		a.More = append(a.More, rest)
	}
}

// Tidy moves a country code from the postal code to the country. It also moves a postal code and a
// city out of the street, if they do not contradict the other parts.
func (a *Address) Tidy() {
	if m := placedBehind.FindStringSubmatch(source.JoinLines(a.Street)); m != nil && !isCountry(m[3]) &&
		(a.PostalCode == "" || a.PostalCode == m[2]) && (a.City == "" || a.City == m[3]) {
		a.Street, a.PostalCode, a.City = strings.TrimRight(m[1], " ,"), m[2], m[3]
	}
	m := coded.FindStringSubmatch(a.PostalCode)
	if m == nil {
		return
	}
	code, _ := countryOf(m[1])
	if is, known := countryOf(a.Country); a.Country == "" || known && is == code {
		a.PostalCode, a.Country = m[2], code
	}
}

// RestoreZero adds the zero that a spreadsheet removed from a German postal code: 1067 Dresden. It
// reports whether it did.
func (a *Address) RestoreZero() bool {
	if len(a.PostalCode) != 4 || strings.Trim(a.PostalCode, "0123456789") != "" || a.PostalCode[0] == '0' {
		return false
	}
	code, _ := countryOf(a.Country)
	if code != "DE" && !(a.Country == "" &&
		slices.Contains(strings.Fields(zeroPlaces[a.PostalCode[:1]]), firstWord(a.City))) {
		return false
	}
	a.PostalCode = "0" + a.PostalCode
	return true
}

// firstWord returns the first word of a name in folded form.
func firstWord(name string) string {
	word, _, _ := strings.Cut(strings.ReplaceAll(name, "/", " "), " ")
	return source.Fold(word)
}

// zeroPlaces maps the second digit of a postal code to German towns whose postal codes begin with
// zero and that digit. The towns are in folded form.
var zeroPlaces = map[string]string{
	"1": "dresden radebeul meissen pirna freital riesa grossenhain kamenz senftenberg heidenau coswig radeberg hoyerswerda lauchhammer",
	"2": "goerlitz bautzen zittau hoyerswerda loebau weisswasser niesky bischofswerda ebersbach neugersdorf",
	"3": "cottbus forst guben spremberg finsterwalde calau luebbenau vetschau peitz herzberg",
	"4": "leipzig markkleeberg schkeuditz borna grimma wurzen delitzsch eilenburg torgau doebeln oschatz altenburg markranstaedt taucha falkenberg elsterwerda",
	"6": "halle merseburg naumburg weissenfels zeitz eisleben lutherstadt sangerhausen bitterfeld wolfen koethen bernburg dessau wittenberg aschersleben quedlinburg querfurt leuna",
	"7": "gera jena zeulenroda greiz saalfeld rudolstadt poessneck eisenberg stadtroda weida hermsdorf schleiz",
	"8": "zwickau plauen aue schwarzenberg glauchau meerane werdau crimmitschau reichenbach auerbach oelsnitz kirchberg schneeberg klingenthal",
	"9": "chemnitz freiberg mittweida limbach annaberg marienberg stollberg zschopau floeha frankenberg burgstaedt olbernhau hohenstein",
}
