package office

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"kartei/docs"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/web/ui"
)

// eventType is a type of event in words.
type eventType struct {
	name string
	text fault.Text
	// icon is the icon of a line. read is the right that the type needs, if any.
	icon, read string
}

// eventTypes are all types that endpoints can get, in the order of the contract.
var eventTypes = []eventType{
	{"contact.created", text("Kontakt angelegt", "Contact created"), "plus", "contacts:read"},
	{"contact.updated", text("Kontakt geändert", "Contact changed"), "pencil", "contacts:read"},
	{"contact.deleted", text("Kontakt gelöscht", "Contact deleted"), "trash-2", "contacts:read"},
	{"company.created", text("Firma angelegt", "Company created"), "plus", "companies:read"},
	{"company.updated", text("Firma geändert", "Company changed"), "pencil", "companies:read"},
	{"company.deleted", text("Firma gelöscht", "Company deleted"), "trash-2", "companies:read"},
	{"task.created", text("Aufgabe angelegt", "Task created"), "plus", "tasks:read"},
	{"task.updated", text("Aufgabe geändert", "Task changed"), "pencil", "tasks:read"},
	{"task.completed", text("Aufgabe erledigt", "Task completed"), "check", "tasks:read"},
	{"task.deleted", text("Aufgabe gelöscht", "Task deleted"), "trash-2", "tasks:read"},
	{"document.created", text("Dokument angelegt", "Document created"), "plus", "documents:read"},
	{"document.deleted", text("Dokument gelöscht", "Document deleted"), "trash-2", "documents:read"},
	{"operation.completed", text("Vorgang abgeschlossen", "Operation completed"), "circle-check", ""},
}

// eventFamilies are the headings of the types.
var eventFamilies = []option{
	newOption("contact", "Kontakte", "Contacts"),
	newOption("company", "Firmen", "Companies"),
	newOption("task", "Aufgaben", "Tasks"),
	newOption("document", "Dokumente", "Documents"),
	newOption("operation", "Vorgänge", "Operations"),
}

// eventText is a type in words. A type that is not known is its own name.
func eventText(v *request, name string) string {
	if name == "webhook.test" {
		return v.words.Say("Test des Endpunkts", "Test of the endpoint")
	}
	if i := slices.IndexFunc(eventTypes, func(t eventType) bool { return t.name == name }); i >= 0 {
		return eventTypes[i].text.In(v.words.Language)
	}
	return name
}

// typesText names the types of an endpoint. If it has all types of a family, the family's
// name stands for them.
func typesText(v *request, types []string) string {
	var parts []string
	for _, family := range eventFamilies {
		var chosen []string
		all := true
		for _, t := range eventTypes {
			if !strings.HasPrefix(t.name, family.value+".") {
				continue
			}
			if slices.Contains(types, t.name) {
				chosen = append(chosen, t.text.In(v.words.Language))
			} else {
				all = false
			}
		}
		if all {
			chosen = []string{family.label.In(v.words.Language)}
		}
		parts = append(parts, chosen...)
	}
	return strings.Join(parts, ", ")
}

// webhookForm is the form of an endpoint. Each member is also a parameter of the address,
// so that a guide can link to a form that is filled in.
type webhookForm struct {
	typed values
	// types are the types that are chosen, also as "contact.*" and "*" by a link.
	types []string
	wrong map[string]string
}

// showNewWebhook serves the form of a new endpoint, filled in from the address.
func showNewWebhook(v *request) view {
	q := v.URL.Query()
	f := webhookForm{typed: values{"environment": q.Get("env"), "name": q.Get("name"), "url": q.Get("url")}, types: split(strings.Join(q["types"], ","))}
	if f.typed["environment"] != "live" {
		f.typed["environment"] = "test"
	}
	return v.webhookForm(f, http.StatusOK)
}

func (v *request) webhookForm(f webhookForm, status int) view {
	if !v.session.may(managesEndpoints) {
		return v.failed(&fault.Fault{Code: fault.Forbidden, Detail: &notAllowed})
	}
	return v.settingsAs(status, webhooksPath, v.words.Say("Neuer Webhook-Endpunkt", "New webhook endpoint"), newWebhookView(v, f))
}

// sentWebhook is the form as it was sent.
func (v *request) sentWebhook() webhookForm {
	return webhookForm{typed: values{"environment": v.form.text("environment"), "name": v.form.text("name"), "url": v.form.text("url")}, types: v.form.Values["types"]}
}

// has reports whether a type is chosen.
func (f *webhookForm) has(name string) bool {
	family, _, _ := strings.Cut(name, ".")
	return slices.Contains(f.types, name) || slices.Contains(f.types, family+".*") || slices.Contains(f.types, "*")
}

// chosen are the types that are chosen, in their order, as far as the person may.
func (f *webhookForm) chosen(v *request) []string {
	chosen := []string{}
	for _, t := range eventTypes {
		if f.has(t.name) && v.mayGet(t) {
			chosen = append(chosen, t.name)
		}
	}
	return chosen
}

// mayGet reports whether an endpoint of the person can get a type.
func (v *request) mayGet(t eventType) bool { return t.read == "" || v.session.may(t.read) }

// typesOf are the types of a family that the person may choose.
func (v *request) typesOf(family string) []eventType {
	return slices.DeleteFunc(slices.Clone(eventTypes), func(t eventType) bool { return !strings.HasPrefix(t.name, family+".") || !v.mayGet(t) })
}

// fields are the fields of the form by their names.
func (f *webhookForm) fields(v *request) map[string]ui.Field {
	say := v.words.Say
	field := func(name, label, hint string) ui.Field {
		return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: present(f.wrong[name]), Autocomplete: "off"}
	}
	environment := field("environment", say("Umgebung", "Environment"), "")
	environment.Options = []ui.Option{
		{Value: "test", Text: "Test", Hint: say("Ereignisse der Sandbox. Nichts davon ist echt.", "Events of the sandbox. None of it is real.")},
		{Value: "live", Text: "Live", Hint: say("Ereignisse der echten Daten Ihrer Organisation.", "Events of the real data of your organization.")},
	}
	name := field("name", "Name", say("Woran Sie den Endpunkt erkennen, zum Beispiel „Buchhaltung“.", "How you recognize the endpoint, for example “Accounting”."))
	name.Required = true
	address := field("url", "URL", say("Eine öffentliche https-Adresse auf Port 443, zum Beispiel https://hooks.example.com/kartei.", "A public https URL on port 443, for example https://hooks.example.com/kartei."))
	address.Type, address.Required, address.More = "url", true, templ.OrderedAttributes{{Key: "spellcheck", Value: "false"}}
	return map[string]ui.Field{"environment": environment, "name": name, "url": address, "eventTypes": field("eventTypes", say("Ereignisse", "Events"), "")}
}

// wrongs are the fields in the order of the form, for the summary.
func (f *webhookForm) wrongs(v *request) []ui.Field {
	fields := f.fields(v)
	return []ui.Field{fields["environment"], fields["name"], fields["url"], fields["eventTypes"]}
}

// createWebhook creates an endpoint and shows its secret, once.
func createWebhook(v *request) view {
	f := v.sentWebhook()
	if environment := f.typed["environment"]; environment != "test" && environment != "live" {
		f.wrong = map[string]string{"environment": v.words.Say("Wählen Sie eine Umgebung.", "Choose an environment.")}
		return v.webhookForm(f, http.StatusUnprocessableEntity)
	}
	in := webhook.NewInput{Fields: webhook.Fields{Name: f.typed["name"], URL: f.typed["url"], EventTypes: f.chosen(v)}}
	a := do(v, webhook.CreateByPerson, in, once, inSandbox(f.typed["environment"] == "test"))
	if a.is(fault.ValidationFailed) {
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.webhookForm(f, a.Status)
	}
	return v.webhookMade(a, v.words.Say("Der Endpunkt ist angelegt", "The endpoint was created"))
}

// webhookMade shows a secret, how to verify with it, and the button that tests it.
func (v *request) webhookMade(a answer[webhook.Issued], title string) view {
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	out := v.settings(webhooksPath, title, madeWebhookView(v, a.Value))
	out.secret = true
	return out
}

// receiver is a program that receives and verifies events.
type receiver struct{ language, install, program string }

// receivers are the programs of the guide, which are tried with each change of it.
var receivers = func() (list []receiver) {
	for _, r := range []receiver{
		{language: "Python", install: "pip install standardwebhooks==1.1.0", program: "hook.py"},
		{language: "Node.js", install: "npm install standardwebhooks@1.1.1", program: "hook.mjs"},
		{language: "Go", install: "go get github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1", program: "main.go"},
	} {
		text := regexp.MustCompile(`(?s)cat > kartei-hook/` + regexp.QuoteMeta(r.program) + ` <<'END'\n(.*?)\nEND\n`).FindSubmatch(docs.Guide)
		if text == nil {
			panic("office: the guide has no receiver " + r.program)
		}
		list = append(list, receiver{r.language, r.install, string(text[1])})
	}
	return list
}()
