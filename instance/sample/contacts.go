package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kartei/record"
	"kartei/record/contact"

	"golang.org/x/text/unicode/norm"
)

// Size is the number of contacts of the office.
const Size = 360

// The seeds are fixed, so that each demo has the same people.
const seed1, seed2 = 0x4d6f7267656e, 0x737465726e

// draw invents people. It uses each pair of first and last name once.
type draw struct {
	*rand.Rand
	used   map[string]bool
	number int
	// before is the previous contact. The next contact may live in the same household.
	before *contact.Fields
	// year is the current year, from which ages are computed.
	year int
}

// Contacts returns n invented people of the office's address book, in each call the same. owners
// are the ids of the principals who own the contacts, the private ones too.
func Contacts(n int, owners []string) []contact.Fields {
	d := &draw{Rand: rand.New(rand.NewPCG(seed1, seed2)), used: map[string]bool{}, number: 10_000, year: 2026}
	people := make([]contact.Fields, 0, n)
	for len(people) < n {
		var f contact.Fields
		if i := len(people); i%22 == 21 && i/22 < len(abroad) {
			f = d.foreigner(i / 22)
		} else {
			f = d.person()
		}
		f.OwnerID = owners[d.IntN(len(owners))]
		f.Visibility = record.Organization
		if d.IntN(100) < 4 {
			f.Visibility, f.Note, f.Tags = record.Private, text(pick(d, privateNotes)), []string{"Vertraulich"}
		}
		people = append(people, f)
		d.before = &people[len(people)-1]
	}
	return people
}

func pick[T any](d *draw, list []T) T { return list[d.IntN(len(list))] }

func (d *draw) percent(n int) bool { return d.IntN(100) < n }

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// person invents a person who lives in Germany.
func (d *draw) person() contact.Fields {
	var f contact.Fields
	p := d.part()
	woman := d.percent(51)
	g := d.generation()
	f.Salutation = text("mr")
	if woman {
		f.Salutation = text("ms")
	}
	shared := d.before != nil && d.percent(9) && d.before.Address != nil && *d.before.Address.Country == "DE"
	for {
		first := pick(d, g.men)
		if woman {
			first = pick(d, g.women)
		}
		last := d.lastName(woman)
		if shared {
			last = *d.before.LastName
		}
		if name := first + " " + last; !d.used[name] {
			d.used[name] = true
			f.FirstName, f.LastName = &first, &last
			break
		}
	}
	if d.percent(3) { // some contacts have no salutation, or mx
		f.Salutation = nil
		if d.percent(40) {
			f.Salutation = text("mx")
		}
	}
	f.Language = text("de")
	if p.number && d.percent(62) {
		f.Birthday = text(d.birthday(g.from, g.to))
	}
	t := d.home(&f, shared)
	d.reach(&f, p, t)
	d.describe(&f, p, woman)
	if d.percent(g.titled) {
		f.Title = text(d.title(&f, p, woman))
	}
	further(&f)
	return f
}

// further gives some contacts a second email, number or address. It draws nothing, so the other
// members of the office stay the same.
func further(f *contact.Fields) {
	private := text(plain(*f.LastName) + "@familie.example")
	switch len(*f.FirstName+*f.LastName) % 6 {
	case 0:
		if f.Email != nil {
			f.AdditionalEmails = []record.AdditionalEmail{{Email: *private, Label: text("home")}}
		}
	case 1:
		if f.Phone != nil {
			f.AdditionalPhones = []record.AdditionalPhone{{Phone: after(*f.Phone), Label: text("fax")}}
		}
	case 2:
		if f.Title != nil {
			f.AdditionalAddresses = []record.AdditionalAddress{{Address: record.Address{
				Street: text("Dünenweg 8"), PostalCode: text("26757"), City: text("Borkum"), Country: text("DE"),
			}, Label: text("Ferienhaus")}}
		}
	}
}

// after returns a telephone number with a greater last digit. The last digit 9 becomes 0.
func after(number string) string {
	last := len(number) - 1
	return number[:last] + string('0'+(number[last]-'0'+1)%10)
}

// title returns an academic title that fits the occupation, or an empty text.
func (d *draw) title(f *contact.Fields, p *part, woman bool) string {
	job := ""
	if f.JobTitle != nil {
		job = *f.JobTitle
	}
	switch {
	case job == "Ärztin" || job == "Arzt":
		return pick(d, []string{"Dr. med.", "Dr. med.", "Prof. Dr. med."})
	case strings.HasPrefix(job, "Architekt") || strings.HasPrefix(job, "Bauingenieur"):
		return pick(d, []string{"Dipl.-Ing.", "Dipl.-Ing.", "Dr.-Ing."})
	case strings.Contains(job, "meister") || strings.HasPrefix(job, "Student") ||
		strings.HasPrefix(job, "Gerichtsvollzieher"):
		return ""
	case slices.Contains(p.tags, "Unternehmen") && d.percent(50):
		if woman {
			return "Dipl.-Kffr."
		}
		return "Dipl.-Kfm."
	case slices.Contains(p.tags, "Dienstleister"):
		return ""
	case strings.HasPrefix(job, "Rentner") && d.percent(30):
		return "Prof. Dr."
	}
	return "Dr."
}

func (d *draw) generation() *generation {
	n := d.IntN(100)
	for i := range generations {
		if n -= generations[i].share; n < 0 {
			return &generations[i]
		}
	}
	return &generations[0]
}

func (d *draw) part() *part {
	total := 0
	for i := range parts {
		total += parts[i].weight
	}
	n := d.IntN(total)
	for i := range parts {
		if n -= parts[i].weight; n < 0 {
			return &parts[i]
		}
	}
	return &parts[0]
}

func (d *draw) lastName(woman bool) string {
	last := pick(d, lastNames)
	if woman {
		last = strings.Replace(last, "Freiherr", "Freifrau", 1)
	}
	if woman && d.percent(9) && !strings.ContainsAny(last, " -") {
		if second := pick(d, secondNames); second != last {
			return last + "-" + second
		}
	}
	return last
}

func (d *draw) birthday(from, to int) string {
	day := time.Date(from+d.IntN(to-from+1), time.January, 1+d.IntN(365), 0, 0, 0, 0, time.UTC)
	return day.Format(time.DateOnly)
}

// home sets the address of a contact. If shared is set, it is the address of the previous contact.
func (d *draw) home(f *contact.Fields, shared bool) *town {
	if shared {
		a := *d.before.Address
		f.Address = &a
		for i := range towns {
			if towns[i].name == *a.City {
				return &towns[i]
			}
		}
	}
	total := 0
	for i := range towns {
		total += towns[i].weight
	}
	n, t := d.IntN(total), &towns[0]
	for i := range towns {
		if n -= towns[i].weight; n < 0 {
			t = &towns[i]
			break
		}
	}
	known := streets
	if t.phone == towns[0].phone && d.percent(60) {
		known = cologne
	}
	street := fmt.Sprintf("%s %d", pick(d, known), 1+d.IntN(140))
	if d.percent(12) {
		street += string(rune('a' + d.IntN(3)))
	}
	f.Address = &record.Address{
		Street: &street, PostalCode: text(pick(d, t.codes)), City: text(t.name), Region: text(t.region), Country: text("DE"),
	}
	return t
}

// reach sets telephone numbers and an email address. All of them are reserved for examples, so that
// no real person is contacted.
func (d *draw) reach(f *contact.Fields, p *part, t *town) {
	if t.phone != "" && d.percent(80) {
		f.Phone = text(fmt.Sprintf("%s%03d", t.phone, d.IntN(1000)))
	}
	if d.percent(70) {
		f.Mobile = text(d.mobile())
	}
	if d.percent(93) || f.Phone == nil && f.Mobile == nil {
		f.Email = text(d.email(f, p))
	}
}

func (d *draw) mobile() string {
	m := pick(d, mobiles)
	if strings.Contains(m, "%") {
		m = fmt.Sprintf(m, d.IntN(100))
	}
	return m
}

func (d *draw) email(f *contact.Fields, p *part) string {
	first, last := plain(*f.FirstName), plain(*f.LastName)
	if len(p.work) > 0 {
		return first[:1] + "." + last + "@" + pick(d, p.work) + ".example"
	}
	domain := pick(d, []string{"example.com", "example.org", "example.net", "post.example"})
	switch d.IntN(4) {
	case 0:
		return first + last + "@" + domain
	case 1:
		return last + "." + first + "@" + domain
	}
	return first + "." + last + "@" + domain
}

// departments are the departments of some occupations, which are in the masculine form.
var departments = map[string]string{
	"Personalleiter": "Personal", "Kaufmännischer Leiter": "Verwaltung", "Kundenberater": "Kundenservice",
}

// describe sets the occupation with its department, website and suffix, tags, a note and a client
// number.
func (d *draw) describe(f *contact.Fields, p *part, woman bool) {
	job := pick(d, p.jobs)
	if f.Birthday != nil {
		switch year := (*f.Birthday)[:4]; {
		case year < "1958" && len(p.work) == 0:
			job = [2]string{"Rentnerin", "Rentner"}
		case strings.HasPrefix(job[1], "Rentner") && year > "1960", job[1] == "Student" && year < "1998":
			job = [2]string{}
		}
	} else if job[1] == "Student" || job[1] == "Rentner" {
		job = [2]string{}
	}
	f.JobTitle, f.Department = text(job[1]), text(departments[job[1]])
	if woman {
		f.JobTitle = text(job[0])
	}
	if job[1] == "Rechtsanwalt" && f.Email != nil {
		_, domain, _ := strings.Cut(*f.Email, "@")
		f.Website = text("https://www." + domain + "/")
		if len(*f.LastName)%3 == 0 {
			f.NameSuffix = text("LL.M.")
		}
	}
	f.Tags = append([]string{}, p.tags...)
	if len(p.areas) > 0 {
		f.Tags = append(f.Tags, pick(d, p.areas))
		if more := pick(d, p.areas); more != f.Tags[len(f.Tags)-1] && d.percent(25) {
			f.Tags = append(f.Tags, more)
		}
	}
	if p.guests && d.percent(30) {
		f.Tags = append(f.Tags, pick(d, habits))
	}
	if d.percent(48) {
		f.Note = text(d.note(p, f.Tags))
	}
	f.ExternalID = text(d.next(p))
}

// note returns a random note that fits the area of law in the tags.
func (d *draw) note(p *part, tags []string) string {
	for {
		area, rest, found := strings.Cut(pick(d, p.notes), ": ")
		switch {
		case !found:
			return area
		case !slices.Contains(p.areas, area): // the colon belongs to the note
			return area + ": " + rest
		case slices.Contains(tags, area):
			return rest
		}
	}
}

// next returns the next client number. It returns an empty text for a contact who is not a client.
func (d *draw) next(p *part) string {
	if !p.number {
		return ""
	}
	d.number += 1 + d.IntN(7)
	return fmt.Sprintf("M-%d", d.number)
}

// foreigner returns contact i of the contacts abroad.
func (d *draw) foreigner(i int) contact.Fields {
	a := abroad[i]
	p := &parts[i%2]
	var f contact.Fields
	f.Salutation, f.FirstName, f.LastName, f.Language = text(a.salutation), text(a.first), text(a.last), text(a.language)
	f.Address = &record.Address{
		Street: text(a.street), PostalCode: text(a.code), City: text(a.city), Country: text(a.country),
	}
	f.Email = text(plain(a.first) + "." + plain(a.last) + "@example.com")
	d.describe(&f, p, a.salutation == "ms")
	f.JobTitle, f.Department, f.Website, f.NameSuffix = nil, nil, nil, nil
	d.used[a.first+" "+a.last] = true
	return f
}

// german replaces letters by the letters that stand for them in email addresses.
var german = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "ł", "l", "ø", "o", "ı", "i")

// plain returns a name with only the letters a to z and hyphens, as in an email address.
func plain(name string) string {
	lower := german.Replace(norm.NFC.String(strings.ToLower(strings.ReplaceAll(name, "İ", "I"))))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == '-' {
			return r
		}
		return -1
	}, norm.NFD.String(lower))
}
