package duplicate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/duplicate"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// hasty is a clock whose waits end at once.
type hasty struct{ clock.Clock }

func (hasty) After(time.Duration) <-chan time.Time { return clock.System.After(0) }

// world is an office with its expected pairs.
type world struct {
	*apitest.Client
	ctx          context.Context
	finder       *duplicate.Finder
	organization int64
	// records are the living records, by id.
	records map[string]*duplicate.Subject
	// dismissed are the dismissed pairs of living records, as "first second".
	dismissed map[string]bool
}

func newWorld(t *testing.T, d db.DB) *world {
	o := apitest.New(t, d, apitest.Replicas(1))
	w := &world{
		Client: o.As(access.Member), ctx: context.Background(), finder: newFinder(o.DB, o.Clock),
		records: map[string]*duplicate.Subject{}, dismissed: map[string]bool{},
	}
	w.Inside(func(_ context.Context, c *op.Call) error {
		w.organization = c.Actor.Org()
		return nil
	})
	return w
}

// newFinder returns a finder for which no key of a test is too common.
func newFinder(d db.DB, c clock.Clock) *duplicate.Finder {
	return duplicate.NewFinder(d, hasty{c}).Bound(1000, 1000)
}

// once lets the finder catch up.
func (w *world) once() {
	w.Helper()
	if err := w.finder.Once(w.ctx); err != nil {
		w.Fatal(err)
	}
}

// create creates a contact or a company, and returns its id.
func (w *world) create(members any) (id string) {
	w.Helper()
	w.Inside(func(ctx context.Context, c *op.Call) error {
		var text []byte
		switch f := members.(type) {
		case contact.Fields:
			made, err := contact.Contacts.Create(ctx, c, &f)
			text = made.AppendJSON(nil)
			return w.created(text, err, &id)
		case company.Fields:
			made, err := company.Companies.Create(ctx, c, &f)
			text = made.AppendJSON(nil)
			return w.created(text, err, &id)
		}
		return nil
	})
	w.look(id, members)
	return id
}

func (w *world) created(text []byte, err error, id *string) error {
	if err != nil {
		return err
	}
	var r struct{ ID string }
	err = json.Unmarshal(text, &r)
	*id = r.ID
	return err
}

func (w *world) look(id string, members any) {
	switch f := members.(type) {
	case contact.Fields:
		w.records[id] = duplicate.OfContact(&f)
	case company.Fields:
		w.records[id] = duplicate.OfCompany(&f)
	}
}

// change replaces the members of a contact.
func (w *world) change(id string, f contact.Fields) {
	w.Helper()
	w.Inside(func(ctx context.Context, c *op.Call) error {
		_, err := contact.Contacts.Act(ctx, c, id, "updated", func(after *contact.Fields) error {
			f.CommonFields = after.CommonFields
			f.Normalize()
			*after = f
			return nil
		})
		return err
	})
	w.look(id, f)
}

func (w *world) delete(id string) {
	w.Helper()
	w.Inside(func(ctx context.Context, c *op.Call) (err error) {
		if strings.HasPrefix(id, "con_") {
			_, err = contact.Contacts.Delete(ctx, c, op.ByID{ID: id})
		} else {
			_, err = company.Companies.Delete(ctx, c, op.ByID{ID: id})
		}
		return err
	})
	delete(w.records, id)
	maps.DeleteFunc(w.dismissed, func(pair string, _ bool) bool { return strings.Contains(pair, id) })
}

func (w *world) dismiss(a, b string, undo bool) {
	w.Helper()
	w.Inside(func(ctx context.Context, c *op.Call) error {
		if _, err := c.Tx.Tick(ctx, w.organization, c.Now); err != nil {
			return err
		}
		if undo {
			duplicate.Restore(c.Tx, w.organization, a, b)
		} else {
			family := "contacts"
			if strings.HasPrefix(a, "cmp_") {
				family = "companies"
			}
			duplicate.Dismiss(c.Tx, w.organization, family, a, b, c.Now)
		}
		return nil
	})
	if pair := min(a, b) + " " + max(a, b); undo {
		delete(w.dismissed, pair)
	} else {
		w.dismissed[pair] = true
	}
}

// stored returns the stored pairs with their strengths and reasons.
func (w *world) stored() map[string]string {
	w.Helper()
	pairs := map[string]string{}
	err := w.DB.Read(w.ctx, func(tx db.Tx) error {
		for _, family := range []string{"contacts", "companies"} {
			for _, dismissed := range []bool{false, true} {
				list, err := duplicate.List(w.ctx, tx, w.organization, family, dismissed, nil, 10_000)
				if err != nil {
					return err
				}
				for _, p := range list {
					pairs[p.First+" "+p.Second] = fmt.Sprint(family, p.Match, dismissed)
				}
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return pairs
}

// expected returns the pairs of all records by Compare.
func (w *world) expected() map[string]string {
	pairs := map[string]string{}
	ids := slices.Sorted(maps.Keys(w.records))
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			x, y := w.records[a], w.records[b]
			m, match := duplicate.Compare(x, y)
			if keys := y.Keys(); match && slices.ContainsFunc(x.Keys(),
				func(k int64) bool { return slices.Contains(keys, k) }) {
				pairs[a+" "+b] = fmt.Sprint(x.Family, m, w.dismissed[a+" "+b])
			}
		}
	}
	return pairs
}

// check compares the stored pairs with the expected ones, and the stored keys with the keys of the
// living records.
func (w *world) check() {
	w.Helper()
	got, want := w.stored(), w.expected()
	for p, m := range want {
		if got[p] != m {
			w.Errorf("%s is %q, want %q", p, got[p], m)
		}
	}
	for p, m := range got {
		if want[p] == "" {
			w.Errorf("%s is %q, and should not be", p, m)
		}
	}
	keys := 0
	for _, s := range w.records {
		keys += len(s.Keys())
	}
	for table, n := range map[string]int{"duplicate_keys": keys, "duplicate_records": len(w.records),
		"duplicate_dismissals": len(w.dismissed)} {
		if has := dbtest.Count(w.TB, w.DB, table); has != n {
			w.Errorf("%s has %d rows, want %d", table, has, n)
		}
	}
}

// drawn returns a contact of few values, so that many are alike.
func drawn(r *rand.Rand) contact.Fields {
	one := func(list ...string) *string {
		if i := r.IntN(len(list) + 1); i < len(list) {
			return &list[i]
		}
		return nil
	}
	f := contact.Fields{
		FirstName: one("Anna", "Hanna", "Karl", "Karla", "A."), LastName: new([]string{"Berg", "Meier", "Mayr",
			"Schneider", "Scheider"}[r.IntN(5)]),
		Email: one("anna@mail.example", "info@kanzlei.example", "karl@mail.example"), Birthday: one("1984-05-17",
			"1950-01-02"),
		Mobile: one("0171 1234567", "+49 171 7654321"), Phone: one("0221 987654"),
	}
	if city := one("Köln", "Koeln", "Bonn"); city != nil {
		f.Address = &record.Address{City: city}
	}
	if r.IntN(4) == 0 {
		f.Visibility = record.Private
	}
	return f
}

func drawnFirm(r *rand.Rand) company.Fields {
	f := company.Fields{Name: []string{"Rheinbau GmbH", "Rhein-Bau AG", "Rheinbau", "Brauhaus Morgenstern",
		"Morgenstern", "Brauhaus Morgenstren KG"}[r.IntN(6)]}
	if r.IntN(2) == 0 {
		f.Phone = new("0221 987654")
	}
	if r.IntN(2) == 0 {
		f.Address = &record.Address{City: new("Köln")}
	}
	return f
}

// TestFinderAgreesWithCompare checks that the pairs after random changes equal the result of a
// comparison of all records with all others that have a key in common.
func TestFinderAgreesWithCompare(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w, r := newWorld(t, d), seed.Rand(t)
		for i := range 160 {
			ids := slices.Sorted(maps.Keys(w.records))
			switch n := r.IntN(10); {
			case n < 5 || len(ids) < 4:
				if r.IntN(4) == 0 {
					w.create(drawnFirm(r))
				} else {
					w.create(drawn(r))
				}
			case n < 7:
				if id := ids[r.IntN(len(ids))]; strings.HasPrefix(id, "con_") {
					w.change(id, drawn(r))
				}
			case n < 8:
				w.delete(ids[r.IntN(len(ids))])
			default:
				if pairs := slices.Sorted(maps.Keys(w.expected())); len(pairs) > 0 {
					pair := pairs[r.IntN(len(pairs))]
					a, b, _ := strings.Cut(pair, " ")
					w.dismiss(a, b, w.dismissed[pair])
				}
			}
			if r.IntN(12) == 0 || i == 159 {
				w.once()
				w.check()
			}
			if t.Failed() {
				return
			}
		}
		if len(w.expected()) < 20 {
			t.Errorf("only %d pairs", len(w.expected()))
		}
	})
}
