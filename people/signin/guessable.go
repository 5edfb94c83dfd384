package signin

import (
	"strings"

	"kartei/access"
)

// common are long passwords that every list of guesses begins with, and parts of
// which such passwords consist.
var common = strings.Fields(`123456789012 1234567890123 qwertyuiop qwertzuiop asdfghjkl yxcvbnm zxcvbnm 1q2w3e4r5t6y 1qaz2wsx3edc
	password passwort kennwort kartei kanzlei willkommen welcome letmein iloveyou ichliebedich geheim secret administrator hallo sommer winter frühling herbst`)

// Guessable reports whether a password is one that guessers try early: the address or
// its parts, one character or a short group again and again, a row of the keyboard, or
// a common word with digits.
func Guessable(password, email string) bool {
	p := access.FoldEmail(password)
	local, domain, _ := strings.Cut(access.FoldEmail(email), "@")
	for _, known := range append([]string{access.FoldEmail(email), local, domain}, common...) {
		if len(known) >= 4 {
			p = strings.ReplaceAll(p, known, "")
		}
	}
	p = strings.Trim(p, "0123456789!?.-_@#$%&*+ ")
	return len(p) < 6 || repeats(p)
}

// repeats reports whether a text is a group of at most four characters again and
// again.
func repeats(s string) bool {
	for n := 1; n <= 4 && n < len(s); n++ {
		if strings.HasPrefix(strings.Repeat(s[:n], len(s)/n+1), s) {
			return true
		}
	}
	return false
}
