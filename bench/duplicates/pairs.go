// Package duplicates owns the measurement of the finder of duplicates: a labelled set of pairs, and a large office.
package duplicates

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/duplicate"
)

// Pair is a labelled pair of two contacts or two companies.
type Pair struct {
	// Kind is how the second record was made from the first one.
	Kind string
	// Same says that both are the same person or company.
	Same bool
	// Contacts has two contacts, or Companies two companies.
	Contacts  []contact.Fields
	Companies []company.Fields
}

// Subjects returns the two records of a pair as Compare takes them.
func (p *Pair) Subjects() (a, b *duplicate.Subject) {
	if len(p.Companies) > 0 {
		return duplicate.OfCompany(&p.Companies[0]), duplicate.OfCompany(&p.Companies[1])
	}
	return duplicate.OfContact(&p.Contacts[0]), duplicate.OfContact(&p.Contacts[1])
}

// String describes a pair for a message.
func (p *Pair) String() string {
	if len(p.Companies) > 0 {
		return p.Kind + ": " + describeCompany(&p.Companies[0]) + " | " + describeCompany(&p.Companies[1])
	}
	return p.Kind + ": " + describeContact(&p.Contacts[0]) + " | " + describeContact(&p.Contacts[1])
}

func describeContact(f *contact.Fields) string {
	city := ""
	if f.Address != nil {
		city = get(f.Address.PostalCode) + " " + get(f.Address.City)
	}
	return strings.Join([]string{get(f.FirstName), get(f.LastName), get(f.Email), get(f.Phone), get(f.Mobile), city,
		get(f.Birthday)}, "; ")
}

func describeCompany(f *company.Fields) string {
	city := ""
	if f.Address != nil {
		city = get(f.Address.PostalCode) + " " + get(f.Address.City)
	}
	return strings.Join([]string{f.Name, get(f.LegalForm), get(f.Email), get(f.Phone), city, get(f.VatID)}, "; ")
}

// Pairs returns the first n labelled pairs. The same n always gives the same pairs.
func Pairs(n int) []Pair {
	list := make([]Pair, n)
	for i := range list {
		m := &maker{rand.New(rand.NewPCG(uint64(i), 1969))}
		k := kinds[i%len(kinds)]
		list[i] = k.make(m)
		list[i].Kind, list[i].Same = k.name, k.same
	}
	return list
}

// kinds are the variations that happen in offices. If same is true, it shows one person or
// company in two records.
var kinds = []struct {
	name string
	same bool
	make func(*maker) Pair
}{
	{"typing error in the last name", true, one(func(m *maker,
		f *contact.Fields) {
		f.LastName = new(m.mistype(*f.LastName))
	})},
	{"typing error in the first name", true, one(func(m *maker,
		f *contact.Fields) {
		f.FirstName = new(m.mistype(*f.FirstName))
	})},
	{"another spelling", true, one(func(m *maker, f *contact.Fields) { f.LastName = new(m.respell(f)) })},
	{"umlauts written out", true, one(func(m *maker, f *contact.Fields) { m.writeOut(f) })},
	{"names exchanged", true, one(func(_ *maker, f *contact.Fields) {
		f.FirstName, f.LastName = f.LastName,
			f.FirstName
	})},
	{"whole name in one field", true, one(func(_ *maker, f *contact.Fields) {
		f.LastName, f.FirstName = new(*f.FirstName+" "+*f.LastName), nil
	})},
	{"married", true, one(func(m *maker, f *contact.Fields) { f.LastName = new(m.lastBut(*f.LastName)) })},
	{"double name", true, one(func(m *maker,
		f *contact.Fields) {
		f.LastName = new(*f.LastName + "-" + m.lastBut(*f.LastName))
	})},
	{"moved", true, one(func(m *maker, f *contact.Fields) {
		f.Address = m.address()
		f.Phone = m.landline()
	})},
	{"second first name", true, one(func(m *maker,
		f *contact.Fields) {
		f.FirstName = new(*f.FirstName + " " + m.of(firstNames))
	})},
	{"first letter only", true, one(func(_ *maker, f *contact.Fields) { f.FirstName = new((*f.FirstName)[:1] + ".") })},
	{"number in another notation", true, one(func(m *maker, f *contact.Fields) { m.renotate(f) })},
	{"only name and email", true, func(m *maker) Pair {
		a := m.person()
		a.Email = m.email(&a)
		b := contact.Fields{FirstName: a.FirstName, LastName: a.LastName, Email: a.Email}
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"other legal form", true, firm(func(m *maker, f *company.Fields) { f.Name = m.reform(f.Name) })},
	{"typing error in a company", true, firm(func(m *maker, f *company.Fields) { f.Name = m.mistype(f.Name) })},
	{"company moved", true, firm(func(m *maker, f *company.Fields) { f.Address = m.address() })},

	{"twins", false, func(m *maker) Pair {
		a := m.person()
		a.Birthday, a.Phone = m.birthday(), m.landline()
		b := a
		b.FirstName = new(m.firstBut(*a.FirstName))
		b.Mobile, b.Email = m.mobile(), nil
		if m.IntN(3) == 0 {
			a.Email = new("familie." + plain(*a.LastName) + "@mail.example")
			b.Email = a.Email
		}
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"father and son", false, func(m *maker) Pair {
		a := m.person()
		a.Birthday, a.Phone = m.birthday(), m.landline()
		b := a
		b.Birthday, b.Mobile = m.birthday(), m.mobile()
		if m.IntN(3) > 0 {
			b.Email = nil
		}
		if m.IntN(3) == 0 {
			b.FirstName = new(m.mistype(*a.FirstName)) // Stefan and Stephan
		}
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"couple", false, func(m *maker) Pair {
		a := m.person()
		a.Phone, a.Email = m.landline(), m.email(&a)
		b := a
		b.FirstName, b.Birthday, b.Mobile = new(m.firstBut(*a.FirstName)), m.birthday(), m.mobile()
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"colleagues", false, func(m *maker) Pair {
		a, b := m.person(), m.person()
		if *b.FirstName == *a.FirstName {
			b.FirstName = new(m.firstBut(*a.FirstName))
		}
		a.Phone, a.Address = m.landline(), m.address()
		a.Email = new(m.of("info kanzlei office kontakt") + "@" + plain(m.of(lastNames)) + ".example")
		b.Phone, b.Address, b.Email = a.Phone, a.Address, a.Email
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"namesakes", false, func(m *maker) Pair {
		a, b := m.person(), m.person()
		a.Address = m.address()
		b.FirstName, b.LastName, b.Salutation, b.Address = a.FirstName, a.LastName, a.Salutation,
			m.addressBut(*a.Address.City)
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"similar names in one city", false, func(m *maker) Pair {
		a, b := m.person(), m.person()
		a.Address = m.address()
		b.LastName, b.FirstName = new(m.respell(&a)), new(m.firstBut(*a.FirstName))
		b.Address = new(*a.Address)
		return Pair{Contacts: []contact.Fields{a, b}}
	}},
	{"two companies of a family", false, func(m *maker) Pair {
		a := m.firm()
		b := m.firm()
		name := m.of(lastNames)
		a.Name, b.Name = name+" Holding GmbH", name+" Transporte GmbH"
		a.Phone, b.Address = m.landline(), a.Address
		b.Phone = a.Phone
		a.Email = new("info@" + plain(name) + ".example")
		b.Email = a.Email
		return Pair{Companies: []company.Fields{a, b}}
	}},
	{"general partner", false, func(m *maker) Pair {
		a := m.firm()
		name := m.of(lastNames) + " " + m.of(trades)
		a.Name, a.Phone, a.Address = name+" GmbH", m.landline(), m.address()
		b := a
		b.Name, b.VatID = name+" GmbH & Co. KG", m.vat()
		return Pair{Companies: []company.Fields{a, b}}
	}},
	{"companies in two cities", false, func(m *maker) Pair {
		a, b := m.firm(), m.firm()
		a.Address = m.address()
		b.Name, b.Address = a.Name, m.addressBut(*a.Address.City)
		return Pair{Companies: []company.Fields{a, b}}
	}},
}

// one makes a pair of one person. The second record has a variation, and lacks some members.
func one(vary func(*maker, *contact.Fields)) func(*maker) Pair {
	return func(m *maker) Pair {
		a := m.person()
		b := a
		vary(m, &b)
		m.forget(&b)
		return Pair{Contacts: []contact.Fields{a, b}}
	}
}

// firm makes a pair of one company.
func firm(vary func(*maker, *company.Fields)) func(*maker) Pair {
	return func(m *maker) Pair {
		a := m.firm()
		b := a
		vary(m, &b)
		switch m.IntN(4) {
		case 0:
			b.Email = nil
		case 1:
			b.VatID = nil
		case 2:
			b.Phone, b.VatID = nil, nil
		}
		return Pair{Companies: []company.Fields{a, b}}
	}
}

// maker makes people and companies.
type maker struct{ *rand.Rand }

// of returns one of the words of a list.
func (m *maker) of(list string) string {
	words := strings.Fields(list)
	return words[m.IntN(len(words))]
}

// person returns a contact with most members. Each record of a real office lacks some.
func (m *maker) person() contact.Fields {
	name := strings.Fields(firstNames)
	i := m.IntN(len(name))
	f := contact.Fields{FirstName: &name[i], LastName: new(m.of(lastNames)), Salutation: new([]string{"ms", "mr"}[i%2])}
	f.Address = m.address()
	f.Email, f.Phone, f.Mobile, f.Birthday = m.email(&f), m.landline(), m.mobile(), m.birthday()
	switch m.IntN(5) {
	case 0:
		f.Birthday = nil
	case 1:
		f.Mobile = nil
	case 2:
		f.Phone = nil
	}
	return f
}

// forget removes up to two of the members by which a person is found. At least the email, the mobile
// number, or the birthday with the address stays.
func (m *maker) forget(f *contact.Fields) {
	switch m.IntN(6) {
	case 0:
		f.Email = nil
	case 1:
		f.Mobile, f.Phone = nil, nil
	case 2:
		f.Birthday, f.Address = nil, nil
	case 3:
		f.Email, f.Salutation = nil, nil
	case 4:
		f.Birthday, f.Phone = nil, nil
	}
}

func (m *maker) firm() company.Fields {
	f := company.Fields{Name: m.of(lastNames) + " " + m.of(trades) + " " + m.form(), Address: m.address(),
		Phone: m.landline(), VatID: m.vat()}
	f.Email = new(m.of("info kontakt mail") + "@" + plain(f.Name) + ".example")
	return f
}

func (m *maker) form() string {
	return []string{"GmbH", "AG", "GmbH & Co. KG", "UG (haftungsbeschränkt)", "OHG", "GbR"}[m.IntN(6)]
}

// reform writes the legal form of a company in another way, or leaves it out.
func (m *maker) reform(name string) string {
	for _, f := range [][]string{
		{" GmbH & Co. KG", " GmbH und Co. KG", " GmbH u. Co KG", " GmbH & Co. Kommanditgesellschaft", ""},
		{" GmbH", " Gesellschaft mit beschränkter Haftung", " GMBH", " G.m.b.H.", ""},
		{" AG", " Aktiengesellschaft", ""},
		{" UG (haftungsbeschränkt)", " UG", " Unternehmergesellschaft (haftungsbeschränkt)", ""},
		{" OHG", " oHG", " offene Handelsgesellschaft", ""},
		{" GbR", " Gesellschaft bürgerlichen Rechts", " GBR", ""},
	} {
		if rest, found := strings.CutSuffix(name, f[0]); found {
			return rest + f[1+m.IntN(len(f)-1)]
		}
	}
	return name
}

func (m *maker) vat() *string { return new(fmt.Sprintf("DE%09d", m.IntN(1_000_000_000))) }

func (m *maker) landline() *string {
	return new(fmt.Sprintf("02%02d %07d", 1+m.IntN(60), 2_000_000+m.IntN(7_000_000)))
}

func (m *maker) mobile() *string {
	return new(fmt.Sprintf("017%d %07d", m.IntN(10), 1_000_000+m.IntN(9_000_000)))
}

func (m *maker) birthday() *string {
	return new(fmt.Sprintf("%d-%02d-%02d", 1935+m.IntN(70), 1+m.IntN(12), 1+m.IntN(28)))
}

func (m *maker) email(f *contact.Fields) *string {
	return new(fmt.Sprintf("%s.%s%d@%s.example", plain(*f.FirstName), plain(*f.LastName), m.IntN(100),
		m.of("mail post web netz")))
}

func (m *maker) address() *record.Address {
	place := strings.Split(places[m.IntN(len(places))], " ")
	return &record.Address{
		Street: new(fmt.Sprintf("%sstraße %d", m.of("Linden Schul Bahnhof Garten Berg"), 1+m.IntN(90))),
		// Streets of one city have some postal codes.
		PostalCode: new(fmt.Sprintf("%s%02d", place[0], 1+m.IntN(20))), City: new(strings.Join(place[1:], " ")),
	}
}

func (m *maker) addressBut(city string) *record.Address {
	for {
		if a := m.address(); *a.City != city {
			return a
		}
	}
}

func (m *maker) lastBut(name string) string {
	for {
		if l := m.of(lastNames); l != name {
			return l
		}
	}
}

func (m *maker) firstBut(name string) string {
	for {
		if f := m.of(firstNames); f != name {
			return f
		}
	}
}

// mistype leaves out, doubles, replaces or exchanges one letter of a name, but not the first one.
func (m *maker) mistype(name string) string {
	r := []rune(name)
	i := 1 + m.IntN(len(r)-1)
	switch m.IntN(4) {
	case 0:
		if len(r) > 4 {
			return string(append(r[:i:i], r[i+1:]...))
		}
	case 1:
		if i > 1 && r[i] != r[i-1] {
			r[i], r[i-1] = r[i-1], r[i]
			return string(r)
		}
	case 2:
		r[i] = []rune("enirstl")[m.IntN(7)]
		return string(r)
	}
	return string(append(r[:i:i], append([]rune{r[i]}, r[i:]...)...))
}

// respell returns the last name of a contact in another usual spelling. The contact gets a name with
// several spellings if it has none.
func (m *maker) respell(f *contact.Fields) string {
	all := strings.Split(spelt[m.IntN(len(spelt))], " ")
	i := m.IntN(len(all))
	*f.LastName = all[i]
	return all[(i+1+m.IntN(len(all)-1))%len(all)]
}

// writeOut gives a contact names with umlauts, written out.
func (m *maker) writeOut(f *contact.Fields) {
	name := m.of("Müller Schäfer Köhler Jäger Groß Böhm Krüger Weiß Möller Günther")
	*f.LastName = name
	f.LastName = new(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss").Replace(name))
}

// renotate writes the numbers of a contact in another notation.
func (m *maker) renotate(f *contact.Fields) {
	for _, p := range []**string{&f.Phone, &f.Mobile} {
		if *p == nil {
			continue
		}
		digits := strings.ReplaceAll(**p, " ", "")
		*p = new([]string{
			"+49 " + digits[1:4] + "/" + digits[4:], "0049" + digits[1:],
			"+49 (0)" + digits[1:4] + " " + digits[4:7] + "-" + digits[7:],
			"(" + digits[:4] + ") " + digits[4:],
		}[m.IntN(4)])
	}
}

// plain returns a name as it stands in an email address.
func plain(name string) string {
	name = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "&", "", ".", "", "(", "", ")",
		"").Replace(strings.ToLower(name))
	return strings.ReplaceAll(strings.TrimSpace(name), " ", "-")
}

func get(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// firstNames are names of women and men in turn.
const firstNames = `Anna Peter Maria Michael Ursula Thomas Monika Andreas Petra Wolfgang Elisabeth Klaus Sabine Jürgen Renate
	Günter Helga Stefan Karin Christian Brigitte Uwe Ingrid Werner Erika Horst Andrea Frank Gisela Dieter Claudia Manfred
	Susanne Gerhard Gabriele Hans Christa Bernd Christine Torsten Hildegard Mathias Anja Helmut Barbara Walter Nicole
	Heinz Julia Martin Katharina Jan Sophie Lukas Lena Felix Johanna Maximilian Leonie Jonas`

// lastNames are frequent last names. None is a spelling of another.
const lastNames = `Müller Schneider Fischer Weber Wagner Becker Schulz Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz
	Zimmermann Braun Krüger Hartmann Lange Werner Krause Lehmann Köhler König Walter Huber Kaiser Fuchs Peters Scholz
	Möller Weiß Jung Hahn Vogel Friedrich Keller Günther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht
	Schuster Simon Ludwig Böhm Winter Kraus Schumacher Krämer Vogt Stein Jäger Otto Sommer Groß Seidel Heinrich Brandt
	Haas Schreiber Graf Dietrich Ziegler Kuhn Kühn Pohl Engel Horn Busch Bergmann Thomas Voigt Sauer Arnold Wolff Pfeiffer`

// spelt are last names with their usual spellings.
var spelt = []string{
	"Meier Mayer Maier Meyer Mayr", "Schmidt Schmitt Schmid", "Hofmann Hoffmann", "Stefan Stephan", "Schulze Schultze",
	"Pfeifer Pfeiffer", "Walther Walter", "Becker Bäcker", "Kaiser Keiser Kayser", "Schwarz Schwartz",
	"Petersen Peterssen",
	"Fischer Vischer", "Bayer Beier Beyer", "Neumann Neuman", "Reinhard Reinhardt", "Seifert Seyfert", "Thiel Thiehl",
}

const trades = `Bau Transporte Elektrotechnik Immobilien Maschinenbau Verlag Software Logistik Gartenbau Brauerei Metallbau
	Reinigung Druckerei Medizintechnik Weinhandel`

// places are the beginnings of postal codes with their cities.
var places = []string{
	"506 Köln", "101 Berlin", "803 München", "200 Hamburg", "603 Frankfurt am Main", "701 Stuttgart", "402 Düsseldorf",
	"041 Leipzig", "441 Dortmund", "451 Essen", "281 Bremen", "010 Dresden", "301 Hannover", "904 Nürnberg", "531 Bonn",
	"481 Münster", "520 Aachen", "613 Bad Homburg", "650 Wiesbaden", "551 Mainz",
}
