package duplicate

import (
	"slices"
	"strings"
)

// Match says that two records are probably the same.
type Match struct {
	Strength Strength
	// Reasons are what both have in common, in the order of the constants of Reason.
	Reasons []Reason
}

// Strength says how probable it is that two records are the same.
type Strength string

// The values of Strength, the strongest first. Sure is for the same name with a value that one person
// or company alone has, and without any contradiction. Likely needs a look. Possible has the same
// name or the same address, and little else.
const (
	Sure     Strength = "sure"
	Likely   Strength = "likely"
	Possible Strength = "possible"
)

// strengths are the values of Strength by their ranks. The rank 0 is no match.
var strengths = []Strength{"", Possible, Likely, Sure}

// Rank returns the rank of a strength, from 1 for Possible to 3 for Sure. It is 0 for no match.
func (s Strength) Rank() int { return slices.Index(strengths, s) }

// Reason is a value that two records have in common.
type Reason string

// The values of Reason. Name is the same name in any order and notation, NearName a spelling, a typing
// error or a part of it. MaidenName is the same first name and birthday with another last name.
// Registration is the VAT id or the number in a register.
const (
	Email        Reason = "email"
	Number       Reason = "number"
	ExternalID   Reason = "externalId"
	Registration Reason = "registration"
	Name         Reason = "name"
	NearName     Reason = "nearName"
	MaidenName   Reason = "maidenName"
	Birthday     Reason = "birthday"
	City         Reason = "city"
)

// Compare reports whether two records of the same family are probably the same, and why. The order of
// the records does not matter.
func Compare(a, b *Subject) (Match, bool) {
	e := evidenceOf(a, b)
	rank := e.rankPeople()
	if a.words != nil || b.words != nil {
		rank = e.rankCompanies()
	}
	if rank -= e.contradictions; rank <= 0 || a.Family != b.Family {
		return Match{}, false
	}
	return Match{strengths[rank], e.reasons()}, true
}

// Common returns what two records have in common, even if that does not suffice for Compare.
func Common(a, b *Subject) []Reason {
	e := evidenceOf(a, b)
	return e.reasons()
}

// evidence is what two records have in common and what contradicts.
type evidence struct {
	// email is a common address of one person. mailbox is a common address that several people read.
	email, mailbox bool
	// mobile is a common number of a mobile telephone, and line any other.
	mobile, line         bool
	external, registered bool
	birthday             bool
	city, postal         bool
	// elsewhere says that both have a city and none in common. postalDiffers says the same of postal
	// codes.
	elsewhere, postalDiffers bool
	// name compares whole names, and first and last their parts.
	name, first, last affinity
	// distinctive says that the name of a company is long enough to be rare.
	distinctive bool
	// contradictions counts values that differ although a person or company has only one of them.
	contradictions int
}

func evidenceOf(a, b *Subject) *evidence {
	e := &evidence{
		external: common(a.external, b.external), registered: common(a.registered, b.registered),
		birthday: a.birthday != "" && a.birthday == b.birthday, city: common(a.cities, b.cities),
		postal: common(a.postals, b.postals),
	}
	e.elsewhere = len(a.cities) > 0 && len(b.cities) > 0 && !e.city
	e.postalDiffers = len(a.postals) > 0 && len(b.postals) > 0 && !e.postal
	for _, address := range a.emails {
		if slices.Contains(b.emails, address) {
			e.email, e.mailbox = e.email || !isMailbox(address), e.mailbox || isMailbox(address)
		}
	}
	for _, n := range a.numbers {
		if slices.ContainsFunc(b.numbers, n.same) {
			e.mobile, e.line = e.mobile || n.isMobile(), e.line || !n.isMobile()
		}
	}
	e.compareNames(a, b)
	for _, pair := range [][2]string{
		{a.birthday, b.birthday}, {a.generation, b.generation}, {a.salutation, b.salutation}, {a.form, b.form},
		{a.vat, b.vat},
	} {
		if pair[0] != "" && pair[1] != "" && pair[0] != pair[1] {
			e.contradictions++
		}
	}
	return e
}

// compareNames compares the names in both orders.
func (e *evidence) compareNames(a, b *Subject) {
	if a.words != nil || b.words != nil {
		e.name = affinityOf(a.words, b.words)
		if sameWords(a.words, b.words) {
			e.name = equal
		}
		e.distinctive = min(len(strings.Join(a.words, "")), len(strings.Join(b.words, ""))) >= leastDistinctive
		return
	}
	e.first, e.last = affinityOf(a.first, b.first), affinityOf(a.last, b.last)
	first, last := affinityOf(a.first, b.last), affinityOf(a.last, b.first)
	if first >= alike && last >= alike && (!e.first.near() || !e.last.near()) {
		e.first, e.last = first, last
	}
	if sameWords(slices.Concat(a.first, a.last), slices.Concat(b.first, b.last)) {
		e.first, e.last = equal, equal
		if len(a.first) == 0 || len(b.first) == 0 {
			e.first = unknown
		}
	}
	e.name = min(e.first, e.last)
}

// leastDistinctive is the minimum length of the name of a company that is rare, in letters.
const leastDistinctive = 10

// rankPeople returns the rank of the strength of two contacts before contradictions.
func (e *evidence) rankPeople() int {
	switch {
	case e.first == equal && e.last == equal:
		return e.rankEqual()
	case e.first.near() && e.last.near():
		return e.rankNear()
	case e.first.near() && e.last == unlike:
		return e.rankMaiden()
	case e.first == unlike:
		return rankIf(e.email || e.external, Possible)
	case e.first.near() || e.last.near(): // the other part is missing
		return highest(
			rankIf(e.email || e.mobile || e.external || e.birthday, Likely),
			rankIf(e.line || e.mailbox, Possible),
		)
	case e.last == unlike:
		return rankIf(e.email || e.external, Possible)
	}
	return highest(rankIf(e.email || e.mobile || e.external, Likely), rankIf(e.mailbox, Possible))
}

// rankEqual returns the rank of two contacts with the same name.
func (e *evidence) rankEqual() int {
	return highest(
		rankIf(e.external || e.email || e.mobile || e.birthday && (!e.elsewhere || e.line), Sure),
		rankIf(e.mailbox || e.line || e.birthday || e.postal || e.city && !e.postalDiffers, Likely),
		rankIf(!e.elsewhere, Possible),
	)
}

// rankNear returns the rank of two contacts with similar names. It is never the rank of Sure with
// another first name, because twins may have similar ones.
func (e *evidence) rankNear() int {
	spelling := e.first == equal && e.last == alike
	return highest(
		rankIf(spelling && (e.external || e.email || e.birthday && (e.city || e.mobile)), Sure),
		rankIf(e.external || e.email || e.mobile || e.birthday || e.first == equal && (e.line || e.postal), Likely),
		rankIf(e.line || e.city || e.mailbox, Possible),
	)
}

// rankMaiden returns the rank of two contacts with the same first name and another last name.
func (e *evidence) rankMaiden() int {
	if e.first == partial { // a first letter is not enough
		return rankIf(e.email, Possible)
	}
	return highest(
		rankIf(e.external || e.email || e.mobile || e.birthday && (e.city || e.postal || e.line || e.mailbox), Likely),
		rankIf(e.birthday, Possible),
	)
}

// rankCompanies returns the rank of the strength of two companies before contradictions.
func (e *evidence) rankCompanies() int {
	reached := e.email || e.mailbox || e.mobile || e.line
	switch e.name {
	case equal:
		return highest(
			rankIf(e.external || e.registered || reached, Sure),
			rankIf(e.city || e.postal || e.distinctive && !e.elsewhere, Likely),
			rankIf(!e.elsewhere, Possible),
		)
	case alike:
		return highest(
			rankIf(e.external || e.registered || reached || e.postal || e.city && e.distinctive, Likely),
			rankIf(e.city, Possible),
		)
	case partial:
		return highest(
			rankIf(e.external || e.registered || e.email || reached && (e.city || e.postal), Likely),
			rankIf(reached, Possible),
		)
	}
	return rankIf(e.registered || e.external || e.email, Possible)
}

// rankIf returns the rank of a strength if the condition holds, and 0 otherwise.
func rankIf(condition bool, s Strength) int {
	if condition {
		return s.Rank()
	}
	return 0
}

// highest returns the highest of some ranks.
func highest(ranks ...int) int { return slices.Max(ranks) }

// reasons returns what both records have in common.
func (e *evidence) reasons() (list []Reason) {
	whole := e.name == equal
	near := !whole && (e.name.near() || e.first.near() && e.last == unknown || e.last.near() && e.first == unknown)
	for _, r := range []struct {
		holds bool
		as    Reason
	}{
		{e.email || e.mailbox, Email}, {e.mobile || e.line, Number}, {e.external, ExternalID},
		{e.registered, Registration}, {whole, Name}, {near, NearName},
		{e.first >= alike && e.last == unlike && e.birthday, MaidenName},
		{e.birthday, Birthday}, {e.city || e.postal, City},
	} {
		if r.holds {
			list = append(list, r.as)
		}
	}
	return list
}

// mailboxes are the first parts of addresses that several people read.
var mailboxes = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`info kanzlei office kontakt contact mail email post buero büro sekretariat sekretariate
		team service verwaltung praxis anfrage anfragen hallo hello empfang rezeption zentrale buchhaltung rechnung rechnungen
		personal bewerbung vertrieb verkauf einkauf support admin webmaster poststelle notariat steuerkanzlei anwalt anwaelte
		familie family bestellung auftrag geschaeftsfuehrung gf direktion assistenz backoffice frontoffice studio werkstatt
		lager technik presse marketing datenschutz noreply no-reply`) {
		all[name] = true
	}
	return all
}()

// isMailbox reports whether several people probably read the emails to an address.
func isMailbox(address string) bool {
	local, _, _ := strings.Cut(address, "@")
	head := strings.FieldsFunc(local, func(r rune) bool { return r == '.' || r == '-' || r == '_' || r == '+' })
	return mailboxes[local] || len(head) > 0 && mailboxes[head[0]]
}

// common reports whether two lists have a text in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// sameWords reports whether two names have the same words in any order.
func sameWords(a, b []string) bool {
	if len(a) == 0 || len(a) != len(b) {
		return false
	}
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
