package records_test

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestReferencesAreTyped checks references that are sent as text, as by a browser without scripts.
// The page reports each text that it cannot resolve.
func TestReferencesAreTyped(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		name, jan := "Jan Öztürk", o.As(access.Member).Principal
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: jan, Name: &name}); err != nil {
			t.Fatal(err)
		}
		company := b.Get("/companies/new").Send("/companies/new", "name", "Rheinbau GmbH").Want(303).Location
		for _, number := range []string{"0221 1111", "0221 2222"} {
			b.Get("/contacts/new").Send("/contacts/new", "firstName", "Brigitte", "lastName", "Müller", "phone", number).Want(303)
		}

		// A single match is taken, also for a person. An empty text clears the reference.
		task := b.Get("/tasks/new").Want(200).Send("/tasks/new", "title", "Rückruf", "companyId-text", "rheinb", "assigneeId-text", "oeztuerk").Want(303).Location
		b.Get(task).Want(200, "Rheinbau GmbH", "Jan Öztürk")
		b.Get(task+"/edit").Want(200).Send(task, "title", "Rückruf heute").Want(303)
		b.Get(task).Want(200, "Rheinbau GmbH", "Jan Öztürk", "Rückruf heute")
		b.Get(task+"/edit").Send(task, "companyId-text", "", "assigneeId-text", "ich").Want(303)
		if got := b.Get(task).Want(200, "Petra Morgenstern").Body; strings.Contains(got, company) {
			t.Error("a reference whose text was emptied is still there")
		}

		// A text without a match stays in its field. All other typed texts stay too.
		b.Get("/tasks/new").Send("/tasks/new", "title", "Frist", "contactId-text", "Niemand").
			Want(422, `value="Niemand"`, `value="Frist"`, "wurde nicht gefunden", `aria-invalid="true"`).
			Send("/tasks/new", "contactId-text", "").Want(303)
		b.Get(task+"?edit=contactId").Send(task, "contactId-text", strings.Repeat("x", 201)).Want(422, "nicht gefunden")

		// For several matches, the form offers choices. Without a choice, the form is refused
		// again.
		asked := b.Get("/tasks/new").Send("/tasks/new", "title", "Termin", "contactId-text", "Brigitte Müller").Want(422, "nicht eindeutig", "0221 1111", "0221 2222")
		asked.Send("/tasks/new").Want(422, "nicht eindeutig")
		second := pagetest.Between(asked.Body, `name="contactId-pick" value="`, `"`)
		if len(second) != 2 {
			t.Fatalf("choices: %s", second)
		}
		picked := asked.Send("/tasks/new", "contactId-pick", second[1]).Want(303).Location
		b.Get(picked).Want(200, "/contacts/"+second[1])
		// A changed text overrides a choice among the former matches.
		asked.Send("/tasks/new", "contactId-pick", second[1], "contactId-text", "Niemand").Want(422, "wurde nicht gefunden")

		// The reference to a hidden record stays, although its text is empty.
		other := pagetest.Open(t, o, access.Member)
		other.Cookie = o.Session(o.As(access.Member).Principal)
		secret := strings.TrimPrefix(other.Get("/contacts/new").Send("/contacts/new", "lastName", "Geheim", "visibility", "private").Want(303).Location, "/contacts/")
		shared := other.Get("/tasks/new").Send("/tasks/new", "title", "Geteilt", "contactId-text", "Geheim").Want(303).Location
		b.Get(shared+"/edit").Want(200).Send(shared, "title", "Geteilt!").Want(303)
		other.Get(shared).Want(200, secret, "Geteilt!")
	})
}

// TestChoicesOfPeople checks the people who are offered while a person types. The person comes
// first.
func TestChoicesOfPeople(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		name, yes := "Anna Ärger", true
		for _, change := range []principal.Change{{ID: o.User(access.Member), Name: &name}, {ID: o.User(access.Member), Disabled: &yes}} {
			if _, err := o.Operator.SetUser(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		all := b.Get("/choices/people?list=x").Want(200).Body
		if me, other := strings.Index(all, "ich"), strings.Index(all, "Anna Ärger"); me < 0 || other < me || strings.Count(all, `role="option"`) != 2 {
			t.Errorf("people for an empty field: %s", all)
		}
		if got := b.Get("/choices/people?list=x&q=aer").Want(200, "Anna <mark>Är</mark>ger").Body; strings.Count(got, `role="option"`) != 1 {
			t.Errorf("people for a text: %s", got)
		}
		b.Get("/contacts?q="+strings.Repeat("x", 201)).Want(400, "Suchtext: Höchstens 200 Zeichen")
	})
}
