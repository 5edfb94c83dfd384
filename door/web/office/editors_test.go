package office_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"pgregory.net/rapid"
)

// TestEditorsLoseNothing has two people edit a contact through the pages, in any
// order, with forms of any age. A model says what is stored. A typed value is stored,
// or shown with the value of the other one. It is never lost, and never written over
// a value that was not seen.
func TestEditorsLoseNothing(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	ida := open(t, o, access.Member)
	jan := &browser{t, ida.handler, o.Session(o.As(access.Member).Principal)}
	editors := []*browser{ida, jan}
	members := []string{"mobile", "jobTitle", "address.city"}
	rapid.Check(t, func(t *rapid.T) {
		o.Clock.Advance(time.Minute) // as many changes as people make
		path := ida.get("/contacts/new").send("/contacts/new", "lastName", "Streit").want(303).Location
		stored, open := map[string]string{}, []*page{ida.get(path + "/edit"), jan.get(path + "/edit")}
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			who := rapid.IntRange(0, 1).Draw(t, "who")
			form := open[who]
			typed := map[string]string{}
			var set []string
			for _, m := range rapid.SliceOfNDistinct(rapid.SampledFrom(members), 1, 3, rapid.ID[string]).Draw(t, "members") {
				typed[m] = rapid.SampledFrom([]string{"", "eins", "zwei", "drei"}).Draw(t, m)
				set = append(set, m, typed[m])
			}
			seen := form.fields(path)
			answer := form.send(path, set...)
			for answer.Status == 409 {
				conflicts := 0
				for _, m := range members {
					is, mine, was := stored[m], typedOr(typed, seen, m), seen.Get("was."+m)
					if mine == was || mine == is || is == was {
						if strings.Contains(answer.Body, `name="pick.`+m+`"`) {
							t.Fatalf("%s: %q, %q, %q is a conflict", m, was, is, mine)
						}
						continue
					}
					conflicts++
					if got := answer.fields(path); got.Get("was."+m) != is || got.Get("mine."+m) != mine {
						t.Fatalf("%s: the decision shows %q and %q of %q and %q", m, got.Get("was."+m), got.Get("mine."+m), is, mine)
					}
				}
				if conflicts == 0 {
					t.Fatalf("nothing is in conflict\n%s", answer.main())
				}
				answer = answer.send(path) // one's own values are chosen
			}
			answer.want(303)
			for _, m := range members {
				if mine := typedOr(typed, seen, m); mine != seen.Get("was."+m) {
					stored[m] = mine
				}
			}
			now := editors[who].get(path + "/edit")
			fields := now.fields(path)
			for _, m := range members {
				if fields.Get(m) != stored[m] {
					t.Fatalf("%s is %q, want %q", m, fields.Get(m), stored[m])
				}
			}
			open[who] = now
		}
	})
}

// typedOr returns what was typed in a field, or what the form had.
func typedOr(typed map[string]string, form interface{ Get(string) string }, name string) string {
	if text, ok := typed[name]; ok {
		return text
	}
	return form.Get(name)
}
