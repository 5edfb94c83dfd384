// Package names owns how the name of a person or a company is read.
package names

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// salutations maps salutations, in lower case, to mr, ms and mx.
var salutations = map[string]string{
	"herr": "mr", "herrn": "mr", "hr": "mr", "hrn": "mr", "h": "mr", "mr": "mr", "mister": "mr", "m": "mr",
	"männlich": "mr", "male": "mr", "mann": "mr", "monsieur": "mr", "signor": "mr", "sig": "mr", "señor": "mr",
	"sr": "mr", "dhr": "mr", "pan": "mr",
	"frau": "ms", "fr": "ms", "mrs": "ms", "ms": "ms", "miss": "ms", "w": "ms", "f": "ms", "weiblich": "ms",
	"female": "ms", "fräulein": "ms", "madame": "ms", "mme": "ms", "signora": "ms", "señora": "ms", "sra": "ms",
	"mevr": "ms", "mevrouw": "ms", "pani": "ms",
	"mx": "mx", "divers": "mx", "d": "mx", "ohne anrede": "mx", "x": "mx", "diverse": "mx",
}

// greeting matches the words before a salutation in a letter.
var greeting = regexp.MustCompile(`^(?i)(sehr geehrter?|liebere?|liebe|hallo|guten tag|werter?|an|dear|to)\s+`)

// Salutation returns mr, ms or mx for a salutation, and an empty string for other texts.
func Salutation(text string) string {
	text = strings.ToLower(strings.TrimRight(strings.TrimSpace(text), " ,.!"))
	return salutations[WithoutGreeting(text)]
}

// WithoutGreeting removes words such as Sehr geehrte before a salutation.
func WithoutGreeting(text string) string { return greeting.ReplaceAllString(text, "") }

// IsSalutation reports whether a word is a salutation, with or without a dot.
func IsSalutation(word string) bool {
	return salutations[strings.ToLower(strings.TrimSuffix(word, "."))] != ""
}

// spoken matches salutations before a name. It excludes single letters, which are first names in
// that place.
var spoken = regexp.MustCompile(`^(?i)(herrn?|hrn?|frau|fr|fräulein|mr|mrs|ms|mx|miss|mister|monsieur|madame|mme|signora?|señora?|mevrouw|mevr|dhr|pani)\.?$`)

// SpokenSalutation returns the salutation at the beginning of a line as mr, ms or mx. It returns an
// empty string if there is none.
func SpokenSalutation(line string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !spoken.MatchString(first) {
		return ""
	}
	return Salutation(first)
}

var (
	// titled matches the first word of a title. titledMore matches a further word.
	titled = regexp.MustCompile(`^(?i)(d?dr|prof|professor|professorin|doktor|m?mag|dipl|ing|ra|rain|rechtsanwalt|rechtsanwältin|fachanwalt|fachanwältin|patentanwalt|patentanwältin|steuerberater|steuerberaterin|` +
		`wirtschaftsprüfer|wirtschaftsprüferin|stb|wp|vbp|notar|notarin|univ|univ\.-prof|univ\.-doz|priv|priv\.-doz|privatdozent|privatdozentin|doz|pd|dott|dottssa|lic|dipl\.?(-\p{L}+\.?)+|diplom(-\p{L}+)+|maître)\.?,?$|^(Me|DI)$`)
	titledMore = regexp.MustCompile(`^(?i)(med|jur|phil|rer|nat|pol|hc|dent|vet|theol|iur|sc|habil|oec|em|publ|mult|agr|techn|mont|troph|utr|disc|paed|päd|cult|soc|math|psych|\([\p{L}.]{2,6}\))\.?,?$`)
	// titledLetters matches the end of a word in a title: Dr. h.c., Notar a.D.
	titledLetters = regexp.MustCompile(`(^|\.)(h\.c\.|a\.D\.|i\.R\.|[eE]\.h\.),?$`)
	// titledApart matches the letters of titledLetters with a space between them.
	titledApart = regexp.MustCompile(`\b(h|a|i|e|E)\. (c|D|R|h)\.`)
)

// joins matches the words between two titles or two names.
var joins = regexp.MustCompile(`^(und|u\.|&|\+|and|et|sowie|oder|bzw\.?)$`)

// isTitleWord reports whether a word is part of a title: Dr., Dipl.-Ing., med.dent., a.D. first
// says that it is the first word.
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

// dotted matches a dot with a letter directly after it: Dr.med.
var dotted = regexp.MustCompile(`\.(\p{L})`)

// titleLength returns the number of words at the beginning that form a title.
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

// fields returns the words of a name. The letters of a title are one word.
func fields(text string) []string {
	return strings.Fields(titledApart.ReplaceAllString(text, "$1.$2."))
}

// CutTitle returns the title at the beginning of a text, and the rest of the text.
func CutTitle(text string) (title, rest string) {
	words := fields(text)
	n := titleLength(words)
	return strings.Join(words[:n], " "), strings.Join(words[n:], " ")
}

// IsTitle reports whether a text consists only of titles.
func IsTitle(text string) bool {
	words := fields(text)
	return len(words) > 0 && titleLength(words) == len(words)
}

// IsDegree reports whether a text consists only of degrees as they follow a name.
func IsDegree(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); !degrees.MatchString(part) && !IsTitle(part) {
			return false
		}
	}
	return true
}

// generation matches a suffix that distinguishes parents and children.
var generation = regexp.MustCompile(`^(?i)\(?(jun|sen|jr|sr|junior|senior|ii|iii|iv|d\. ?[jä])\.?\)?$`)

// roman matches a Roman numeral after a name.
var roman = regexp.MustCompile(`^[IVX]{1,4}\.?$`)

// IsGeneration reports whether a text is a suffix that distinguishes parents and children: jun.,
// III.
func IsGeneration(text string) bool { return generation.MatchString(text) || roman.MatchString(text) }

// Generation returns the part of a name suffix that distinguishes parents and children. It is empty
// if there is none.
func Generation(suffix string) string {
	for part := range strings.SplitSeq(suffix, ",") {
		if part = strings.TrimSpace(part); IsGeneration(part) {
			return part
		}
	}
	return ""
}

var (
	// degrees matches a degree after a name and a comma, but no first name.
	degrees = regexp.MustCompile(`^(Esq|LL\.? ?[MBD](\.? ?(oec|corp|eur|Eur|com|int|tax))?|E?MBA|M\.B\.A|MBL|MPA|MPH|Ph\.? ?D|D\.? ?Phil|M\.? ?Sc|B\.? ?Sc|M\.? ?A|B\.? ?A|M\.? ?Eng|B\.? ?Eng|M\.? ?Jur|J\.? ?D|S\.J\.D|M\.? ?D|CPA|CFA|Md[BL]|MdEP|MRICS|FRICS|[MB]\.? ?Ed|FH|Dipl\.?-?\p{L}*)\.?( \([^()]*\))?$`)
	// degreeBehind matches a degree after a name without a comma. It excludes two capital letters,
	// which may be a name.
	degreeBehind = regexp.MustCompile(`\s+((?:LL\. ?[MBD]\.|E?MBA|LLM|M\.B\.A\.|Ph\.? ?D\.?|[MB]\.? ?Sc\.|[MB]Sc|[MB]\. ?A\.|[MB]\. ?Eng\.|Esq\.)(?: \([^()]*\))?)$`)
)

var (
	// formal matches the legal form of a company.
	formal = regexp.MustCompile(`\S[\s,(-]+((?i:g?gmbh|mbh|ohg|gbr|kgaa|e\. ?v\.|e\. ?k\.|e\. ?kfr\.|e\. ?kfm\.|mbb|partg|partgmbb|partnerschaft|partnerschaftsgesellschaft|ltd\.?|limited|inc\.|llc|llp|corp\.?|corporation|s\.a\.r\.l\.|sarl|s\.à ?r\.l\.|s\.r\.l\.|s\.p\.a\.|b\.v\.|n\.v\.|s\.a\.|s\.r\.o\.|gesellschaft|genossenschaft|stiftung|verein)|` +
		`AG|KG|SE|UG|eG|e\. ?G\.|eV|eK|Inc|PLC|plc|SAS|OÜ|A/S|ApS|SpA|Kft\.?|Lda\.?)([\s,.)&-]|$)`)
	// partners matches words for further owners in the name of a company.
	partners = regexp.MustCompile(`(?i)\S\s+(&|\+|und|u\.)\s*(partner|kollegen|kollegin|kollege|co|cie|söhne|sohn|töchter|tochter|comp|compagnie)\b`)
	// houses matches words with which the name of a company or an office begins.
	houses = regexp.MustCompile(`^(?i)(fa\.|firma|kanzlei|anwaltskanzlei|rechtsanwaltskanzlei|rechtsanwälte|steuerkanzlei|notariat|praxis|arztpraxis|zahnarztpraxis|gemeinschaftspraxis|gebr\.|gebrüder|` +
		`amtsgericht|landgericht|oberlandesgericht|arbeitsgericht|sozialgericht|verwaltungsgericht|finanzgericht|familiengericht|finanzamt|jugendamt|ordnungsamt|standesamt|arbeitsamt|jobcenter|stadt|gemeinde|landkreis|staatsanwaltschaft|polizei|polizeipräsidium|` +
		`versicherung|restaurant|gasthaus|gasthof|hotel|autohaus|hausverwaltung|sparkasse|volksbank|universität|hochschule|klinik|klinikum|krankenhaus|apotheke|werkstatt|taxi|bäckerei|metzgerei|fleischerei|tischlerei|schreinerei|druckerei|gärtnerei|buchhandlung|ingenieurbüro|architekturbüro|planungsbüro)\s+\S`)
	// calledFirm matches the word Firma before the name of a company.
	calledFirm = regexp.MustCompile(`^(?i)(fa\.|firma)\s+`)
	// bodies matches other names that have no first and last names.
	bodies = regexp.MustCompile(`(?i)^(familie|fam\.|eheleute|ehel\.|ehepaar|erben|erbengemeinschaft|nachlass|geschwister|weg|wohnungseigentümergemeinschaft|eigentümergemeinschaft|the)\s|\p{L}{3}(verwaltung|versicherung|kasse|bank|gericht|verband|werke|kammer|zentrale|hotline)(\s|$)|\./\.|\s(gegen|vs\.?)\s|\d|@`)
)

// WithoutFirm removes the word Firma before the name of a company.
func WithoutFirm(name string) string { return calledFirm.ReplaceAllString(name, "") }

// IsFirm reports whether a name is clearly the name of a company.
func IsFirm(name string) bool {
	first, _, _ := strings.Cut(name, " ")
	return !spoken.MatchString(first) && (formal.MatchString(name) || partners.MatchString(name) ||
		houses.MatchString(name))
}

// firmSalutation matches texts that companies have in place of a salutation.
var firmSalutation = regexp.MustCompile(`^(?i)(an )?(die |das |den )?(firma|fa\.?|firmen|unternehmen|company|gesellschaft|organisation|behörde|verein|institution|juristische person)$`)

// IsFirmSalutation reports whether a text is used in place of a salutation for a company.
func IsFirmSalutation(text string) bool { return firmSalutation.MatchString(strings.TrimSpace(text)) }

var (
	// particles and nobility match words at the beginning of a last name.
	particles = regexp.MustCompile(`^(von|vom|van|zu|zum|zur|de|del|della|der|den|di|da|dos|du|la|le|ter|ten|af|av|bin|ibn|al|el|'t|d'|dal|auf|v\.)$`)
	nobility  = regexp.MustCompile(`^(Reichs|Burg|Land|Mark|Erb)?(Freiherr|Frhr\.|Freifrau|Freiin|Graf|Gräfin|graf|gräfin|Baron|Baronin|Baronesse|Prinz|Prinzessin|prinz|prinzessin|Fürst|Fürstin|Ritter|Edler|Edle|Herzog|Herzogin)$`)
)

// IsPrefix reports whether a text consists only of words that begin a last name.
func IsPrefix(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && !slices.ContainsFunc(words,
		func(w string) bool { return w != "und" && !particles.MatchString(w) && !nobility.MatchString(w) })
}

// Parts are the parts of a whole name. Missing parts are empty.
type Parts struct {
	// Salutation is mr, ms or mx. Suffix has the degrees after the name.
	Salutation, Title, First, Last, Suffix string
	// Maiden is the former name. Remark is the text in brackets.
	Maiden, Remark string
	// Firm says that the name is a company's. Whole says that it is not the name of one person.
	// Doubtful says that the parts are uncertain.
	Firm, Whole, Doubtful bool
}

// maiden matches a former name after a name.
var maiden = regexp.MustCompile(`(?i)[,\s(]+(?:geb\.?\s+|geb\.|geborene[rs]?\s+|née\s+)([^,()]+?)\s*(?:\)|,|\(|$)`)

// remarked matches a remark in brackets and the word before it.
var remarked = regexp.MustCompile(`(\S*)\s*\(([^()]*)\)`)

// Divide divides a whole name into parts: Dr. Anna von Berg, or Berg, Anna. The name of a company
// or of several people is not divided. lastFirst says that the last name comes first even without a
// comma.
func Divide(name string, lastFirst bool) (p Parts) {
	whole := strings.Join(strings.Fields(name), " ")
	if IsFirm(whole) {
		return Parts{Last: WithoutFirm(whole), Firm: true}
	}
	name = whole
	if m := maiden.FindStringSubmatch(name); m != nil {
		end := " "
		if strings.HasSuffix(m[0], ",") { // Meier geb. Schulze, Anna
			end = ", "
		} else if strings.HasSuffix(m[0], "(") { // Meier geb. Schulze (Mutter)
			end = " ("
		}
		p.Maiden, name = m[1], strings.TrimSpace(strings.Replace(name, m[0], end, 1))
	}
	name = p.cutRemark(name)
	if bodies.MatchString(name) || formal.MatchString(name) || strings.Contains(name, " / ") {
		return Parts{Last: whole, Whole: true}
	}
	parts, title := p.cutDegrees(name)
	switch len(parts) {
	case 0:
		return Parts{Last: whole, Whole: true}
	case 1:
		p.divideWords(fields(parts[0]), lastFirst)
	case 2:
		p.divideList(parts[0], parts[1])
	default:
		p.Whole = true
	}
	if p.Whole {
		return Parts{Last: whole, Whole: true}
	}
	p.Title = strings.TrimPrefix(p.Title+title, ", ")
	return p
}

// cutRemark removes remarks in brackets from a name. Brackets in a title stay.
func (p *Parts) cutRemark(name string) string {
	var remarks []string
	name = remarked.ReplaceAllStringFunc(name, func(text string) string {
		m := remarked.FindStringSubmatch(text)
		if isTitleWord(m[1], true) || degrees.MatchString(m[1]) || generation.MatchString(m[2]) {
			return text
		}
		remarks = append(remarks, m[2])
		return m[1]
	})
	p.Remark = strings.Join(remarks, ", ")
	return strings.TrimSpace(name)
}

// cutDegrees sets the suffix to the degrees after a name. It returns the parts of the name between
// commas, and the titles after them.
func (p *Parts) cutDegrees(name string) (parts []string, title string) {
	for part := range strings.SplitSeq(name, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	prefix, degree := "", ""
	for n := len(parts) - 1; n > 0; n-- {
		switch {
		case IsTitle(parts[n]):
			title = ", " + parts[n] + title
			parts = slices.Delete(parts, n, n+1)
		case IsDegree(parts[n]):
			degree = ", " + parts[n] + degree
			parts = slices.Delete(parts, n, n+1)
		case IsPrefix(parts[n]): // Stein, Freiherr von, Karl
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
	p.Suffix = strings.TrimPrefix(degree, ", ")
	return parts, title
}

// cutFront removes the salutation and the title from the beginning of a name, and returns the other
// words.
func (p *Parts) cutFront(words []string) []string {
	if len(words) > 1 && spoken.MatchString(words[0]) {
		p.Salutation, words = Salutation(words[0]), words[1:]
	}
	if n := min(titleLength(words), len(words)-1); n > 0 {
		for n > 1 && joins.MatchString(words[n-1]) {
			n--
		}
		p.Title, words = strings.TrimSpace(p.Title+" "+strings.Join(words[:n], " ")), words[n:]
	}
	return words
}

// divideList divides a name with a comma after the last name.
func (p *Parts) divideList(last, given string) {
	lastWords := p.cutFront(fields(last))
	words := fields(given)
	if len(words) > 1 {
		words = p.cutFront(words)
	}
	if severalWords(lastWords) || severalWords(words) {
		p.Whole = true
		return
	}
	at := len(words)
	for at > 1 && IsPrefix(words[at-1]) { // Berg, Anna von
		at--
	}
	p.First, p.Last = strings.Join(words[:at], " "), strings.Join(append(slices.Clone(words[at:]), lastWords...), " ")
	n := len(lastWords)
	if n > 1 && generation.MatchString(lastWords[n-1]) {
		n--
	}
	p.Doubtful = n > 1 && at == len(words) && !IsPrefix(lastWords[0]) // Hans Berg, Köln
}

// divideWords divides the words of a name without a comma.
func (p *Parts) divideWords(words []string, lastFirst bool) {
	words = p.cutFront(words)
	if severalWords(words) {
		p.Whole = true
		return
	}
	if lastFirst {
		at := 0
		for at < len(words)-1 && IsPrefix(words[at]) {
			at++
		}
		at = min(at+1, len(words))
		if at < len(words) && generation.MatchString(words[at]) {
			at++
		}
		p.Last, p.First = strings.Join(words[:at], " "), strings.Join(words[at:], " ")
		return
	}
	for n := 1; n < len(words); n++ { // Karl Kraus Dipl.-Ing.
		if strings.Contains(words[n], ".") && titleLength(words[n:]) == len(words)-n {
			p.Title, words = strings.TrimPrefix(p.Title+", "+strings.Join(words[n:], " "), ", "), words[:n]
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
	p.First, p.Last = strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// Several reports whether a name is the name of several people: Peter und Petra.
func Several(name string) bool { return severalWords(strings.Fields(name)) }

// severalWords reports whether words are the name of several people: Peter und Petra. The und in
// von und zu does not count.
func severalWords(words []string) bool {
	for n, word := range words {
		if joins.MatchString(word) && !(n > 0 && n < len(words)-1 && particles.MatchString(words[n-1]) &&
			particles.MatchString(words[n+1])) {
			return true
		}
	}
	return false
}

// Words returns the words of a name in lower case, for comparisons.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Covers reports whether others contains all words of a name. Salutations do not count.
func Covers(others, name string) bool {
	all := Words(others)
	return !slices.ContainsFunc(Words(name),
		func(w string) bool { return !slices.Contains(all, w) && salutations[w] == "" })
}

// WithPrefix returns a last name with a prefix such as von, unless the name has the prefix already.
func WithPrefix(prefix, last string) string {
	if last == "" || prefix == "" || strings.HasPrefix(last, prefix+" ") {
		return last
	}
	return prefix + " " + last
}

// IsLast reports whether a name is one word, apart from prefixes such as von.
func IsLast(name string) bool {
	words := strings.Fields(name)
	return len(words) == 1 || len(words) > 1 && IsPrefix(strings.Join(words[:len(words)-1], " "))
}

// firstNames matches texts that look like first names.
var firstNames = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+( (\p{Lu}[\p{L}'-]*\.?)){0,2}$`)

// AreFirst reports whether a text looks like first names.
func AreFirst(text string) bool {
	return firstNames.MatchString(text) && !IsTitle(text) && !IsDegree(text) && !generation.MatchString(text)
}
