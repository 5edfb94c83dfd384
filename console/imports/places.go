package imports

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"kartei/console/imports/source"
	"kartei/kit/country"
)

// countries are the codes of all countries by their names in German and English, and by
// other names that address books have, in folded form.
var countries = func() map[string]string {
	all := map[string]string{}
	for code, name := range country.Names {
		all[source.Fold(name.DE)], all[source.Fold(name.EN)] = code, code
	}
	for line := range strings.Lines(otherNames) {
		code, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		for name := range strings.SplitSeq(names, ",") {
			all[source.Fold(name)] = code
		}
	}
	return all
}()

// otherNames are former names, short forms, signs of cars and names in the languages of
// neighbours.
const otherNames = `DE D,BRD,GER,Bundesrepublik Deutschland,Federal Republic of Germany,Allemagne,Germania,Alemania,Duitsland,Niemcy,Německo,Tyskland,Deutschl.,Almanya
AT A,Republik Österreich,Autriche,Oostenrijk,Rakousko,Avusturya,Oesterr.
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

// inBrackets matches a code behind a name: Germany (DE).
var inBrackets = regexp.MustCompile(`^(.*?)\s*[(\[/,–-]\s*([A-Za-z]{2})\s*[)\]]?$`)

// countryOf returns the code of a country.
func countryOf(text string) (code string, known bool) {
	text = strings.TrimSpace(text)
	name := source.Fold(text)
	for _, form := range []string{name, strings.TrimPrefix(name, "the"), strings.TrimPrefix(name, "republik"), strings.TrimPrefix(name, "republicof"), strings.TrimPrefix(name, "la")} {
		if code = countries[form]; code != "" {
			return code, true
		}
	}
	if upper := strings.ToUpper(text); country.Names[upper].EN != "" {
		return upper, true
	}
	if utf8.RuneCountInString(text) == 3 { // DEU
		if r, err := language.ParseRegion(strings.ToUpper(text)); err == nil && country.Names[r.String()].EN != "" {
			return r.String(), true
		}
	}
	if m := inBrackets.FindStringSubmatch(text); m != nil {
		if upper := strings.ToUpper(m[2]); country.Names[upper].EN != "" && m[1] != "" {
			return upper, true
		}
	}
	return "", false
}

// address is an address on its way into a record.
type address struct {
	street, number, postalCode, city, region, country string
	more                                              []string
}

func (a *address) empty() bool {
	return a.street+a.number+a.postalCode+a.city+a.region+a.country == "" && len(a.more) == 0
}

// lineText makes one line of the lines of a text.
func lineText(text string) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' }) {
		if part = strings.TrimSuffix(strings.TrimSpace(part), ","); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// streetLine returns the street with its number and what belongs to it.
func (a *address) streetLine() string {
	street := lineText(a.street)
	if a.number != "" && !strings.HasSuffix(street, " "+a.number) {
		street = strings.TrimSpace(street + " " + a.number)
	}
	parts := []string{}
	if street != "" {
		parts = append(parts, street)
	}
	for _, m := range a.more {
		if m = lineText(m); m != "" && !strings.Contains(street, m) {
			parts = append(parts, m)
		}
	}
	return strings.Join(parts, ", ")
}

// line returns the whole address in one line, for the note.
func (a *address) line() string {
	place := strings.TrimSpace(a.postalCode + " " + a.city)
	var parts []string
	for _, part := range []string{a.streetLine(), place, a.region, a.country} {
		if part != "" {
			parts = append(parts, lineText(part))
		}
	}
	return strings.Join(parts, ", ")
}

// placed matches a postal code before a place.
var placed = regexp.MustCompile(`^((?:[A-Z]{1,3}[ -])?\d{4,5}|\d{3} \d{2}|\d{2}-\d{3}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\s+(\S.*)$`)

// place sets postal code and city of what stands in one column.
func (a *address) place(text string) {
	text = lineText(text)
	if m := placed.FindStringSubmatch(text); m != nil {
		a.postalCode, a.city = m[1], m[2]
		return
	}
	if strings.Trim(text, "0123456789 -") == "" {
		a.postalCode = text
		return
	}
	a.city = text
}

// whole sets what an address in one column says. Without a postal code it is a street.
func (a *address) whole(text string) {
	if i := strings.LastIndexByte(text, '\n'); i > 0 { // the last line may be a country alone
		if _, known := countryOf(text[i+1:]); known {
			text, a.country = text[:i], strings.TrimSpace(text[i+1:])
		}
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' || r == ';' })
	for i, part := range parts {
		m := placed.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil || i == 0 {
			continue
		}
		a.street = strings.TrimSpace(strings.Join(parts[:i], ","))
		if strings.ContainsRune(text, '\n') {
			a.street = lineText(strings.Join(parts[:i], "\n"))
		}
		a.postalCode, a.city = m[1], m[2]
		if rest := lineText(strings.Join(parts[i+1:], "\n")); rest != "" {
			a.country = rest
		}
		return
	}
	a.street = text
}
