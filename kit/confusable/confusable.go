// Package confusable owns which texts look alike to people, by Unicode Technical Standard 39.
package confusable

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// table has a line for each text that others look like: the text, and the characters that
// look like it, in hexadecimal. It follows from Unicode's confusables.txt (test -confusables).
//
//go:embed confusables.txt
var table string

// prototypes are the texts that characters look like (UTS 39, section 4).
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

// runes reads characters in hexadecimal.
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

// drawn are characters that are drawn as a Latin letter and that UTS 39 leaves alone: small
// capitals, and white letters in a circle, a square or a flag.
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

// Form returns the form in which texts that look alike are equal. Beyond the skeleton of UTS
// 39 it ignores case, marks, spaces and signs, and does not tell i from l, m from rn, or w
// from vv.
// Nobody is shown it.
func Form(text string) string {
	var form strings.Builder
	// whether a letter or a digit stands right before
	behind := false
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, "\uFFFD")) {
		// package norm goes wrong right behind a byte of no character
		if unknown(r) {
			continue
		}
		counts := unicode.IsLetter(r) || unicode.IsNumber(r) || drawn[r] != ""
		looks, latin := prototype(r)
		if counts || latin && behind { // a line behind a letter looks like one
			form.WriteString(looks)
			counts = true
		}
		behind = counts
	}
	return strings.NewReplacer("l", "i", "rn", "m", "vv", "w").Replace(form.String())
}

// prototype returns what a character looks like, in lower case, and whether that is a Latin
// letter or a digit. Small letters of other scripts often look like small capitals.
func prototype(r rune) (looks string, latin bool) {
	for _, r := range []rune{r, unicode.ToUpper(r)} {
		if text := plain(r); isLatin(text) {
			return text, true
		}
	}
	return plain(r), false
}

// plain returns what a character looks like, without marks and in lower case.
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

// unknown reports whether a character is a mark, or is not seen.
func unknown(r rune) bool {
	return unicode.In(r, unicode.M, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func isLatin(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
