package ui

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"
)

// MailTo returns the mailto URI of an email address (RFC 6068). Special characters before the last @
// are escaped. They cannot add a recipient or a header.
func MailTo(address string) templ.SafeURL {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		at = len(address)
	}
	return templ.SafeURL("mailto:" + mailSigns.Replace(url.PathEscape(address[:at])) + address[at:])
}

// mailSigns escapes the delimiters of the header fields in a mailto URI. url.PathEscape leaves them
// unchanged.
var mailSigns = strings.NewReplacer("&", "%26", "=", "%3D")

// WebAddress returns the URL in a text. It returns # if the scheme is not http or https.
func WebAddress(text string) templ.SafeURL {
	if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return templ.SafeURL(u.String())
	}
	return "#"
}
