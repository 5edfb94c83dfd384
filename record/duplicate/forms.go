package duplicate

import (
	"slices"
	"strings"

	"kartei/record/search"
)

// forms are words in the names of companies, such as legal forms, that do not identify a company.
var forms = strings.Fields("gmbh mbh ag kg kgaa ohg ug gbr se eg ev e.v. co & und haftungsbeschränkt (haftungsbeschränkt) partg partgmbb mbb ltd inc")

// PlainName returns the name of a company without its legal form. If no word would remain, it
// returns the whole name.
func PlainName(name string) string {
	words := slices.DeleteFunc(strings.Fields(name), func(w string) bool {
		return slices.Contains(forms, strings.Trim(strings.ToLower(w), ".,"))
	})
	if len(words) == 0 {
		return name
	}
	return strings.Join(words, " ")
}

// longForms has legal forms as people write them out or with dots, each with its usual short form.
// The keys are folded.
var longForms = func() *strings.Replacer {
	var pairs []string
	for _, line := range []struct{ short, long string }{
		{"ug", "unternehmergesellschaft (haftungsbeschränkt)|unternehmergesellschaft|ug (haftungsbeschränkt)"},
		{"ggmbh", "gemeinnützige gesellschaft mit beschränkter haftung|gemeinnützige gmbh"},
		{"gmbh", "gesellschaft mit beschränkter haftung|gesellschaft m.b.h.|g.m.b.h.|gesmbh|ges.m.b.h."},
		{"kgaa", "kommanditgesellschaft auf aktien"},
		{"ag", "aktiengesellschaft"}, {"kg", "kommanditgesellschaft|k.g."}, {"ohg",
			"offene handelsgesellschaft|o.h.g."},
		{"gbr", "gesellschaft bürgerlichen rechts|gesellschaft des bürgerlichen rechts|g.b.r."},
		{"ev", "eingetragener verein|e. v.|e.v."}, {"eg", "eingetragene genossenschaft|e. g.|e.g."},
		{"ek", "eingetragener kaufmann|eingetragene kauffrau|e. k.|e.k.|e.kfr.|e.kfm."},
		{"partgmbb", "partnerschaftsgesellschaft mit beschränkter berufshaftung|partg mbb"},
		{"partg", "partnerschaftsgesellschaft"}, {"ltd", "limited"}, {"inc", "incorporated"},
	} {
		for long := range strings.SplitSeq(line.long, "|") {
			pairs = append(pairs, " "+search.Fold(long)+" ", " "+line.short+" ")
		}
	}
	return strings.NewReplacer(pairs...)
}()

// legal are the short forms. mbh is what is left of a form whose first part belongs to a name, as in
// "Bau Gesellschaft mbH".
var legal = map[string]string{
	"gmbh": "gmbh", "mbh": "gmbh", "ggmbh": "ggmbh", "ag": "ag", "kg": "kg", "kgaa": "kgaa", "ohg": "ohg", "ug": "ug",
	"gbr": "gbr", "se": "se", "eg": "eg", "ev": "ev", "ek": "ek", "partg": "partg", "partgmbb": "partgmbb",
	"ltd": "ltd", "inc": "inc",
}

// fillers are words of the names of companies that people often leave out.
var fillers = map[string]bool{"und": true, "u": true, "co": true, "cie": true, "haftungsbeschrankt": true, "mbb": true}

// companyName splits the name of a company into its words and its legal form, both folded. The form is
// empty if there is none. If no word would remain, the words are the whole name.
func companyName(name string) (words []string, form string) {
	all := wordsOf(longForms.Replace(" " + strings.ReplaceAll(search.Fold(name), "  ", " ") + " "))
	var found []string
	for _, w := range all {
		if legal[w] != "" {
			found = append(found, legal[w])
		} else if !fillers[w] {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		words = all
	}
	slices.Sort(found)
	return words, strings.Join(slices.Compact(found), " ")
}
