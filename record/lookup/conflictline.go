package lookup

import (
	"context"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"kartei/record/company"
	"kartei/record/duplicate"
	"kartei/record/search"
)

// maxLineWords is the maximum number of words of a line that are searched.
const maxLineWords = 8

// rare is the maximum number of records with a word that are compared with a line although they have no other
// word of it.
const rare = 200

// maxTyped is the approximate maximum number of records that are compared with a line for a typing error.
const maxTyped = 100

// conflictLine is a line of a conflict check.
type conflictLine struct {
	text string
	// words are the words as the search index has them, first the needed ones. cut says that there were more.
	words []string
	cut   bool
	// needed is the number of words that a task or document must have, unless it has the main word in its name.
	needed int
	// main is the index of the last name of a person, or of the first word of a company.
	main int
	// spelled has the spellings of each word.
	spelled [][]string
	// name is the part before the first comma.
	name string
	// street is the street with the house number in the form of streetKey, if the line may be an address.
	// unplaced says that the line has nothing else.
	street   string
	unplaced bool
	// numbers are the searches for the line if it may be a telephone number, and readings those by which a
	// record is identified.
	numbers, readings []search.Query
	// id is the id of a record in the line, or empty.
	id string
}

// from matches the words between a name and a place: Maier aus Köln.
var from = regexp.MustCompile(`(?i)[\pL\pN.)]\s+(aus|from)\s+\pL`)

// parseConflictLine returns a line with its words.
func parseConflictLine(text string) *conflictLine {
	l := &conflictLine{text: text, id: idIn(text), readings: search.Readings(text)}
	if l.id != "" && familyOfID(l.id) == nil {
		l.id = ""
	}
	name, rest, _ := strings.Cut(text, ",")
	if at := from.FindStringSubmatchIndex(name); at != nil {
		name, rest = name[:at[2]], name[at[3]:]+" "+rest
	}
	if !isStreet(name) && isStreet(rest) { // 50667 Köln, Hauptstraße 5
		name, rest = rest, name
	}
	l.name = strings.TrimSpace(name)
	if search.IsNumber(text) {
		l.numbers = search.Numbers(text)
	}
	if isStreet(l.name) {
		l.street, l.unplaced = streetKey(l.name), strings.TrimSpace(rest) == ""
	}
	l.add(duplicate.Significant(name))
	l.needed = len(l.words)
	l.add(duplicate.Significant(rest))
	l.needed = max(1, min(l.needed, len(l.words)))
	if !duplicate.HasForm(name) {
		l.main = l.needed - 1
	}
	for _, w := range l.words {
		l.spelled = append(l.spelled, duplicate.Spellings(w))
	}
	return l
}

// add adds words.
func (l *conflictLine) add(words []string) {
	for _, w := range words {
		switch {
		case slices.Contains(l.words, w):
		case len(l.words) == maxLineWords:
			l.cut = true
		default:
			l.words = append(l.words, w)
		}
	}
}

// spellings returns all spellings of all words.
func (l *conflictLine) spellings() []string { return slices.Concat(l.spelled...) }

// all is the mask with all words, and must the mask with the needed words.
func (l *conflictLine) all() uint16  { return 1<<len(l.words) - 1 }
func (l *conflictLine) must() uint16 { return 1<<l.needed - 1 }

// query returns the search for the words of the line in a family.
func (l *conflictLine) query(f *family) search.MentionQuery {
	q := search.MentionQuery{Words: l.spelled, Key: -1, Limit: maxJudged}
	switch {
	case l.id != "":
		q.Enough = func(search.Mention, []int) bool { return false }
	case f.texts:
		q.Key = l.main
		q.Enough = func(m search.Mention, counts []int) bool {
			return m.Has&l.must() == l.must() || m.Named>>l.main&1 == 1 && counts[l.main] <= rare
		}
	default:
		if l.street != "" {
			q.Limit = maxNeighbours
		}
		q.Enough = func(m search.Mention, counts []int) bool {
			return len(l.words) == 1 || bits.OnesCount16(m.Has) > 1 || l.street != "" && m.Has&^l.must() != 0 ||
				counts[bits.TrailingZeros16(m.Has)] <= rare
		}
	}
	return q
}

// mayMiss reports whether records with the main word may be missing, because it is frequent and they have no
// other word of the line.
func (l *conflictLine) mayMiss(f *family, counts []int) bool {
	return l.cut || l.id == "" && !f.texts && len(l.words) > 1 && counts != nil && counts[l.main] > rare
}

// candidates returns the ids of the records in a family that may fit each line.
func (k *conflictCheck) candidates(ctx context.Context, f *family) ([][]string, error) {
	r, err := f.whole(ctx, k.Tx, k.Actor.Org())
	if err != nil {
		return nil, err
	}
	var queries []search.MentionQuery
	for _, l := range k.lines {
		queries = append(queries, l.query(f))
	}
	mentions, err := r.Mentions(queries)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(k.lines))
	for i, m := range mentions {
		for _, one := range m.List {
			found[i] = append(found[i], one.ID)
		}
		k.out[i].More = k.out[i].More || m.More || k.lines[i].mayMiss(f, m.Counts)
		if l := k.lines[i]; l.id != "" {
			if familyOfID(l.id) == f {
				found[i] = []string{l.id}
			}
			continue
		}
		if !f.comparable() {
			continue
		}
		more, err := k.moreCandidates(ctx, f, r, k.lines[i])
		if err != nil {
			return nil, err
		}
		found[i] = unique(append(found[i], more...))
	}
	return found, nil
}

// moreCandidates returns the ids of contacts or companies with the telephone number of a line, and of those
// whose name may differ by a typing error.
func (k *conflictCheck) moreCandidates(
	ctx context.Context, f *family, r *search.Reader, l *conflictLine,
) (names []string, err error) {
	for _, q := range l.numbers {
		ids, _, err := r.First(q, maxShown)
		if err != nil {
			return nil, err
		}
		names = append(names, ids...)
	}
	for _, name := range unique([]string{l.name, l.text}) { // Anna Maier, Köln and Maier, Anna
		typed := duplicate.OfForm(duplicate.Form{Family: f.Plural, LastName: name, Name: name})
		compared, err := duplicate.Candidates(ctx, k.Tx, k.Actor.Org(), typed, maxTyped)
		if err != nil {
			return nil, err
		}
		names = append(names, compared...)
	}
	return names, nil
}

// isIn reports whether the words of a record have the main word of the line.
func (l *conflictLine) isIn(d *search.Document) bool {
	has, _ := l.masks(d)
	return has>>l.main&1 == 1
}

// masks returns which words a record has in any spelling, and which it has as they are.
func (l *conflictLine) masks(d *search.Document) (has, exact uint16) {
	for i, spellings := range l.spelled {
		if d.Has(spellings[0]) {
			exact |= 1 << i
		}
		if slices.ContainsFunc(spellings, d.Has) {
			has |= 1 << i
		}
	}
	return has, exact
}

// judge returns how well a record fits the line. It is empty if the record does not fit.
func (l *conflictLine) judge(d *draft) ConflictStrength {
	switch {
	case d.ID == l.id, d.isExact(l.text, l.readings), l.street != "" && slices.Contains(d.streets, l.street):
		return SameName
	case d.subject == nil: // the search has compared the text of a task or document
		return Mentioned
	}
	return l.compare(d)
}

// compare returns how well a contact or company fits the line.
func (l *conflictLine) compare(d *draft) ConflictStrength {
	subject := d.subject()
	given, family := subject.Names()
	given, family = indexed(given), indexed(family)
	if len(family) == 0 {
		family = given
	}
	has, exact := l.masks(d.words())
	mentioned := has&l.must() == l.must()
	has |= l.typed(slices.Concat(given, family)) // a typing error is no usual spelling
	wholly := len(family) > 0 && allOf(family, func(w string) bool { return slices.Contains(l.words, w) })
	nearly := len(family) > 0 && allOf(family, l.isNear)
	part := slices.ContainsFunc(family, l.isNear)
	if subject.Family == company.Companies.Plural {
		part = len(family) > 0 && (l.isNear(family[0]) || slices.ContainsFunc(family, l.isDistinctive))
		switch joined, name := strings.Join(l.words[:l.needed], ""), strings.Join(family, ""); {
		case joined == name: // Müller Bau and Müllerbau
			wholly, exact, has = true, exact|l.must(), has|l.must()
		case duplicate.Alike(joined, name):
			nearly, has = true, has|l.must()
		}
	}
	switch {
	case wholly && exact == l.all():
		return SameName
	case nearly && has == l.all():
		return SimilarName
	case part:
		return PartOfName
	case mentioned:
		return Mentioned
	}
	return ""
}

// allOf reports whether as returns true for each word.
func allOf(words []string, as func(string) bool) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !as(w) })
}

// typed returns which words of the line the names have, also with a typing error.
func (l *conflictLine) typed(names []string) (has uint16) {
	for i, w := range l.words {
		if slices.ContainsFunc(names, func(name string) bool { return duplicate.Alike(name, w) }) {
			has |= 1 << i
		}
	}
	return has
}

// isDistinctive reports whether a word of the name of a company is the first or the main word of the line. Others, such
// as Bau, do not distinguish companies.
func (l *conflictLine) isDistinctive(word string) bool {
	return duplicate.Alike(word, l.words[0]) || duplicate.Alike(word, l.words[l.main])
}

// indexed returns the words of a name as the search index has them, for example pairs of Chinese characters.
func indexed(name []string) (words []string) {
	for _, w := range name {
		words = append(words, search.Words(w)...)
	}
	return words
}

// isNear reports whether a word of a name is a word of the line, in any spelling or with a typing error.
func (l *conflictLine) isNear(word string) bool {
	return slices.ContainsFunc(l.words, func(w string) bool { return duplicate.Alike(w, word) }) ||
		slices.Contains(l.spellings(), word)
}

// street matches a street with a house number, or with several: Hauptstr. 5, Straße des 17. Juni 135-137.
var street = regexp.MustCompile(`^\s*\pL[\pL\pN .'-]*[\pL.]\s*\d+\s?[a-zA-Z]?(\s*[-/+]\s*\d+\s?[a-zA-Z]?)?\s*$`)

// isStreet reports whether a text may be a street with a house number.
func isStreet(text string) bool { return street.MatchString(text) }

// furtherNumber matches a second house number at the end of a street.
var furtherNumber = regexp.MustCompile(`(\d\s?[a-z]?)\s*[-/+]\s*\d+\s?[a-z]?\s*$`)

// streetKey returns a form in which two notations of a street with a house number are equal: Hauptstr. 5 and
// Hauptstraße 5-7, 2. OG.
func streetKey(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\n", ","), ",")
	var b strings.Builder
	for _, r := range furtherNumber.ReplaceAllString(search.Fold(text), "$1") {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127 {
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "strasse", "str")
}
