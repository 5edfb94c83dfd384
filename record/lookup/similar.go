package lookup

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/search"
)

// maxSimilar is how many similar records are shown beside a form.
const maxSimilar = 5

// SimilarInput is the input of Similar: what a form has so far.
type SimilarInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// ID is the record that the form changes. It is left out.
	ID string `json:"id,omitempty"`
	// FirstName and LastName are a contact's names, and Name is a company's.
	FirstName string   `json:"firstName,omitempty"`
	LastName  string   `json:"lastName,omitempty"`
	Name      string   `json:"name,omitempty"`
	Email     string   `json:"email,omitempty"`
	Numbers   []string `json:"numbers,omitempty"`
}

// Similar has the records that may be the contact or company that a form describes.
type Similar struct {
	Data []Like `json:"data"`
}

// Like is a similar record.
type Like struct {
	Hit
	// By is the kind of the common value: email, number, name.
	By []Likeness `json:"by"`
}

// Likeness is what two records have in common.
type Likeness string

// The likenesses, the strongest first.
const (
	ByEmail  Likeness = "email"
	ByNumber Likeness = "number"
	ByName   Likeness = "name"
)

// Records returns 1, as for what is shown while somebody types.
func (Similar) Records() int { return 1 }

// FindSimilar finds the records with the name, address or number of a form, as far as
// the caller sees them: those with most in common first.
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
	names = slices.DeleteFunc(unique(names), func(name string) bool { return name == in.ID })
	drafts, err := f.look(ctx, c, names)
	if err != nil {
		return out, err
	}
	likes := alike(asked, drafts)
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

// maxCandidates is how many hits of each question are compared. Others than the
// members of the form may have the words.
const maxCandidates = 20

func (in *SimilarInput) check() error {
	var wrong []fault.Field
	if in.Family != "contacts" && in.Family != "companies" {
		wrong = append(wrong, fault.Field{Name: "family", Code: fault.NotInEnum, Limit: []string{"contacts", "companies"}})
	}
	for _, x := range []struct{ name, text string }{
		{"firstName", in.FirstName},
		{"lastName", in.LastName},
		{"name", in.Name},
		{"email", in.Email},
	} {
		if utf8.RuneCountInString(x.text) > 254 {
			wrong = append(wrong, fault.Field{Name: x.name, Code: fault.TooLong, Limit: 254})
		}
	}
	if len(in.Numbers) > 5 {
		wrong = append(wrong, fault.Field{Name: "numbers", Code: fault.TooLong, Limit: fault.Items(5)})
	}
	if wrong == nil {
		return nil
	}
	return fault.Invalid(wrong...)
}

// question is a search for one member of a form.
type question struct {
	query search.Query
	by    Likeness
	// fits reports whether a hit has the member, and not only its words.
	fits func(*draft) bool
}

// questions returns the searches of a form. A first name alone asks nothing.
func (in *SimilarInput) questions() (list []question) {
	if strings.Contains(in.Email, "@") {
		list = append(list, question{search.Whole(in.Email), ByEmail, func(d *draft) bool {
			return d.identified(func(m member) bool { return m.kind == email && search.Same(m.text, in.Email) })
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
	name := plainName(in.Name)
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

// holdsName reports whether a name alone has all words of a query.
func holdsName(q search.Query, name string) bool {
	d := new(search.Document)
	d.Add(search.Name, name)
	return q.Holds(d)
}

// forms are the words of a company's name that do not tell it from another one.
var forms = strings.Fields("gmbh mbh ag kg kgaa ohg ug gbr se eg ev e.v. co & und haftungsbeschränkt (haftungsbeschränkt) partg partgmbb mbb ltd inc")

// plainName returns the name of a company without its legal form, unless nothing would
// remain.
func plainName(name string) string {
	words := slices.DeleteFunc(strings.Fields(name), func(w string) bool {
		return slices.Contains(forms, strings.Trim(strings.ToLower(w), ".,"))
	})
	if len(words) == 0 {
		return name
	}
	return strings.Join(words, " ")
}

// like is a similar record in the making.
type like struct {
	*draft
	by []Likeness
}

// alike returns the hits that fit a question, those with most in common first.
func alike(asked []question, drafts []*draft) (list []like) {
	for _, d := range drafts {
		var by []Likeness
		for _, q := range asked {
			if !slices.Contains(by, q.by) && q.fits(d) {
				by = append(by, q.by)
			}
		}
		if len(by) > 0 {
			list = append(list, like{d, by})
		}
	}
	strength := func(l like) int { return slices.Index([]Likeness{ByEmail, ByNumber, ByName}, l.by[0]) }
	slices.SortStableFunc(list, func(a, b like) int {
		return cmp.Or(cmp.Compare(len(b.by), len(a.by)), cmp.Compare(strength(a), strength(b)))
	})
	return list[:min(len(list), maxSimilar)]
}
