package grant

import (
	"slices"
	"strings"

	"kartei/kit/confusable"
)

// product is the name of this product, which no other application may have.
const product = "Kartei"

// These words do not distinguish one application from another. A name that consists of a protected
// name and such words pretends to be ours, for example 'Kartei Support' and 'kartei.de'.
var (
	legalForms = forms("GmbH mbH AG UG KG OHG GbR mbB PartG PartGmbB SE eG eV Co Cie Co.KG Inc Ltd LLC Partner Partnerschaft Kollegen")
	claims     = slices.Concat(legalForms, forms(`app apps application anwendung official officially offiziell offizielle original login signin sso
		anmeldung support hilfe help team admin administrator administration verwaltung security sicherheit client desktop sandbox test tm sm by von
		the der die das konto konten account accounts it edv cloud server service services dienst update updates intern internal portal system
		bestätigen bestätigung confirm verify prüfung secure sicher zugang access mobile web online neu new pro plus
		de com eu net org io www http https`))
)

// typed replaces signs and digits that stand for letters.
var typed = strings.NewReplacer("@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7",
	"t")

// forms returns the confusable forms of words.
func forms(words string) (list []string) {
	for _, word := range strings.Fields(words) {
		if form := confusable.Form(word); form != "" {
			list = append(list, form)
		}
	}
	return list
}

// Impersonates reports whether an application's name pretends to be this product or one of the
// offices. Names that look alike count as equal. A name with other words, such as 'Calendar for
// Kartei', does not impersonate.
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

// claimed reports whether a confusable form consists only of claims and digits, which may look like
// letters. A form has no spaces, so claimed tries all ways to split it.
func claimed(text string) bool {
	fits := make([]bool, len(text)+1) // fits[i] says that text[:i] consists only of claims and digits
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

// core returns the confusable form of an office's name without its legal form, which people omit.
func core(name string) string {
	words := strings.Fields(name)
	for len(words) > 1 && (confusable.Form(words[len(words)-1]) == "" ||
		slices.Contains(legalForms, confusable.Form(words[len(words)-1]))) {
		words = words[:len(words)-1]
	}
	return confusable.Form(strings.Join(words, " "))
}
