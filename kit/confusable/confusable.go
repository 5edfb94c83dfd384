// Package confusable owns the comparison of texts that look alike to people (Unicode Technical Standard 39).
package confusable

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// table has a line for each text that has look-alikes. The line is the text, a colon and the
// characters that look like the text, in hexadecimal. TestTable writes it from Unicode's
// confusables.txt, with the flag -confusables.
//
//go:embed confusables.txt
var table string

// prototypes returns a map from each character to the text that it looks like (UTS 39, section 4).
var prototypes = sync.OnceValue(func() map[rune]string {
	all := make(map[rune]string, 7000)
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		of, sources, _ := strings.Cut(strings.TrimSpace(line), ":")
		text := string(runes(of))
		for _, r := range runes(sources) {
			all[r] = text
		}
	}
	for r, text := range drawn {
		all[r] = text
	}
	return all
})

// runes parses a list of characters in hexadecimal. It panics if the list is malformed.
func runes(list string) (all []rune) {
	for _, number := range strings.Fields(list) {
		r, err := strconv.ParseInt(number, 16, 32)
		if err != nil {
			panic("confusable: " + err.Error()) // TestTable reads the whole table
		}
		all = append(all, rune(r))
	}
	return all
}

// drawn maps characters that look like a Latin letter, and that UTS 39 does not list, to the
// letter. They are small capitals, and white letters in a circle, a square or a flag.
var drawn = func() map[rune]string {
	all := map[rune]string{}
	for i, r := range []rune("ᴀʙᴅᴇꜰɢʜᴊᴋʟɴᴘꞯʀᴛĸ") {
		all[r] = "abdefghjklnpqrtk"[i : i+1]
	}
	for i := range 26 {
		for _, first := range []rune{0x1F150, 0x1F170, 0x1F1E6} {
			all[first+rune(i)] = string(rune('a' + i))
		}
	}
	return all
}()

// Form returns a key for comparisons: texts that look alike have the same key. The key is the
// skeleton of UTS 39, but without case, marks, spaces and signs. It also takes l for i, rn for m,
// and vv for w. The key is not for display.
func Form(text string) string {
	var form strings.Builder
	// behind says whether the character before is a letter or a digit.
	behind := false
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, "\uFFFD")) {
		// Package norm returns wrong results for a character after an invalid byte.
		if unknown(r) {
			continue
		}
		counts := unicode.IsLetter(r) || unicode.IsNumber(r) || drawn[r] != ""
		looks, latin := prototype(r)
		if counts || latin && behind { // a vertical bar after a letter looks like a letter
			form.WriteString(looks)
			counts = true
		}
		behind = counts
	}
	return strings.NewReplacer("l", "i", "rn", "m", "vv", "w").Replace(form.String())
}

// prototype returns the text that r looks like, in lower case. latin says whether this text has
// only Latin letters and digits. Small letters of other scripts often look like small capitals, so
// prototype tries the capital of r too.
func prototype(r rune) (looks string, latin bool) {
	for _, r := range []rune{r, unicode.ToUpper(r)} {
		if text := plain(r); isLatin(text) {
			return text, true
		}
	}
	return plain(r), false
}

// plain returns the text that r looks like, in lower case and without marks.
func plain(r rune) string {
	text, known := prototypes()[r]
	if !known {
		text = string(r)
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unknown(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text)))
}

// unknown reports whether r is a mark or an invisible character.
func unknown(r rune) bool {
	return unicode.In(r, unicode.M, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func isLatin(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
