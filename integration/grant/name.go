package grant

import (
	"slices"
	"strings"

	"kartei/kit/confusable"
)

// product is the name of this product, which no application of somebody else has.
const product = "Kartei"

// Words that say nothing of who an application is. An application with one of our names and
// these words claims to be ours, 'Kartei Support' as well as 'kartei.de'.
var (
	legalForms = forms("GmbH mbH AG UG KG OHG GbR mbB PartG PartGmbB SE eG eV Co Cie Co.KG Inc Ltd LLC Partner Partnerschaft Kollegen")
	claims     = slices.Concat(legalForms, forms(`app apps application anwendung official officially offiziell offizielle original login signin sso
		anmeldung support hilfe help team admin administrator administration verwaltung security sicherheit client desktop sandbox test tm sm by von
		the der die das konto konten account accounts it edv cloud server service services dienst update updates intern internal portal system
		bestätigen bestätigung confirm verify prüfung secure sicher zugang access mobile web online neu new pro plus
		de com eu net org io www http https`))
)

// typed are signs and digits that people type in place of letters.
var typed = strings.NewReplacer("@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7",
	"t")

// forms returns the forms of words.
func forms(words string) (list []string) {
	for _, word := range strings.Fields(words) {
		if form := confusable.Form(word); form != "" {
			list = append(list, form)
		}
	}
	return list
}

// Impersonates reports whether an application gives itself the name of this product or of
// one of the offices that are named, as if they themselves asked. Names that look alike are
// the same. A name with other words besides, such as 'Calendar for Kartei', is one of its own.
func Impersonates(name string, offices ...string) bool {
	return impersonates(name, offices) || impersonates(typed.Replace(name), offices)
}

func impersonates(name string, offices []string) bool {
	form := confusable.Form(CleanName(name))
	rest, ours := form, false
	for _, own := range append(offices, product) {
		core := core(own)
		if form == confusable.Form(own) && form != "" {
			return true
		}
		if core != "" && strings.Contains(rest, core) {
			rest, ours = strings.ReplaceAll(rest, core, " "), true
		}
	}
	if !ours {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(rest), func(part string) bool { return !claimed(part) })
}

// claimed reports whether a text consists of claims and digits, which may look like letters.
// A form has no spaces, so every way to divide it is tried.
func claimed(text string) bool {
	fits := make([]bool, len(text)+1) // whether the text up to there does
	fits[0] = true
	for at := range len(text) {
		if !fits[at] {
			continue
		}
		if strings.IndexByte("0123456789oiv", text[at]) >= 0 {
			fits[at+1] = true
		}
		for _, word := range claims {
			if strings.HasPrefix(text[at:], word) {
				fits[at+len(word)] = true
			}
		}
	}
	return fits[len(text)]
}

// core returns the form of the name of an office without its legal form, which people leave
// out.
func core(name string) string {
	words := strings.Fields(name)
	for len(words) > 1 && (confusable.Form(words[len(words)-1]) == "" ||
		slices.Contains(legalForms, confusable.Form(words[len(words)-1]))) {
		words = words[:len(words)-1]
	}
	return confusable.Form(strings.Join(words, " "))
}
