package office_test

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestReferencesAreTyped fills references by their texts, as a browser without script
// sends them. No text is lost unseen.
func TestReferencesAreTyped(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		name, jan := "Jan Öztürk", o.As(access.Member).Principal
		if _, err := o.Operator.SetUser(t.Context(), settings.PrincipalChange{ID: jan, Name: &name}); err != nil {
			t.Fatal(err)
		}
		company := b.get("/companies/new").send("/companies/new", "name", "Rheinbau GmbH").want(303).Location
		for _, number := range []string{"0221 1111", "0221 2222"} {
			b.get("/contacts/new").send("/contacts/new", "firstName", "Brigitte", "lastName", "Müller", "phone", number).want(303)
		}

		// One hit is the value, also if it is a person; nothing and an empty text clear.
		task := b.get("/tasks/new").want(200).send("/tasks/new", "title", "Rückruf", "companyId-text", "rheinb", "assigneeId-text", "oeztuerk").want(303).Location
		b.get(task).want(200, "Rheinbau GmbH", "Jan Öztürk")
		b.get(task+"/edit").want(200).send(task, "title", "Rückruf heute").want(303)
		b.get(task).want(200, "Rheinbau GmbH", "Jan Öztürk", "Rückruf heute")
		b.get(task+"/edit").send(task, "companyId-text", "", "assigneeId-text", "ich").want(303)
		if got := b.get(task).want(200, "Petra Morgenstern").Body; strings.Contains(got, company) {
			t.Error("a reference whose text was emptied is still there")
		}

		// A text that names nobody stays in its field, with all other typed texts.
		b.get("/tasks/new").send("/tasks/new", "title", "Frist", "contactId-text", "Niemand").
			want(422, `value="Niemand"`, `value="Frist"`, "wurde nicht gefunden", `aria-invalid="true"`).
			send("/tasks/new", "contactId-text", "").want(303)
		b.get(task+"?edit=contactId").send(task, "contactId-text", strings.Repeat("x", 201)).want(422, "nicht gefunden")

		// Several are offered. Without a choice it is asked again.
		asked := b.get("/tasks/new").send("/tasks/new", "title", "Termin", "contactId-text", "Brigitte Müller").want(422, "nicht eindeutig", "0221 1111", "0221 2222")
		asked.send("/tasks/new").want(422, "nicht eindeutig")
		second := between(asked.Body, `name="contactId-pick" value="`, `"`)
		if len(second) != 2 {
			t.Fatalf("choices: %s", second)
		}
		picked := asked.send("/tasks/new", "contactId-pick", second[1]).want(303).Location
		b.get(picked).want(200, "/contacts/"+second[1])
		// Another text outweighs a choice among the former ones.
		asked.send("/tasks/new", "contactId-pick", second[1], "contactId-text", "Niemand").want(422, "wurde nicht gefunden")

		// A hidden record keeps its reference though its text is empty.
		other := open(t, o, access.Member)
		other.cookie = o.Session(o.As(access.Member).Principal)
		secret := strings.TrimPrefix(other.get("/contacts/new").send("/contacts/new", "lastName", "Geheim", "visibility", "private").want(303).Location, "/contacts/")
		shared := other.get("/tasks/new").send("/tasks/new", "title", "Geteilt", "contactId-text", "Geheim").want(303).Location
		b.get(shared+"/edit").want(200).send(shared, "title", "Geteilt!").want(303)
		other.get(shared).want(200, secret, "Geteilt!")
	})
}

// TestChoicesOfPeople offers people while one types: oneself first.
func TestChoicesOfPeople(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		name, yes := "Anna Ärger", true
		for _, change := range []settings.PrincipalChange{{ID: o.User(access.Member), Name: &name}, {ID: o.User(access.Member), Disabled: &yes}} {
			if _, err := o.Operator.SetUser(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		all := b.get("/choices/people?list=x").want(200).Body
		if me, other := strings.Index(all, "ich"), strings.Index(all, "Anna Ärger"); me < 0 || other < me || strings.Count(all, `role="option"`) != 2 {
			t.Errorf("people for an empty field: %s", all)
		}
		if got := b.get("/choices/people?list=x&q=aer").want(200, "Anna <mark>Är</mark>ger").Body; strings.Count(got, `role="option"`) != 1 {
			t.Errorf("people for a text: %s", got)
		}
		b.get("/contacts?q="+strings.Repeat("x", 201)).want(400, "Suchtext: Höchstens 200 Zeichen")
	})
}
