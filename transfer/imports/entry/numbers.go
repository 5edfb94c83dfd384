package entry

import (
	"regexp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/phone"
	"kartei/transfer/imports/places"
	"kartei/transfer/imports/source"
)

// This file repairs values that spreadsheets changed, and detects values that are no telephone
// numbers.

// formulas matches a formula with which a spreadsheet keeps a number as text: ="01067".
var formulas = regexp.MustCompile(`^=\s*"(.*)"$`)

// unwrap removes the characters that prevent a spreadsheet from reading a text as a number.
func unwrap(text string) string {
	if m := formulas.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(strings.ReplaceAll(m[1], `""`, `"`))
	}
	if len(text) > 1 && text[0] == '\'' && strings.ContainsRune("+0123456789(", rune(text[1])) {
		return text[1:]
	}
	return text
}

var (
	// lostDigits matches a number whose last digits a spreadsheet has removed: 1,71235E+11.
	lostDigits = regexp.MustCompile(`^[+-]?\d([.,]\d+)?[eE]\+?\d{1,3}$`)
	// noPhone matches texts such as "kein Telefon".
	noPhone = regexp.MustCompile(`(?i)^(kein|keine|keinen|ohne|no|nicht|hat kein|hat keine|liegt nicht|entfällt)\b`)
	// aDay matches a day, which consists of the same characters as a number.
	aDay = regexp.MustCompile(`^(\d{1,2}\.\s?\d{1,2}\.\s?(19|20)\d\d|(19|20)\d\d-\d\d-\d\d)$`)
	// noDate matches values that programs write if a date is missing.
	noDate = regexp.MustCompile(`^(0{1,4}[./-]0{1,4}[./-]0{1,4}|0?1[./-]0?1[./-](4501|1601)|(4501|1601)-01-01)$`)
)

var lost = i18n.Text("A spreadsheet has thrown away the last digits of this number.")

// isLost reports whether a spreadsheet has removed digits of an item. It then adds a problem.
func (e *Entry) isLost(i item) bool {
	if e.Exact || i.card || !lostDigits.MatchString(i.text) {
		return false
	}
	e.tell(LeftOut, i.member, i, fault.InvalidFormat, lost)
	return true
}

// callable returns the items of members that may be telephone numbers. Other items go into the
// note.
func (e *Entry) callable(members ...string) (list []item) {
	for _, member := range members {
		for _, i := range e.meaning(member) {
			switch {
			case e.Exact:
				list = append(list, i)
			case e.isLost(i):
			case strings.ContainsAny(i.text, "0123456789") && !aDay.MatchString(i.text) && !strings.Contains(i.text, "@"):
				list = append(list, i)
			case noPhone.MatchString(i.text):
				e.tell(LeftOut, member, i, fault.InvalidFormat, useless)
			default:
				e.move(member, e.labelled(member, i.kind), i, fault.InvalidFormat,
					"This is no telephone number.")
			}
		}
	}
	return list
}

// leastLost is the minimum number of digits of a number whose zero or plus sign is lost. Shorter
// numbers may lack the area code.
const leastLost = 10

// withZero restores a zero or a plus sign that a spreadsheet removed. It does so only if exactly
// one of them makes the text a mobile number.
func (e *Entry) withZero(i item, text string) string {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	if i.card || len(digits) < leastLost || strings.Trim(text, "0123456789 /()-") != "" || digits[0] == '0' {
		return text
	}
	home := "DE"
	for _, c := range e.has("address.country") {
		if code, _, known := places.Country(c.text); known {
			home = code
			break
		}
	}
	ofZero, mobileByZero := where("0"+digits, home)
	ofPlus, mobileByPlus := where("+"+digits, home)
	var repaired string
	switch {
	case mobileByZero && ofZero == home && ofPlus == "":
		repaired = strings.Replace(text, digits[:1], "0"+digits[:1], 1)
	case mobileByPlus && ofPlus == home && !mobileByZero:
		repaired = "+" + text
	default:
		return text
	}
	e.tell(Altered, i.member, i, fault.InvalidFormat,
		i18n.Format("The beginning of this number was missing. Taken was %s.", repaired))
	return repaired
}

// where returns the country of a telephone number, and whether it is a mobile number. country is
// empty if the number is not clear.
func where(number, home string) (country string, mobile bool) {
	list := phone.Read(number, home)
	if len(list) != 1 {
		return "", false
	}
	return list[0].Where()
}

// joinVatID joins the country code and the number of a VAT id from two columns.
func (e *Entry) joinVatID() {
	list := e.has("vatId")
	at := slices.IndexFunc(list, func(i item) bool { return i.slot == source.CountryCode })
	if at < 0 || e.Exact {
		return
	}
	code := strings.ToUpper(strings.TrimSpace(list[at].text))
	rest := slices.Delete(slices.Clone(list), at, at+1)
	if len(rest) > 0 && rest[0].text != "" && rest[0].text[0] >= '0' && rest[0].text[0] <= '9' {
		rest[0].text = code + rest[0].text
	}
	e.items["vatId"] = rest
}
