package i18n

import (
	"cmp"

	"kartei/kit/phone"
)

// Telephone returns the tel URI (RFC 3966) of the first number in a typed text. country is the ISO
// 3166-1 code of the number's country, or empty for the country of the office. A number without an
// area code gets a URI that only works within the place of the office. The URI is empty if the text
// has no certain number.
func (w Words) Telephone(typed, country string) string {
	country = cmp.Or(country, w.home())
	if address := phone.URI(typed, country); address != "" {
		return address
	}
	if local := phone.Local(typed); local != "" && country == w.home() {
		return "tel:" + local
	}
	return ""
}

// Numbers returns the numbers in a typed text that have an international form. country is as for
// Telephone.
func (w Words) Numbers(typed, country string) []phone.Number {
	return phone.Read(typed, cmp.Or(country, w.home()))
}
