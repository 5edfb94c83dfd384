package imports

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// salutations are the words for a salutation, in small letters.
var salutations = map[string]string{
	"herr": "mr", "herrn": "mr", "hr": "mr", "hrn": "mr", "mr": "mr", "mister": "mr", "m": "mr", "männlich": "mr", "male": "mr", "mann": "mr", "monsieur": "mr", "signor": "mr", "sig": "mr", "señor": "mr", "sr": "mr", "dhr": "mr", "pan": "mr", "sehr geehrter herr": "mr",
	"frau": "ms", "fr": "ms", "mrs": "ms", "ms": "ms", "miss": "ms", "w": "ms", "f": "ms", "weiblich": "ms", "female": "ms", "fräulein": "ms", "madame": "ms", "mme": "ms", "signora": "ms", "señora": "ms", "sra": "ms", "mevr": "ms", "mevrouw": "ms", "pani": "ms", "sehr geehrte frau": "ms",
	"mx": "mx", "divers": "mx", "d": "mx", "ohne anrede": "mx", "x": "mx", "diverse": "mx",
}

func salutationOf(text string) string {
	return salutations[strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")]
}

// titled matches a word of a title.
var titled = regexp.MustCompile(`^(?i)(dr|prof|professor|doktor|mag|dipl|ing|med|jur|phil|rer|nat|pol|h|c|hc|dent|vet|theol|ra|rain|rechtsanwalt|rechtsanwältin|stb|wp|notar|notarin|univ|priv|doz|pd|dott|dottssa|lic|iur|sc|habil|oec|dipl-\p{L}+|dipl\.-\p{L}+|dipl\.\p{L}+|jur\.|em|me|maître)\.?,?$`)

// isTitle reports whether a text is made of titles alone.
func isTitle(text string) bool {
	words := strings.Fields(strings.ReplaceAll(text, ".", ". "))
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !titled.MatchString(w) })
}

// isDegree reports whether a text is made of degrees alone, as they stand behind a name.
func isDegree(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); !degrees.MatchString(part) && !isTitle(part) {
			return false
		}
	}
	return true
}

// generation matches what tells a parent from a child.
var generation = regexp.MustCompile(`^(?i)(jun|sen|jr|sr|junior|senior|ii|iii|iv|d\. ?[jä])\.?$`)

// roman matches the number of a generation, behind a name alone.
var roman = regexp.MustCompile(`^[IVX]{1,4}\.?$`)

// degrees match what stands behind a name and a comma, and is no first name.
var degrees = regexp.MustCompile(`^(Esq|LL\.? ?[MBD]|MBA|M\.B\.A|Ph\.? ?D|M\.? ?Sc|B\.? ?Sc|M\.? ?A|B\.? ?A|M\.? ?Eng|B\.? ?Eng|J\.? ?D|M\.? ?D|CPA|CFA|[MB]\.? ?Ed|FH|Dipl\.?-?\p{L}*)\.?$`)

// firms matches the names of firms, families and offices: they are no first and last
// names.
var firms = regexp.MustCompile(`(?i)(^|[\s,(])(gmbh|mbh|ag|kg|ohg|gbr|ug|se|kgaa|e\.? ?v\.?|e\.? ?k\.?|e\.? ?g\.?|mbb|partg|partgmbb|partnerschaft|ltd\.?|limited|inc\.?|llc|llp|plc|corp\.?|corporation|s\.?a\.?|s\.?r\.?l\.?|s\.?p\.?a\.?|b\.?v\.?|n\.?v\.?|sarl|sas|oü|a/s|aps|co\.?|& partner|und partner|& kollegen|und kollegen|& co\.?|& söhne|gesellschaft|genossenschaft|stiftung|verein)([\s,.)]|$)|(?i)^(kanzlei|familie|fam\.?|eheleute|firma|praxis|amtsgericht|landgericht|oberlandesgericht|arbeitsgericht|finanzamt|stadt|gemeinde|landkreis|staatsanwaltschaft|polizei|versicherung|restaurant|hotel|autohaus|weg|erbengemeinschaft|hausverwaltung|notariat|sparkasse|volksbank|the|anwaltskanzlei|rechtsanwälte|steuerberater|steuerkanzlei|universität|klinik|krankenhaus|apotheke|werkstatt|taxi)\s|(?i)\p{L}(verwaltung|versicherung|kasse|bank|gericht|verband|werke|kammer|zentrale|hotline)(\s|$)`)

// particles begin a last name.
var particles = regexp.MustCompile(`^(von|vom|van|zu|zum|zur|de|del|della|der|den|di|da|dos|du|la|le|ter|ten|af|av|bin|ibn|al|el|'t|d'|dal|auf|und)$`)

// nameParts is a whole name with its parts.
type nameParts struct{ salutation, title, first, last string }

// divide divides a whole name: Dr. Anna von Berg, or Berg, Anna. What names a firm or a
// family stays whole.
func divide(whole string) (p nameParts) {
	whole = strings.Join(strings.Fields(whole), " ")
	if firms.MatchString(whole) {
		p.last = whole
		return p
	}
	if last, rest, comma := strings.Cut(whole, ","); comma && !generation.MatchString(strings.TrimSpace(rest)) {
		suffix := strings.TrimSpace(rest)
		if isTitle(suffix) { // Berg, Dr.
			p = divide(last)
			p.title = strings.TrimSpace(p.title + " " + suffix)
			return p
		}
		if isDegree(suffix) { // Anna Berg, LL.M.
			p = divide(last)
			p.title = strings.TrimPrefix(p.title+", "+suffix, ", ")
			return p
		}
		p = divideWords(strings.Fields(rest), true)
		p.last = strings.TrimSpace(last)
		return p
	}
	return divideWords(strings.Fields(strings.ReplaceAll(whole, ",", " ")), false)
}

// divideWords divides the words of a name. All of them are first names if the last name
// is known.
func divideWords(words []string, given bool) (p nameParts) {
	if len(words) > 1 {
		if p.salutation = salutationOf(words[0]); p.salutation != "" && len([]rune(words[0])) > 1 {
			words = words[1:]
		} else {
			p.salutation = ""
		}
	}
	n := 0
	for n < len(words)-1 && isTitle(words[n]) && (strings.HasSuffix(words[n], ".") || len(words[n]) > 1) {
		n++
	}
	p.title, words = strings.Join(words[:n], " "), words[n:]
	if given {
		p.first = strings.Join(words, " ")
		return p
	}
	at := len(words) - 1
	if at > 0 && generation.MatchString(words[at]) {
		at--
	}
	if first := slices.IndexFunc(words, func(w string) bool { return particles.MatchString(w) }); first > 0 && first < at {
		at = first
	}
	if at < 0 {
		return p
	}
	p.first, p.last = strings.Join(words[:at], " "), strings.Join(words[at:], " ")
	return p
}

// nameWords are the words of a name, to compare two of them.
func nameWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// says reports whether all words of a name are among others.
func says(others, name string) bool {
	all := nameWords(others)
	return !slices.ContainsFunc(nameWords(name), func(w string) bool { return !slices.Contains(all, w) && salutations[w] == "" })
}
