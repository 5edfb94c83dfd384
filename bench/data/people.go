package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"

	"kartei/instance/sample"
	"kartei/record"
	"kartei/record/contact"
)

// Groups are words that divide the contacts. Each contact has one of them, and each word is in a
// fifth of the contacts: 200,000 of a million.
var Groups = []string{"Mandantschaft", "Interessent", "Gegenseite", "Behörde", "Lieferant"}

// People generates any number of contacts. They are variants of the sample office's contacts, which
// are few. The same number always gives the same contact. The frequency of the n-th last name is
// proportional to 1/n^0.9, close to Zipf's law. Addresses, numbers and dates vary. The contacts lack
// members that earlier programs refuse, so that --against can compare with these.
type People struct {
	// Additional is the number of additional emails, and of additional telephone numbers, of each
	// contact.
	Additional int

	base   []contact.Fields
	last   []string
	upTo   []float64 // cumulative weights of last
	number int       // number of the next contact
	seen   int       // number of earlier contacts that are visible to everyone
}

// NewPeople returns a People that begins with the first contact. owners are the ids of the
// principals who own contacts.
func NewPeople(owners []string) *People {
	p := &People{base: sample.Contacts(4000, owners)}
	for _, end := range strings.Fields(lastNameEnds) {
		for _, begin := range strings.Fields(lastNameBegins) {
			p.last = append(p.last, begin+end)
		}
	}
	sum := 0.0
	for i := range p.last {
		sum += 1 / math.Pow(float64(i+1), 0.9)
		p.upTo = append(p.upTo, sum)
	}
	return p
}

const (
	lastNameBegins = `Müll Schmid Schneid Fisch Web Mey Wagn Beck Schulz Hoffm Schäf Koch Bau Richt Klein Wolf Schröd
		Neum Schwarz Zimmerm Braun Krüg Hofm Hartm Lang Werner Krau Lehm Köhl Herrm König Walt May Kais Fuchs Pet Schol
		Möll Weiß Jung Hahn Vog Friedr Kell Günth Frank Berg Winkl Roth Lor Baumg Albr Schust Sim Ludw Böhm Wint Kraft
		Schumach Stein Jäg Ott Sommer Groß Seid Heinr Brand Haas Schreib Graf Diet Ziegl Kuhn Pohl Engel Horn Busch`
	lastNameEnds = `er mann t ler ner ke el ig bach berg hofer feld stein inger hardt brecht ing rich old mer dorf
		meier huber bauer thaler egger haus burg wald see brunner kamp horst kötter`
)

// Next returns the next contact.
func (p *People) Next() contact.Fields {
	i := p.number
	p.number++
	r := rand.New(rand.NewPCG(uint64(i), 11))
	f := p.base[i%len(p.base)]
	f.NameSuffix, f.Department, f.Website, f.Additional, f.Attributes = nil, nil, nil, record.Additional{}, nil
	last := p.last[sort.SearchFloat64s(p.upTo, r.Float64()*p.upTo[len(p.upTo)-1])]
	f.LastName = &last
	if f.Email != nil {
		local, domain, _ := strings.Cut(*f.Email, "@")
		first, _, _ := strings.Cut(local, ".")
		f.Email = new(fmt.Sprintf("%s.%s%d@%s", first, ascii.Replace(strings.ToLower(last)), r.IntN(1000), domain))
	}
	if f.Phone != nil {
		f.Phone = new(fmt.Sprintf("+49 %d %07d", 201+r.IntN(780), r.IntN(10_000_000)))
	}
	if f.Mobile != nil {
		f.Mobile = new(fmt.Sprintf("+49 17%d %07d", r.IntN(10), r.IntN(10_000_000)))
	}
	if f.Address != nil {
		a := *f.Address
		street, _, _ := strings.Cut(*a.Street, " ")
		a.Street = new(fmt.Sprintf("%s %d", street, 1+r.IntN(200)))
		f.Address = &a
	}
	if f.Birthday != nil {
		f.Birthday = new(fmt.Sprintf("%d-%02d-%02d", 1940+r.IntN(65), 1+r.IntN(12), 1+r.IntN(28)))
	}
	for range p.Additional {
		f.AdditionalEmails = append(f.AdditionalEmails, record.AdditionalEmail{
			Email: fmt.Sprintf("%s%d@example.com", ascii.Replace(strings.ToLower(last)), r.IntN(1_000_000)), Label: new("work"),
		})
		f.AdditionalPhones = append(f.AdditionalPhones, record.AdditionalPhone{
			Phone: fmt.Sprintf("+49 %d %07d", 201+r.IntN(780), r.IntN(10_000_000)), Label: new("home"),
		})
	}
	f.ExternalID = new(fmt.Sprintf("M-%d", 100_000+i))
	f.Tags = append([]string{Groups[i%len(Groups)]}, f.Tags...)
	f.Tags = f.Tags[:min(len(f.Tags), 5)]
	if f.Visibility == record.Organization {
		note := "Aktenzeichen " + FileWord(p.seen/10)
		if f.Note != nil {
			note = *f.Note + " " + note
		}
		f.Note = &note
		p.seen++
	}
	return f
}

// FileWord returns the n-th file word. Ten contacts share each file word.
func FileWord(n int) string {
	letters := []byte("zqxjaaaaa")
	for i := len(letters) - 1; i >= 4; i-- {
		letters[i] = 'a' + byte(n%26)
		n /= 26
	}
	return string(letters)
}

var ascii = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")
