package signin

import (
	"strings"

	"kartei/access"
)

// common are long passwords that are at the top of every list of guesses, and words of which such
// passwords consist.
var common = strings.Fields(`123456789012 1234567890123 qwertyuiop qwertzuiop asdfghjkl yxcvbnm zxcvbnm 1q2w3e4r5t6y 1qaz2wsx3edc
	password passwort kennwort kartei kanzlei willkommen welcome letmein iloveyou ichliebedich geheim secret administrator hallo sommer winter frühling herbst`)

// Guessable reports whether attackers would guess a password early. Such a password consists of the
// email address or its parts, a repeated group of characters, a row of the keyboard, or a common
// word with digits.
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

// repeats reports whether s consists of a repeated group of at most four characters.
func repeats(s string) bool {
	for n := 1; n <= 4 && n < len(s); n++ {
		if strings.HasPrefix(strings.Repeat(s[:n], len(s)/n+1), s) {
			return true
		}
	}
	return false
}
