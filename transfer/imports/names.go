package imports

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// salutations are the words for a salutation, in small letters.
var salutations = map[string]string{
	"herr": "mr", "herrn": "mr", "hr": "mr", "hrn": "mr", "h": "mr", "mr": "mr", "mister": "mr", "m": "mr",
	"männlich": "mr", "male": "mr", "mann": "mr", "monsieur": "mr", "signor": "mr", "sig": "mr", "señor": "mr",
	"sr": "mr", "dhr": "mr", "pan": "mr",
	"frau": "ms", "fr": "ms", "mrs": "ms", "ms": "ms", "miss": "ms", "w": "ms", "f": "ms", "weiblich": "ms",
	"female": "ms", "fräulein": "ms", "madame": "ms", "mme": "ms", "signora": "ms", "señora": "ms", "sra": "ms",
	"mevr": "ms", "mevrouw": "ms", "pani": "ms",
	"mx": "mx", "divers": "mx", "d": "mx", "ohne anrede": "mx", "x": "mx", "diverse": "mx",
}

// greeting matches what stands before a salutation in a letter.
var greeting = regexp.MustCompile(`^(?i)(sehr geehrter?|liebere?|liebe|hallo|guten tag|werter?|an|dear|to)\s+`)

// salutationOf returns mr, ms or mx for a text that is a salutation, and an empty text for others.
func salutationOf(text string) string {
	text = strings.ToLower(strings.TrimRight(strings.TrimSpace(text), " ,.!"))
	return salutations[withoutGreeting(text)]
}

// withoutGreeting returns a text without the words before a salutation: Sehr geehrte.
func withoutGreeting(text string) string { return greeting.ReplaceAllString(text, "") }

// isSalutation reports whether a word is a salutation, with or without a dot.
func isSalutation(word string) bool {
	return salutations[strings.ToLower(strings.TrimSuffix(word, "."))] != ""
}

// spoken matches the salutations that stand before a name. Single letters are first names
// there.
var spoken = regexp.MustCompile(`^(?i)(herrn?|hrn?|frau|fr|fräulein|mr|mrs|ms|mx|miss|mister|monsieur|madame|mme|signora?|señora?|mevrouw|mevr|dhr|pani)\.?$`)

// spokenSalutation returns the salutation with which a line begins, empty for none.
func spokenSalutation(line string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !spoken.MatchString(first) {
		return ""
	}
	return salutationOf(first)
}

var (
	// titled matches a word with which a title begins, titledMore one that follows.
	titled = regexp.MustCompile(`^(?i)(d?dr|prof|professor|professorin|doktor|m?mag|dipl|ing|ra|rain|rechtsanwalt|rechtsanwältin|fachanwalt|fachanwältin|patentanwalt|patentanwältin|steuerberater|steuerberaterin|` +
		`wirtschaftsprüfer|wirtschaftsprüferin|stb|wp|vbp|notar|notarin|univ|univ\.-prof|univ\.-doz|priv|priv\.-doz|privatdozent|privatdozentin|doz|pd|dott|dottssa|lic|dipl\.?(-\p{L}+\.?)+|diplom(-\p{L}+)+|maître)\.?,?$|^(Me|DI)$`)
	titledMore = regexp.MustCompile(`^(?i)(med|jur|phil|rer|nat|pol|hc|dent|vet|theol|iur|sc|habil|oec|em|publ|mult|agr|techn|mont|troph|utr|disc|paed|päd|cult|soc|math|psych|\([\p{L}.]{2,6}\))\.?,?$`)
	// titledLetters ends a word of a title: Dr. h.c., Notar a.D.
	titledLetters = regexp.MustCompile(`(^|\.)(h\.c\.|a\.D\.|i\.R\.|[eE]\.h\.),?$`)
	// titledApart matches the same with a blank.
	titledApart = regexp.MustCompile(`\b(h|a|i|e|E)\. (c|D|R|h)\.`)
)

// joins are the words between two titles, and between two names.
var joins = regexp.MustCompile(`^(und|u\.|&|\+|and|et|sowie|oder|bzw\.?)$`)

// isTitleWord reports whether a word belongs to a title: Dr., Dipl.-Ing., med.dent., a.D.
func isTitleWord(word string, first bool) bool {
	rest := titledLetters.ReplaceAllString(word, "$1")
	if rest == "" {
		return !first
	}
	for n, part := range strings.Fields(dotted.ReplaceAllString(rest, ". $1")) {
		if !titled.MatchString(part) && (first && n == 0 || !titledMore.MatchString(part)) {
			return false
		}
	}
	return true
}

// dotted matches where a word follows another without a blank: Dr.med.
var dotted = regexp.MustCompile(`\.(\p{L})`)

// titleLength counts the words of a title with which others begin.
func titleLength(words []string) (n int) {
	for at := 0; at < len(words); at++ {
		switch {
		case isTitleWord(words[at], at == 0):
			n = at + 1
		case at == n && n > 0 && joins.MatchString(words[at]): // Rechtsanwalt und Notar
		default:
			return n
		}
	}
	return n
}

// nameFields returns the words of a name, with the letters of a title in one word.
func nameFields(text string) []string {
	return strings.Fields(titledApart.ReplaceAllString(text, "$1.$2."))
}

// cutTitle returns the title with which a text begins, and what follows.
func cutTitle(text string) (title, rest string) {
	words := nameFields(text)
	n := titleLength(words)
	return strings.Join(words[:n], " "), strings.Join(words[n:], " ")
}

// isTitle reports whether a text is made of titles alone.
func isTitle(text string) bool {
	words := nameFields(text)
	return len(words) > 0 && titleLength(words) == len(words)
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
var generation = regexp.MustCompile(`^(?i)\(?(jun|sen|jr|sr|junior|senior|ii|iii|iv|d\. ?[jä])\.?\)?$`)

// roman matches the number of a generation, behind a name alone.
var roman = regexp.MustCompile(`^[IVX]{1,4}\.?$`)

// isGeneration reports whether a text tells a parent from a child: jun., III.
func isGeneration(text string) bool { return generation.MatchString(text) || roman.MatchString(text) }

var (
	// degrees match what stands behind a name and a comma, and is no first name.
	degrees = regexp.MustCompile(`^(Esq|LL\.? ?[MBD](\.? ?(oec|corp|eur|Eur|com|int|tax))?|E?MBA|M\.B\.A|MBL|MPA|MPH|Ph\.? ?D|D\.? ?Phil|M\.? ?Sc|B\.? ?Sc|M\.? ?A|B\.? ?A|M\.? ?Eng|B\.? ?Eng|M\.? ?Jur|J\.? ?D|S\.J\.D|M\.? ?D|CPA|CFA|MRICS|FRICS|[MB]\.? ?Ed|FH|Dipl\.?-?\p{L}*)\.?( \([^()]*\))?$`)
	// degreeBehind matches one behind a name without a comma. Two capitals may be a name.
	degreeBehind = regexp.MustCompile(`\s+((?:LL\. ?[MBD]\.|E?MBA|LLM|M\.B\.A\.|Ph\.? ?D\.?|[MB]\.? ?Sc\.|[MB]Sc|[MB]\. ?A\.|[MB]\. ?Eng\.|Esq\.)(?: \([^()]*\))?)$`)
)

var (
	// formal matches the legal form of a company.
	formal = regexp.MustCompile(`\S[\s,(-]+((?i:g?gmbh|mbh|ohg|gbr|kgaa|e\. ?v\.|e\. ?k\.|e\. ?kfr\.|e\. ?kfm\.|mbb|partg|partgmbb|partnerschaft|partnerschaftsgesellschaft|ltd\.?|limited|inc\.|llc|llp|corp\.?|corporation|s\.a\.r\.l\.|sarl|s\.à ?r\.l\.|s\.r\.l\.|s\.p\.a\.|b\.v\.|n\.v\.|s\.a\.|s\.r\.o\.|gesellschaft|genossenschaft|stiftung|verein)|` +
		`AG|KG|SE|UG|eG|e\. ?G\.|eV|eK|Inc|PLC|plc|SAS|OÜ|A/S|ApS|SpA|Kft\.?|Lda\.?)([\s,.)&-]|$)`)
	// partners match the others of a company.
	partners = regexp.MustCompile(`(?i)\S\s+(&|\+|und|u\.)\s*(partner|kollegen|kollegin|kollege|co|cie|söhne|sohn|töchter|tochter|comp|compagnie)\b`)
	// houses match the words with which the name of a company or an office begins.
	houses = regexp.MustCompile(`^(?i)(fa\.|firma|kanzlei|anwaltskanzlei|rechtsanwaltskanzlei|rechtsanwälte|steuerkanzlei|notariat|praxis|arztpraxis|zahnarztpraxis|gemeinschaftspraxis|gebr\.|gebrüder|` +
		`amtsgericht|landgericht|oberlandesgericht|arbeitsgericht|sozialgericht|verwaltungsgericht|finanzgericht|familiengericht|finanzamt|jugendamt|ordnungsamt|standesamt|arbeitsamt|jobcenter|stadt|gemeinde|landkreis|staatsanwaltschaft|polizei|polizeipräsidium|` +
		`versicherung|restaurant|gasthaus|gasthof|hotel|autohaus|hausverwaltung|sparkasse|volksbank|universität|hochschule|klinik|klinikum|krankenhaus|apotheke|werkstatt|taxi|bäckerei|metzgerei|fleischerei|tischlerei|schreinerei|druckerei|gärtnerei|buchhandlung|ingenieurbüro|architekturbüro|planungsbüro)\s+\S`)
	// calledFirm is the word before the name of a company that says no more than that.
	calledFirm = regexp.MustCompile(`^(?i)(fa\.|firma)\s+`)
	// bodies match other names that are no first and last names.
	bodies = regexp.MustCompile(`(?i)^(familie|fam\.|eheleute|ehel\.|ehepaar|erben|erbengemeinschaft|nachlass|geschwister|weg|wohnungseigentümergemeinschaft|eigentümergemeinschaft|the)\s|\p{L}{3}(verwaltung|versicherung|kasse|bank|gericht|verband|werke|kammer|zentrale|hotline)(\s|$)|\./\.|\s(gegen|vs\.?)\s|\d|@`)
)

// withoutFirm returns the name of a company without the word Firma before it.
func withoutFirm(name string) string { return calledFirm.ReplaceAllString(name, "") }

// isFirmName reports whether a name says that it is a company's.
func isFirmName(name string) bool {
	first, _, _ := strings.Cut(name, " ")
	return !spoken.MatchString(first) && (formal.MatchString(name) || partners.MatchString(name) ||
		houses.MatchString(name))
}

// firmSalutation matches what stands in place of a salutation for a company.
var firmSalutation = regexp.MustCompile(`^(?i)(an )?(die |das |den )?(firma|fa\.?|firmen|unternehmen|company|gesellschaft|organisation|behörde|verein|institution|juristische person)$`)

// isFirmSalutation reports whether a text stands in place of a salutation for a company.
func isFirmSalutation(text string) bool { return firmSalutation.MatchString(strings.TrimSpace(text)) }

var (
	// particles begin a last name, and so do titles of nobility.
	particles = regexp.MustCompile(`^(von|vom|van|zu|zum|zur|de|del|della|der|den|di|da|dos|du|la|le|ter|ten|af|av|bin|ibn|al|el|'t|d'|dal|auf|v\.)$`)
	nobility  = regexp.MustCompile(`^(Reichs|Burg|Land|Mark|Erb)?(Freiherr|Frhr\.|Freifrau|Freiin|Graf|Gräfin|graf|gräfin|Baron|Baronin|Baronesse|Prinz|Prinzessin|prinz|prinzessin|Fürst|Fürstin|Ritter|Edler|Edle|Herzog|Herzogin)$`)
)

// isPrefix reports whether all words of a text begin a last name.
func isPrefix(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && !slices.ContainsFunc(words,
		func(w string) bool { return w != "und" && !particles.MatchString(w) && !nobility.MatchString(w) })
}

// nameParts is a whole name with its parts.
type nameParts struct {
	salutation, title, first, last string
	// maiden is the former name, remark what stands in brackets.
	maiden, remark string
	// firm says that it is the name of a company, whole that it is not the name of one
	// person, doubtful that the parts may be others.
	firm, whole, doubtful bool
}

// maiden matches a former name behind a name.
var maiden = regexp.MustCompile(`(?i)[,\s(]+(?:geb\.?\s+|geb\.|geborene[rs]?\s+|née\s+)([^,()]+?)\s*(?:\)|,|\(|$)`)

// remarked matches a remark in brackets.
var remarked = regexp.MustCompile(`(\S*)\s*\(([^()]*)\)`)

// divide divides a whole name: Dr. Anna von Berg, or Berg, Anna. What names a company or
// several people stays whole. lastFirst says that the last name comes first also without a
// comma.
func divide(name string, lastFirst bool) (p nameParts) {
	whole := strings.Join(strings.Fields(name), " ")
	if isFirmName(whole) {
		return nameParts{last: withoutFirm(whole), firm: true}
	}
	name = whole
	if m := maiden.FindStringSubmatch(name); m != nil {
		end := " "
		if strings.HasSuffix(m[0], ",") { // Meier geb. Schulze, Anna
			end = ", "
		} else if strings.HasSuffix(m[0], "(") { // Meier geb. Schulze (Mutter)
			end = " ("
		}
		p.maiden, name = m[1], strings.TrimSpace(strings.Replace(name, m[0], end, 1))
	}
	name = p.cutRemark(name)
	if bodies.MatchString(name) || formal.MatchString(name) || strings.Contains(name, " / ") {
		return nameParts{last: whole, whole: true}
	}
	parts, degree := p.cutDegrees(name)
	switch len(parts) {
	case 0:
		return nameParts{last: whole, whole: true}
	case 1:
		p.divideWords(nameFields(parts[0]), lastFirst)
	case 2:
		p.divideList(parts[0], parts[1])
	default:
		p.whole = true
	}
	if p.whole {
		return nameParts{last: whole, whole: true}
	}
	p.title = strings.TrimPrefix(p.title+degree, ", ")
	return p
}

// cutRemark takes remarks in brackets out of a name. Those of a title stay.
func (p *nameParts) cutRemark(name string) string {
	var remarks []string
	name = remarked.ReplaceAllStringFunc(name, func(text string) string {
		m := remarked.FindStringSubmatch(text)
		if isTitleWord(m[1], true) || degrees.MatchString(m[1]) || generation.MatchString(m[2]) {
			return text
		}
		remarks = append(remarks, m[2])
		return m[1]
	})
	p.remark = strings.Join(remarks, ", ")
	return strings.TrimSpace(name)
}

// cutDegrees returns the parts between the commas of a name, and the degrees behind them.
func (p *nameParts) cutDegrees(name string) (parts []string, degree string) {
	for part := range strings.SplitSeq(name, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	prefix := ""
	for n := len(parts) - 1; n > 0; n-- {
		switch {
		case isDegree(parts[n]):
			degree = ", " + parts[n] + degree
			parts = slices.Delete(parts, n, n+1)
		case isPrefix(parts[n]): // Stein, Freiherr von, Karl
			prefix = strings.TrimSpace(parts[n] + " " + prefix)
			parts = slices.Delete(parts, n, n+1)
		case generation.MatchString(parts[n]):
			parts[n-1] += " " + parts[n]
			parts = slices.Delete(parts, n, n+1)
		}
	}
	if prefix != "" {
		parts[0] = prefix + " " + parts[0]
	}
	if n := len(parts) - 1; n >= 0 {
		for {
			m := degreeBehind.FindStringSubmatch(parts[n])
			if m == nil {
				break
			}
			degree = ", " + m[1] + degree
			parts[n] = strings.TrimSuffix(parts[n], m[0])
		}
	}
	return parts, degree
}

// cutFront takes salutation and title from the beginning of a name.
func (p *nameParts) cutFront(words []string) []string {
	if len(words) > 1 && spoken.MatchString(words[0]) {
		p.salutation, words = salutationOf(words[0]), words[1:]
	}
	if n := min(titleLength(words), len(words)-1); n > 0 {
		for n > 1 && joins.MatchString(words[n-1]) {
			n--
		}
		p.title, words = strings.TrimSpace(p.title+" "+strings.Join(words[:n], " ")), words[n:]
	}
	return words
}

// divideList divides a name whose last name stands before a comma.
func (p *nameParts) divideList(last, given string) {
	lastWords := p.cutFront(nameFields(last))
	words := nameFields(given)
	if len(words) > 1 {
		words = p.cutFront(words)
	}
	if several(lastWords) || several(words) {
		p.whole = true
		return
	}
	at := len(words)
	for at > 1 && isPrefix(words[at-1]) { // Berg, Anna von
		at--
	}
	p.first, p.last = strings.Join(words[:at], " "), strings.Join(append(slices.Clone(words[at:]), lastWords...), " ")
	n := len(lastWords)
	if n > 1 && generation.MatchString(lastWords[n-1]) {
		n--
	}
	p.doubtful = n > 1 && at == len(words) && !isPrefix(lastWords[0]) // Hans Berg, Köln
}

// divideWords divides the words of a name without a comma.
func (p *nameParts) divideWords(words []string, lastFirst bool) {
	words = p.cutFront(words)
	if several(words) {
		p.whole = true
		return
	}
	if lastFirst {
		at := 0
		for at < len(words)-1 && isPrefix(words[at]) {
			at++
		}
		at = min(at+1, len(words))
		if at < len(words) && generation.MatchString(words[at]) {
			at++
		}
		p.last, p.first = strings.Join(words[:at], " "), strings.Join(words[at:], " ")
		return
	}
	for n := 1; n < len(words); n++ { // Karl Kraus Dipl.-Ing.
		if strings.Contains(words[n], ".") && titleLength(words[n:]) == len(words)-n {
			p.title, words = strings.TrimPrefix(p.title+", "+strings.Join(words[n:], " "), ", "), words[:n]
		}
	}
	at := len(words) - 1
	if at > 0 && generation.MatchString(words[at]) {
		at--
	}
	for n := range at {
		if particles.MatchString(words[n]) || nobility.MatchString(words[n]) && (n > 0 || particles.MatchString(words[n+1])) {
			at = n
			break
		}
	}
	at = max(at, 0)
	p.first, p.last = strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// namesSeveral reports whether a name is the one of several people: Peter und Petra.
func namesSeveral(name string) bool { return several(strings.Fields(name)) }

// several reports whether words name more than one person: Peter und Petra. The one of
// von und zu joins no names.
func several(words []string) bool {
	for n, word := range words {
		if joins.MatchString(word) && !(n > 0 && n < len(words)-1 && particles.MatchString(words[n-1]) &&
			particles.MatchString(words[n+1])) {
			return true
		}
	}
	return false
}

// nameWords are the words of a name, to compare two of them.
func nameWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// says reports whether all words of a name are among others.
func says(others, name string) bool {
	all := nameWords(others)
	return !slices.ContainsFunc(nameWords(name),
		func(w string) bool { return !slices.Contains(all, w) && salutations[w] == "" })
}

// withPrefix returns a last name with what stands before it: von.
func withPrefix(prefix, last string) string {
	if last == "" || prefix == "" || strings.HasPrefix(last, prefix+" ") {
		return last
	}
	return prefix + " " + last
}

// isLastName reports whether a name is one word, with what may stand before it.
func isLastName(name string) bool {
	words := strings.Fields(name)
	return len(words) == 1 || len(words) > 1 && isPrefix(strings.Join(words[:len(words)-1], " "))
}

// firstNames matches what looks like first names.
var firstNames = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+( (\p{Lu}[\p{L}'-]*\.?)){0,2}$`)

// areFirstNames reports whether a text looks like first names.
func areFirstNames(text string) bool {
	return firstNames.MatchString(text) && !isTitle(text) && !isDegree(text) && !generation.MatchString(text)
}
