package ui

import (
	"testing"

	"github.com/a-h/templ"
)

// TestMail checks that a mailto URI has one recipient, whatever text is before the @.
func TestMail(t *testing.T) {
	for address, want := range map[string]templ.SafeURL{
		"ida+neu@kanzlei.example":           "mailto:ida+neu@kanzlei.example",
		"a?bcc=b%40c.example&x#y@d.example": "mailto:a%3Fbcc%3Db%2540c.example%26x%23y@d.example",
		"a,b@c.example":                     "mailto:a%2Cb@c.example",
		"ä@köln.example":                    "mailto:%C3%A4@köln.example",
		"a?bcc=b":                           "mailto:a%3Fbcc%3Db",
	} {
		if got := MailTo(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
