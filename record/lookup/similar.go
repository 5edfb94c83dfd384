package lookup

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/input"
	"kartei/record/duplicate"
	"kartei/record/search"
)

// maxSimilar is the maximum number of similar records next to a form.
const maxSimilar = 5

// SimilarInput is the input of FindSimilar. It has the current values of a form.
type SimilarInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// ID is the id of the record that the form changes. The output leaves it out.
	ID string `json:"id,omitempty"`
	// FirstName and LastName are the names of a contact. Name is the name of a company.
	FirstName string `json:"firstName,omitempty"`
	LastName  string `json:"lastName,omitempty"`
	Name      string `json:"name,omitempty"`
	// Emails and Numbers are the email addresses and telephone numbers, at most MaxSought of each.
	Emails  []string `json:"emails,omitempty"`
	Numbers []string `json:"numbers,omitempty"`
}

// MaxSought is the maximum number of email addresses, and of telephone numbers, of a SimilarInput.
// Each of them is a search.
const MaxSought = 10

// Similar has records that may be the same contact or company as in the form.
type Similar struct {
	Data []Like `json:"data"`
}

// Like is a similar record.
type Like struct {
	Hit
	// By has the kinds of values that both have in common: email, number, name, nearName.
	By []Likeness `json:"by"`
}

// Likeness is a kind of value that two records have in common.
type Likeness string

// The values of Likeness, the strongest first.
const (
	ByEmail  Likeness = "email"
	ByNumber Likeness = "number"
	ByName   Likeness = "name"
	// ByNearName is a spelling of the same name, or a name with one typing error.
	ByNearName Likeness = "nearName"
)

// Records returns 1, like for the hits that appear while a user types.
func (Similar) Records() int { return 1 }

// FindSimilar returns the records with the name, email address or telephone number of a form, and those
// with a similar name that duplicate.Finder has compared. It returns only records that the caller sees.
// The records that are most probably the same come first, and then those with the most values in common.
var FindSimilar = op.New("lookup.similar", op.Read, findSimilar, op.By(op.Member))

func findSimilar(ctx context.Context, c *op.Call, in SimilarInput) (Similar, error) {
	out := Similar{Data: []Like{}}
	if err := in.check(); err != nil {
		return out, err
	}
	i := slices.IndexFunc(allowed(c), func(f family) bool { return f.Plural == in.Family })
	if i < 0 {
		return out, nil
	}
	f := allowed(c)[i]
	asked := in.questions()
	r, err := f.searcher(ctx, c)
	if err != nil {
		return out, err
	}
	var names []string
	var queries []search.Query
	for _, q := range asked {
		ids, _, err := r.First(q.query, maxCandidates)
		if err != nil {
			return out, err
		}
		names, queries = append(names, ids...), append(queries, q.query)
	}
	typed := in.subject()
	compared, err := duplicate.Candidates(ctx, c.Tx, c.Actor.Org(), typed, maxCompared)
	if err != nil {
		return out, err
	}
	names = append(names, compared...)
	names = slices.DeleteFunc(unique(names), func(name string) bool { return name == in.ID })
	drafts, err := f.look(ctx, c, names)
	if err != nil {
		return out, err
	}
	likes := alike(asked, typed, drafts)
	drafts = drafts[:0]
	for _, l := range likes {
		drafts = append(drafts, l.draft)
	}
	titles, err := titlesFor(ctx, c, drafts)
	for _, l := range likes {
		out.Data = append(out.Data, Like{l.finish(search.MarkerOf(queries...), titles), l.by})
	}
	return out, err
}

// maxCompared is the approximate maximum number of records with a common key that are compared with the
// form.
const maxCompared = 100

// maxCandidates is the maximum number of hits of each search that are compared with the form. Not
// every hit has the words in the right member.
const maxCandidates = 20

func (in *SimilarInput) check() error {
	var wrong []fault.Field
	if in.Family != "contacts" && in.Family != "companies" {
		wrong = append(wrong, fault.Field{Name: "family", Code: fault.NotInEnum, Limit: []string{"contacts",
			"companies"}})
	}
	texts := []struct{ name, text string }{{"firstName", in.FirstName}, {"lastName", in.LastName}, {"name", in.Name}}
	for i, text := range in.Emails {
		texts = append(texts, struct{ name, text string }{input.Indexed("emails", i), text})
	}
	for _, x := range texts {
		if utf8.RuneCountInString(x.text) > 254 {
			wrong = append(wrong, fault.Field{Name: x.name, Code: fault.TooLong, Limit: 254})
		}
	}
	for _, x := range []struct {
		name string
		list []string
	}{{"emails", in.Emails}, {"numbers", in.Numbers}} {
		if len(x.list) > MaxSought {
			wrong = append(wrong, fault.Field{Name: x.name, Code: fault.TooLong, Limit: fault.Items(MaxSought)})
		}
	}
	if wrong == nil {
		return nil
	}
	return fault.Invalid(wrong...)
}

// question is a search for one value of a form.
type question struct {
	query search.Query
	by    Likeness
	// fits reports whether a hit has the value in the right member, and not only its words.
	fits func(*draft) bool
}

// questions returns the searches for the values of a form. There is no search for a first name
// alone.
func (in *SimilarInput) questions() (list []question) {
	for _, address := range in.Emails {
		if !strings.Contains(address, "@") {
			continue
		}
		list = append(list, question{search.Whole(address), ByEmail, func(d *draft) bool {
			return d.identified(func(m member) bool { return m.kind == email && search.Same(m.text, address) })
		}})
	}
	for _, number := range in.Numbers {
		for _, q := range search.Numbers(number) {
			list = append(list, question{q, ByNumber, func(d *draft) bool {
				return d.identified(func(m member) bool {
					return m.kind == phone && search.IsNumberOf(number, []search.Query{q}, m.text)
				})
			}})
		}
	}
	name := duplicate.PlainName(in.Name)
	if in.Family == "contacts" {
		if name = in.LastName; len(strings.TrimSpace(name)) > 1 {
			name = in.FirstName + " " + name
		}
	}
	if len(strings.TrimSpace(name)) > 1 {
		q := search.Parse(name)
		list = append(list, question{q, ByName, func(d *draft) bool { return holdsName(q, d.Title) }})
	}
	return list
}

// holdsName reports whether a name has all words of a query.
func holdsName(q search.Query, name string) bool {
	d := new(search.Document)
	d.Add(search.Name, name)
	return q.Holds(d)
}

// subject returns what the form is compared by.
func (in *SimilarInput) subject() *duplicate.Subject {
	return duplicate.OfForm(duplicate.Form{
		Family: in.Family, FirstName: in.FirstName, LastName: in.LastName, Name: in.Name,
		Emails: in.Emails, Numbers: in.Numbers,
	})
}

// like is a Like that is not finished yet.
type like struct {
	*draft
	by []Likeness
	// rank is the rank of the strength, or 0 if the records are not probably the same.
	rank int
}

// alike returns the hits that fit at least one question, or whose name is similar to that in the form.
// The strongest come first, and of these the hits with the most values in common.
func alike(asked []question, typed *duplicate.Subject, drafts []*draft) (list []like) {
	for _, d := range drafts {
		var by []Likeness
		for _, q := range asked {
			if !slices.Contains(by, q.by) && q.fits(d) {
				by = append(by, q.by)
			}
		}
		there := d.subject()
		if !slices.Contains(by, ByName) && slices.Contains(duplicate.Common(typed, there), duplicate.NearName) {
			by = append(by, ByNearName)
		}
		if len(by) > 0 {
			m, _ := duplicate.Compare(typed, there)
			list = append(list, like{d, by, m.Strength.Rank()})
		}
	}
	kinds := []Likeness{ByEmail, ByNumber, ByName, ByNearName}
	slices.SortStableFunc(list, func(a, b like) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(len(b.by), len(a.by)),
			cmp.Compare(slices.Index(kinds, a.by[0]), slices.Index(kinds, b.by[0])))
	})
	return list[:min(len(list), maxSimilar)]
}
