package i18n

import (
	"cmp"

	"kartei/kit/phone"
)

// Telephone returns the address that dials the first number of a typed text (RFC 3966):
// from everywhere if its area is known, and within the place of the office otherwise.
// country is where the number is, empty for the country of the office. The address is
// empty for a text without a number that is sure.
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

// Numbers returns the numbers in a typed text that can be dialled from everywhere.
func (w Words) Numbers(typed, country string) []phone.Number {
	return phone.Read(typed, cmp.Or(country, w.home()))
}
