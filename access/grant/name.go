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
		anmeldung support hilfe help team admin administrator security sicherheit client desktop sandbox test tm sm by von the der die das
		de com eu net org io www http https`))
)

// forms returns the forms of words, the longest first.
func forms(words string) (list []string) {
	for _, word := range strings.Fields(words) {
		if form := confusable.Form(word); form != "" {
			list = append(list, form)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// Impersonates reports whether an application gives itself the name of this product or of
// one of the offices that are named, as if they themselves asked. Names that look alike are
// the same. A name with other words besides, such as 'Calendar for Kartei', is one of its own.
func Impersonates(name string, offices ...string) bool {
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
	for _, word := range claims {
		rest = strings.ReplaceAll(rest, word, " ")
	}
	return strings.Trim(rest, " 0123456789oiv") == "" // a digit may look like a letter
}

// core returns the form of the name of an office without its legal form, which people leave
// out.
func core(name string) string {
	words := strings.Fields(name)
	for len(words) > 1 && (confusable.Form(words[len(words)-1]) == "" || slices.Contains(legalForms, confusable.Form(words[len(words)-1]))) {
		words = words[:len(words)-1]
	}
	return confusable.Form(strings.Join(words, " "))
}
