package app_test

import (
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/seed"
	"kartei/web/shell"
)

// TestEditorsLoseNothing lets two people edit and undo changes of a contact in random order, with
// forms of any age. A model has the expected values.
//
// Each entered value is stored, or shown beside the other person's value until a person decides. It
// is never lost, and never replaces a value that the person has not seen.
func TestEditorsLoseNothing(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	ida := pagetest.Open(t, o, access.Member)
	jan := &pagetest.Browser{T: t, Handler: ida.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
	happened := map[string]int{}
	seed.Check(t, func(t *rapid.T) {
		o.Clock.Advance(time.Minute) // so that people are not limited by the rate of changes
		path := ida.Get("/contacts/new").Send("/contacts/new", "lastName", "Streit").Want(303).Location
		e := editors{T: t, path: path, people: []*pagetest.Browser{ida, jan}, stored: map[string]string{}, happened: happened}
		e.forms, e.undo = []*pagetest.Page{ida.Get(path + "/edit"), jan.Get(path + "/edit")}, make([]takeBack, 2)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			who := rapid.IntRange(0, 1).Draw(t, "who")
			if e.undo[who].note != nil && rapid.Bool().Draw(t, "undo") {
				e.takeBack(who)
			} else {
				e.edit(who, e.forms[who], true)
			}
			e.forms[who] = e.people[who].Get(path + "/edit")
			fields := e.forms[who].Fields(path)
			for _, m := range e.members() {
				if is := valueIn(fields, m); is != e.stored[m] {
					t.Fatalf("%s is %q, want %q", m, is, e.stored[m])
				}
			}
		}
	})
	if testing.Short() {
		return // too few stories for each event to occur
	}
	for _, what := range []string{"theirs", "mine", "other", "changed while one decided", "undone", "not undone"} {
		if happened[what] == 0 && !t.Failed() {
			t.Errorf("never happened: %s", what)
		}
	}
}

// editors is the state of two people who edit one contact, with a model of the stored values.
type editors struct {
	*rapid.T
	path   string
	people []*pagetest.Browser
	// forms are the form that each person has open. undo is the last change of each person.
	forms []*pagetest.Page
	undo  []takeBack
	// stored is the expected value of each member.
	stored   map[string]string
	happened map[string]int
}

// takeBack is a change that can be undone: the page with the undo button, and the changed members
// before and after.
type takeBack struct {
	note          *pagetest.Page
	before, after map[string]string
}

// list is a member whose value is a list. A form has it as rows.
const list = "additionalPhones"

func (e *editors) members() []string { return []string{"mobile", "jobTitle", "address.city", list} }

// value draws a value for a member. name ends with the name of the member.
func (e *editors) value(name string) string {
	if strings.HasSuffix(name, list) {
		return rapid.SampledFrom([]string{"", numbers("eins"), numbers("zwei", "eins"), numbers("drei")}).Draw(e.T, name)
	}
	return rapid.SampledFrom([]string{"", "eins", "zwei", "drei"}).Draw(e.T, name)
}

// numbers returns a list of numbers as the API writes it.
func numbers(all ...string) string {
	var entries []shell.Values
	for i, number := range all {
		entries = append(entries, shell.Values{"phone": number, "label": []string{"work", "Empfang"}[i]})
	}
	return shell.EntryList(list, entries)
}

// setValue sets a member in a form.
func setValue(form url.Values, name, value string) {
	if name != list {
		form.Set(name, value)
		return
	}
	form.Del(list + ".phone")
	form.Del(list + ".label")
	for _, entry := range append(shell.Entries(value), shell.Values{}) { // a blank row is left
		form.Add(list+".phone", entry["phone"])
		form.Add(list+".label", strings.Replace(entry["label"], "work", "geschäftlich", 1))
	}
}

// valueIn returns a member as a form has it.
func valueIn(form interface{ Get(string) string }, name string) string {
	sent, rows := form.(url.Values)
	if name != list || !rows {
		return form.Get(name)
	}
	var entries []shell.Values
	for i, number := range sent[list+".phone"] {
		label := strings.Replace(sent[list+".label"][i], "geschäftlich", "work", 1)
		entries = append(entries, shell.Values{"phone": number, "label": label})
	}
	return shell.EntryList(list, entries)
}

// edit sends a form with some members changed, and resolves conflicts until it is stored. If
// disturbed is set, the other person may change the contact in between.
func (e *editors) edit(who int, form *pagetest.Page, disturbed bool) {
	sent := form.Fields(e.path)
	typed := map[string]string{}
	for _, m := range rapid.SliceOfNDistinct(rapid.SampledFrom(e.members()), 1, 4, rapid.ID[string]).Draw(e.T, "members") {
		typed[m] = e.value(m)
		setValue(sent, m, typed[m])
	}
	answer := e.send(who, sent)
	for answer.Status == 409 {
		typed, sent = e.decide(answer, sent, typed)
		if disturbed && rapid.Bool().Draw(e.T, "disturbed") {
			e.edit(1-who, e.people[1-who].Get(e.path+"/edit"), false)
			e.happened["changed while one decided"]++
		}
		answer = e.send(who, sent)
	}
	set := map[string]string{}
	for _, m := range e.members() {
		if mine := typedOr(typed, sent, m); mine != sent.Get("was."+m) {
			set[m] = mine
		}
	}
	e.store(who, answer, set)
}

// send sends a form as a script does. The response then has an undo button.
func (e *editors) send(who int, form url.Values) *pagetest.Page {
	return e.people[who].Do("POST", e.path, form, "HX-Request", "true")
}

// store updates the model by set, and stores the undo button of the response for takeBack.
func (e *editors) store(who int, answer *pagetest.Page, set map[string]string) {
	answer.Want(200)
	e.undo[who] = takeBack{}
	done := takeBack{answer, map[string]string{}, map[string]string{}}
	for m, value := range set {
		if e.stored[m] != value {
			done.before[m], done.after[m] = e.stored[m], value
		}
	}
	maps.Copy(e.stored, set)
	if offered := strings.Contains(answer.Body, `name="undo"`); offered != (len(done.after) > 0) {
		e.Fatalf("%v changed, and it is offered to take it back: %t\n%s", done.after, offered, answer.Main())
	} else if offered {
		e.undo[who] = done
	}
}

// decide checks that the page shows exactly the conflicts, with both values of each. It returns the
// decided values and the form with them.
func (e *editors) decide(answer *pagetest.Page, sent url.Values, typed map[string]string) (map[string]string, url.Values) {
	form, decided, conflicts := answer.Fields(e.path), map[string]string{}, 0
	for _, m := range e.members() {
		is, mine, was := e.stored[m], typedOr(typed, sent, m), sent.Get("was."+m)
		if mine == was || mine == is || is == was {
			if strings.Contains(answer.Body, `name="pick.`+m+`"`) {
				e.Fatalf("%s: %q, %q, %q is a conflict", m, was, is, mine)
			}
			want := is
			if mine != was {
				want = mine
			}
			if got := valueIn(form, m); got != want || form.Get("was."+m) != is {
				e.Fatalf("%s: a decision about others has %q of %q, %q, %q", m, got, was, is, mine)
			}
			continue
		}
		conflicts++
		if form.Get("was."+m) != is || form.Get("mine."+m) != mine || !strings.Contains(answer.Body, `name="pick.`+m+`"`) {
			e.Fatalf("%s: the decision shows %q and %q of %q and %q", m, form.Get("was."+m), form.Get("mine."+m), is, mine)
		}
		pick := rapid.SampledFrom([]string{"theirs", "mine", "other"}).Draw(e.T, "pick")
		e.happened[pick]++
		form.Set("pick."+m, pick)
		decided[m] = map[string]string{"theirs": is, "mine": mine}[pick]
		if other := e.value("other " + m); pick == "other" {
			decided[m] = other
			setValue(form, m, other)
		} else if m == list {
			setValue(form, m, numbers("verworfen"))
		} else {
			form.Set(m, "verworfen") // this field counts only if the pick is other
		}
	}
	if conflicts == 0 {
		e.Fatalf("nothing is in conflict\n%s", answer.Main())
	}
	return decided, form
}

// takeBack undoes the last change of one person. If one of its members has been changed again,
// nothing is undone, and the page says so.
func (e *editors) takeBack(who int) {
	u := e.undo[who]
	answer := u.note.Undo()
	for m, after := range u.after {
		if is := e.stored[m]; is != after && is != u.before[m] {
			answer.Want(200, "Nicht zurückgenommen. Inzwischen noch einmal geändert")
			e.undo[who] = takeBack{}
			e.happened["not undone"]++
			return
		}
	}
	e.store(who, answer, u.before)
	e.happened["undone"]++
}

// typedOr returns the entered value of a field, or else the value in the form.
func typedOr(typed map[string]string, form interface{ Get(string) string }, name string) string {
	if text, ok := typed[name]; ok {
		return text
	}
	return valueIn(form, name)
}
