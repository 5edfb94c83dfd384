package principal

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record/search"
	"kartei/store/db"
)

// maxNames is the maximum number of ids in one call. A page of records contains fewer people.
const maxNames = 200

// NamesInput is the input of ResolveNames.
type NamesInput struct {
	Organization string `json:"organizationId,omitempty"`
	// IDs are ids of users, service accounts and grants, at most 200.
	IDs []string `json:"ids"`
}

// Names are the names of people, service accounts and applications.
type Names struct {
	Data []Name `json:"data"`
}

// application is the Type of the name of a grant. It is the name of the application that acts, even
// after the end of the grant.
const application access.PrincipalType = "application"

// Name is the name of a person, a service account or an application.
type Name struct {
	ID       string               `json:"id"`
	Type     access.PrincipalType `json:"type"`
	Name     string               `json:"name"`
	Disabled bool                 `json:"disabled"`
	// Erased says that the person was erased. All erased people have the same name.
	Erased bool `json:"erased,omitempty"`
}

// ResolveNames is the operation that runs ReadNames.
var ResolveNames = op.New("names.resolve", op.Read, ReadNames, op.By(op.Member|op.Operator))

// ReadNames returns the names of people, service accounts and applications of the caller's
// organization. It leaves out unknown ids. It fails if there are more than 200 ids.
func ReadNames(ctx context.Context, c *op.Call, in NamesInput) (Names, error) {
	names := Names{Data: []Name{}}
	if len(in.IDs) > maxNames {
		return names, fault.Invalid(fault.Field{Name: "ids", Code: fault.TooLong, Limit: fault.Items(maxNames)})
	}
	live := c.Actor.Org() // for pages of the live organization, this saves a query
	if in.Organization != "" || c.IsOperator() || c.Actor.Organization().Sandbox {
		o, err := c.FindOrganization(ctx, in.Organization)
		if err != nil {
			return names, err
		}
		live = o.Live
	}
	found, err := db.List(ctx, c.Tx, func(row db.Row) (n Name, err error) {
		err = row.Scan(&n.ID, &n.Type, &n.Name, &n.Disabled, &n.Erased)
		if n.Erased {
			n.Name = access.ErasedName.In(c.Language)
		}
		return n, err
	}, `select id, kind, name, disabled, erased_at > 0 from principals where organization = $1 and id `+
		c.Tx.Dialect().In("$2")+` order by id`,
		live, db.Texts(in.IDs))
	names.Data = append(names.Data, found...)
	grants := slices.DeleteFunc(slices.Clone(in.IDs), func(s string) bool { return !id.Valid(id.Grant, s) })
	if err != nil || len(grants) == 0 {
		return names, err
	}
	acting, err := db.List(ctx, c.Tx, func(row db.Row) (Name, error) {
		n := Name{Type: application}
		return n, row.Scan(&n.ID, &n.Name)
	}, `select g.id, case when c.name = '' then c.client_id else c.name end from oauth_grants g join oauth_clients c on c.id = g.client_id
		join organizations o on o.number = g.organization where (o.number = $1 or o.sandbox_of = $1) and g.id `+
		c.Tx.Dialect().In("$2")+` order by g.id`,
		live, db.Texts(grants))
	names.Data = append(names.Data, acting...)
	return names, err
}

// FindNamesInput is the input of FindNames.
type FindNamesInput struct {
	Organization string `json:"organizationId,omitempty"`
	// Q is the beginning of a word of the name, or several words. Empty matches all names.
	Q string `json:"q"`
	// Limit is the maximum number of names, from 1 to 50. Zero means 8.
	Limit int `json:"limit,omitempty"`
}

const (
	defaultFound = 8
	maxFound     = 50
	// maxSearchedName is the maximum length of Q in characters. lookup.find has the same limit.
	maxSearchedName = 200
	selectActive    = `select id, kind, name from principals where organization = $1 and disabled = false and erased_at = 0 order by kind desc, id`
)

// FoundNames is the output of FindNames. Exact matches come first, and then the names are in
// alphabetical order. More says that more names match.
type FoundNames struct {
	Data []FoundName `json:"data"`
	More bool        `json:"more"`
}

// FoundName is the name of an active person or service account.
type FoundName struct {
	ID   string               `json:"id"`
	Type access.PrincipalType `json:"type"`
	Name string               `json:"name"`
	// Marks are the spans of the name that match Q, in bytes.
	Marks []search.Span `json:"marks"`
	// Exact says that Q matches the whole name.
	Exact bool `json:"exact"`
}

// FindNames is the operation that finds active people and service accounts of the caller's
// organization by their names. It reads all their names and folds them like every search. An
// organization has some thousands of names at most.
var FindNames = op.New("names.find", op.Read, findNames, op.By(op.Member|op.Operator))

func findNames(ctx context.Context, c *op.Call, in FindNamesInput) (FoundNames, error) {
	found := FoundNames{Data: []FoundName{}}
	if err := in.check(); err != nil {
		return found, err
	}
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return found, err
	}
	q, all := search.Parse(in.Q), strings.TrimSpace(in.Q) == ""
	marker := search.MarkerOf(q)
	_, err = db.List(ctx, c.Tx, func(row db.Row) (n FoundName, err error) {
		if err = row.Scan(&n.ID, &n.Type, &n.Name); err != nil {
			return n, err
		}
		if n.Exact = search.Same(in.Q, n.Name); n.Exact || all || q.Holds(wordsOf(n.Name)) {
			n.Marks = append([]search.Span{}, marker.Text(n.Name)...)
			found.Data = append(found.Data, n)
		}
		return n, nil
	}, selectActive, o.Live)
	if err != nil {
		return found, err
	}
	slices.SortStableFunc(found.Data, func(a, b FoundName) int {
		return cmp.Or(cmp.Compare(a.weight(), b.weight()), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	if limit := cmp.Or(in.Limit, defaultFound); len(found.Data) > limit {
		found.Data, found.More = found.Data[:limit], true
	}
	return found, nil
}

func (in FindNamesInput) check() error {
	var wrong []fault.Field
	if utf8.RuneCountInString(in.Q) > maxSearchedName {
		wrong = append(wrong, fault.Field{Name: "q", Code: fault.TooLong, Limit: maxSearchedName})
	}
	if in.Limit < 0 || in.Limit > maxFound {
		wrong = append(wrong, fault.Field{
			Name:  "limit",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: maxFound},
		})
	}
	if wrong != nil {
		return fault.Invalid(wrong...)
	}
	return nil
}

// weight returns 0 for exact matches and 1 for others, so that exact matches come first.
func (n FoundName) weight() int {
	if n.Exact {
		return 0
	}
	return 1
}

// wordsOf returns the words of a name.
func wordsOf(name string) *search.Document {
	var words search.Document
	words.Add(search.Name, name)
	return &words
}
