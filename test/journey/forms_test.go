package journey

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// ways are the ways in which people use forms: with a mouse and scripts, without scripts, and on a
// phone.
var ways = []webtest.View{
	{Width: 1280, Language: "de"},
	{Width: 1280, NoScript: true, Language: "de"},
	{Width: 320, Touch: true, Language: "de"},
}

// person is a contact in the form of the API.
type person struct {
	ID, LastName, FirstName string
	Mobile, JobTitle, Email *string
	Revision                int
}

func (o *Office) contact(id string) (p person) {
	o.Helper()
	o.Call("GET", "/contacts/"+id, nil, &p)
	return p
}

func (o *Office) newContact(fields map[string]any) string {
	o.Helper()
	var made person
	o.Call("POST", "/contacts", fields, &made)
	return made.ID
}

// submitButton is the selector of the button that sends the form of the page.
const submitButton = `main form[method="post"] button[type="submit"]:not([name])`

func submit(tab *webtest.Tab) { tab.Click(submitButton) }

// eachWay runs a test on both engines and in each of the ways.
func eachWay(t *testing.T, story func(t *testing.T, o *Office, v webtest.View)) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20))
		for _, v := range ways {
			t.Log(v)
			story(t, o, v)
		}
	})
}

// TestForm checks that a contact can be created and corrected. An invalid email address is reported
// beside its field, and no input is lost.
func TestForm(t *testing.T) {
	eachWay(t, func(t *testing.T, o *Office, v webtest.View) {
		tab := o.SignedIn(o.Jonas(), v)
		tab.Open(o.BaseURL + "/contacts/new")
		tab.Fill(`[name="firstName"]`, "Änne")
		tab.Fill(`[name="lastName"]`, "Süßmilch")
		tab.Fill(`[name="email"]`, "keine Adresse")
		submit(tab)
		tab.Until(`document.querySelector('[name="email"][aria-invalid="true"]')`)
		for name, typed := range map[string]string{"firstName": "Änne", "lastName": "Süßmilch", "email": "keine Adresse"} {
			if kept := webtest.Eval[string](tab, fmt.Sprintf(`document.querySelector('[name="%s"]').value`,
				name)); kept != typed {
				t.Errorf("after the refusal, %s is %q", name, kept)
			}
		}
		if described := webtest.Eval[string](tab,
			`document.querySelector('[name="email"]').getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).innerText).join(" ")`); described == "" {
			t.Error("the field does not say what is wrong")
		}
		tab.Fill(`[name="email"]`, "aenne@example.com")
		submit(tab)
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		id := strings.TrimPrefix(tab.Path(), "/contacts/")
		if made := o.contact(id); made.LastName != "Süßmilch" || made.FirstName != "Änne" || made.Email == nil ||
			*made.Email != "aenne@example.com" {
			t.Errorf("the contact is %+v", made)
		}
		tab.Open(o.BaseURL + "/contacts/" + id + "/edit")
		tab.Fill(`[name="mobile"]`, "0221 987654")
		submit(tab)
		tab.At("/contacts/" + id)
		tab.Says("0221 987654")
		if now := o.contact(id); now.Mobile == nil || *now.Mobile != "0221 987654" || now.Revision != 2 {
			t.Errorf("corrected, the contact is %+v", now)
		}
	})
}

// TestTwoEditors checks that two people can edit the same contact at the same time. Changes of
// different fields are stored without a question. If both change the same field, the second person
// sees all three values and decides.
func TestTwoEditors(t *testing.T) {
	eachWay(t, func(t *testing.T, o *Office, v webtest.View) {
		id := o.newContact(map[string]any{"lastName": "Streit", "mobile": "0170 1"})
		edit := "/contacts/" + id + "/edit"
		helene, jonas := o.SignedIn(o.Helene(), v), o.SignedIn(o.Jonas(), v)
		helene.Open(o.BaseURL + edit)
		jonas.Open(o.BaseURL + edit)
		helene.Fill(`[name="jobTitle"]`, "Notarin")
		submit(helene)
		helene.At("/contacts/" + id)
		jonas.Fill(`[name="mobile"]`, "0170 2")
		submit(jonas)
		jonas.At("/contacts/" + id)
		if now := o.contact(id); now.JobTitle == nil || *now.JobTitle != "Notarin" || now.Mobile == nil ||
			*now.Mobile != "0170 2" {
			t.Fatalf("after changes of different fields: %+v", now)
		}

		helene.Open(o.BaseURL + edit)
		jonas.Open(o.BaseURL + edit)
		helene.Fill(`[name="mobile"]`, "0170 33")
		submit(helene)
		helene.At("/contacts/" + id)
		jonas.Fill(`[name="mobile"]`, "0170 44")
		submit(jonas)
		jonas.Until(`document.querySelector("fieldset.decision")`)
		said := webtest.Eval[string](jonas, `document.querySelector("fieldset.decision").innerText`)
		for _, value := range []string{"0170 2", "0170 33", "0170 44"} {
			if !strings.Contains(said, value) {
				t.Errorf("the decision does not show %s: %s", value, said)
			}
		}
		if now := o.contact(id); *now.Mobile != "0170 33" {
			t.Errorf("before the decision, the number is %s", *now.Mobile)
		}
		jonas.Until(`document.activeElement.contains(document.querySelector("form .banner"))`)
		submit(jonas) // no value is chosen, so the form is not sent
		if now := o.contact(id); *now.Mobile != "0170 33" {
			t.Errorf("without a decision, the number is %s", *now.Mobile)
		}
		jonas.Click(`fieldset.decision input[value="mine"]`)
		submit(jonas)
		jonas.Until(`!document.querySelector("fieldset.decision") && document.readyState === "complete"`)
		if now := o.contact(id); *now.Mobile != "0170 44" {
			t.Errorf("after the decision, the number is %s", *now.Mobile)
		}
	})
}

// TestFormTwice checks that a double click on the button creates one contact.
func TestFormTwice(t *testing.T) {
	eachWay(t, func(t *testing.T, o *Office, v webtest.View) {
		tab := o.SignedIn(o.Jonas(), v)
		tab.Open(o.BaseURL + "/contacts/new")
		name := fmt.Sprintf("Doppel%d%t", v.Width, v.NoScript)
		tab.Fill(`[name="lastName"]`, name)
		tab.DoubleClick(submitButton)
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		var found struct{ Data []person }
		o.Call("GET", "/contacts?limit=10&q="+name, nil, &found)
		if len(found.Data) != 1 {
			t.Errorf("%s: there are %d contacts", v, len(found.Data))
		}
	})
}

// TestLeavingAForm checks that the browser asks before it leaves a form with input, and only then.
func TestLeavingAForm(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/contacts/new")
	const asks = `!window.dispatchEvent(new Event("beforeunload", { cancelable: true }))`
	expect := func(when string, want bool) {
		t.Helper()
		if got := webtest.Eval[bool](tab, asks); got != want {
			t.Errorf("%s: it asks: %t", when, got)
		}
	}
	expect("an empty form", false)
	tab.Fill(`[name="lastName"]`, "Halb")
	expect("a name was typed", true)
	tab.Fill(`[name="email"]`, "keine Adresse")
	submit(tab)
	tab.Until(`document.querySelector("[aria-invalid]")`)
	expect("it was refused", true)
	tab.Fill(`[name="email"]`, "halb@example.com")
	submit(tab)
	tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
	expect("it was sent", false)
}

// TestTags checks that the form suggests existing tags while a person types, and shows chosen tags
// as boxes. A comma ends a tag.
func TestTags(t *testing.T) {
	eachWay(t, func(t *testing.T, o *Office, v webtest.View) {
		if v.NoScript {
			return
		}
		o.newContact(map[string]any{"lastName": "Alt", "tags": []string{"Testamentsvollstreckung"}})
		tab := o.SignedIn(o.Jonas(), v)
		tab.Open(o.BaseURL + "/contacts/new")
		tab.Fill(`[name="lastName"]`, map[bool]string{false: "Zwetschke", true: "Quitte"}[v.Touch]) // two names that are not similar
		tab.Click(`.tagging [role="combobox"]`)
		tab.Type("testam")
		tab.Until(`document.querySelector('.tagging [role="option"][data-value="Testamentsvollstreckung"]')`)
		if v.Touch {
			tab.Click(`.tagging [role="option"]`)
		} else {
			tab.Press(webtest.Enter)
		}
		tab.Until(`document.querySelectorAll('.tagging .chip').length === 1`)
		tab.Type("Zwei Wörter,")
		tab.Until(`document.querySelectorAll('.tagging .chip').length === 2`)
		if said := tab.Console(); len(said) > 0 {
			t.Errorf("%s: the console says %q", v, said)
		}
		submit(tab)
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		var made struct{ Tags []string }
		o.Call("GET", tab.Path(), nil, &made)
		if !slices.Equal(made.Tags, []string{"Testamentsvollstreckung", "Zwei Wörter"}) {
			t.Errorf("%s: the tags are %q", v, made.Tags)
		}
	})
}

// TestBulkByKeyboard checks that selected records can get a tag and another owner with the keyboard
// alone. An open menu has the focus in its field, and Enter presses the button of the menu.
func TestBulkByKeyboard(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(3))
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/contacts")
		tab.Click(`tbody tr:first-child input.pick`)
		id := webtest.Eval[string](tab, `document.querySelector("tbody tr:first-child [data-row]").getAttribute("href").split("/").pop()`)
		into := func(menu, field, text string) {
			t.Helper()
			tab.Until(`document.querySelector('[popovertarget="` + menu + `"]').checkVisibility()`)
			webtest.Eval[bool](tab, `document.querySelector('[popovertarget="`+menu+`"]').focus() || true`)
			tab.Press(webtest.Enter)
			tab.Until(`document.activeElement.id === "` + field + `"`)
			tab.Type(text)
			tab.Until(`document.querySelector('#` + field + `-list [role="option"]')`)
			tab.Press(webtest.Enter) // accepts the suggestion
			tab.Until(`document.getElementById("` + field + `").getAttribute("aria-expanded") === "false"`)
			tab.Press(webtest.Enter)
		}
		var c struct {
			Tags    []string
			OwnerID string
		}
		is := func(what string, done func() bool) {
			t.Helper()
			for watch := waittest.New(); !done(); {
				o.Call("GET", "/contacts/"+id, nil, &c)
				if watch.IsStuck(c) {
					t.Fatalf("%s: %+v", what, c)
				}
			}
		}
		into("bulk-tag", "bulk-tag-field", "Eilakte")
		is("tagged", func() bool { return slices.Contains(c.Tags, "Eilakte") })
		tab.Until(`!document.querySelector("tbody .pick:checked") && !document.querySelector(".htmx-request")`)
		tab.Click(`tbody tr:first-child input.pick`)
		id = webtest.Eval[string](tab, `document.querySelector("tbody tr:first-child [data-row]").getAttribute("href").split("/").pop()`)
		into("bulk-owner", "bulk-owner-field", "Helene")
		is("handed over", func() bool { return c.OwnerID == o.Helene() })
	})
}
