package webhooks

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"kartei/docs"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/shell"
	"kartei/web/ui"
)

// eventType is a type of event with its text.
type eventType struct {
	name string
	text i18n.Text
	// icon is the name of the icon in lists. read is the scope that the type requires. It is empty
	// if the type requires none.
	icon, read string
}

// eventTypes are all types to which endpoints can subscribe, in the order of the API.
var eventTypes = []eventType{
	{"contact.created", "Contact created", "plus", "contacts:read"},
	{"contact.updated", "Contact changed", "pencil", "contacts:read"},
	{"contact.deleted", "Contact deleted", "trash-2", "contacts:read"},
	{"company.created", "Company created", "plus", "companies:read"},
	{"company.updated", "Company changed", "pencil", "companies:read"},
	{"company.deleted", "Company deleted", "trash-2", "companies:read"},
	{"task.created", "Task created", "plus", "tasks:read"},
	{"task.updated", "Task changed", "pencil", "tasks:read"},
	{"task.completed", "Task completed", "check", "tasks:read"},
	{"task.deleted", "Task deleted", "trash-2", "tasks:read"},
	{"document.created", "Document created", "plus", "documents:read"},
	{"document.deleted", "Document deleted", "trash-2", "documents:read"},
	{"operation.completed", "Operation completed", "circle-check", ""},
}

// eventFamilies are the record families of event types. Their labels are the headings in the form.
var eventFamilies = []shell.Option{
	shell.NewOption("contact", "Contacts"),
	shell.NewOption("company", "Companies"),
	shell.NewOption("task", "Tasks"),
	shell.NewOption("document", "Documents"),
	shell.NewOption("operation", "Operations"),
}

// eventText returns the text of a type, or the name of an unknown type.
func eventText(v *shell.Request, name string) string {
	if name == "webhook.test" {
		return v.Words.Say("Test of the endpoint")
	}
	if i := slices.IndexFunc(eventTypes, func(t eventType) bool { return t.name == name }); i >= 0 {
		return v.Words.Say(eventTypes[i].text)
	}
	return name
}

// TypesText returns the types of an endpoint as a text. If the endpoint has all types of a family,
// the text has only the name of the family.
func TypesText(v *shell.Request, types []string) string {
	var parts []string
	for _, family := range eventFamilies {
		var chosen []string
		all := true
		for _, t := range eventTypes {
			if !strings.HasPrefix(t.name, family.Value+".") {
				continue
			}
			if slices.Contains(types, t.name) {
				chosen = append(chosen, v.Words.Say(t.text))
			} else {
				all = false
			}
		}
		if all {
			chosen = []string{v.Words.Say(family.Label)}
		}
		parts = append(parts, chosen...)
	}
	return strings.Join(parts, ", ")
}

// webhookForm is the form of a webhook endpoint. Each field can also be set by the query of the
// address, so that guides can link to a prepared form.
type webhookForm struct {
	typed shell.Values
	// types are the chosen types. A link can also have "contact.*" and "*".
	types []string
	wrong map[string]string
}

// showNewWebhook serves the form for a new endpoint, with the values of the query.
func showNewWebhook(v *shell.Request) shell.View {
	q := v.URL.Query()
	f := webhookForm{typed: shell.Values{"environment": q.Get("env"), "name": q.Get("name"), "url": q.Get("url")}, types: shell.Split(strings.Join(q["types"], ","))}
	if f.typed["environment"] != "live" {
		f.typed["environment"] = "test"
	}
	return drawWebhookForm(v, f, http.StatusOK)
}

func drawWebhookForm(v *shell.Request, f webhookForm, status int) shell.View {
	if !v.Session.May(managesEndpoints) {
		return v.Failed(&fault.Fault{Code: fault.Forbidden, Detail: shell.NotAllowed})
	}
	return v.Settings(shell.WebhooksPath, v.Words.Say("New webhook endpoint"), newWebhookView(v, f)).WithStatus(status)
}

// sentWebhook returns the form with the values that the person sent.
func sentWebhook(v *shell.Request) webhookForm {
	return webhookForm{typed: shell.Values{"environment": v.Sent.Text("environment"), "name": v.Sent.Text("name"), "url": v.Sent.Text("url")}, types: v.Sent.Values["types"]}
}

// has reports whether the type is chosen.
func (f *webhookForm) has(name string) bool {
	family, _, _ := strings.Cut(name, ".")
	return slices.Contains(f.types, name) || slices.Contains(f.types, family+".*") || slices.Contains(f.types, "*")
}

// chosen returns the chosen types that the person may receive, in the order of eventTypes.
func (f *webhookForm) chosen(v *shell.Request) []string {
	chosen := []string{}
	for _, t := range eventTypes {
		if f.has(t.name) && mayGet(v, t) {
			chosen = append(chosen, t.name)
		}
	}
	return chosen
}

// mayGet reports whether the person may receive events of the type.
func mayGet(v *shell.Request, t eventType) bool { return t.read == "" || v.Session.May(t.read) }

// typesOf returns the types of a family that the person may receive.
func typesOf(v *shell.Request, family string) []eventType {
	return slices.DeleteFunc(slices.Clone(eventTypes), func(t eventType) bool { return !strings.HasPrefix(t.name, family+".") || !mayGet(v, t) })
}

// fields returns the fields of the form by name.
func (f *webhookForm) fields(v *shell.Request) map[string]ui.Field {
	say := v.Words.Say
	field := func(name, label, hint string) ui.Field {
		return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: shell.Present(f.wrong[name]), Autocomplete: "off"}
	}
	environment := field("environment", say("Environment"), "")
	environment.Options = []ui.Option{
		{Value: "test", Text: say("Test [environment]"), Hint: say("Events of the sandbox. None of it is real.")},
		{Value: "live", Text: say("Live [environment]"), Hint: say("Events of the real data of your organization.")},
	}
	name := field("name", say("Name"), say("How you recognize the endpoint, for example “Accounting”."))
	name.Required = true
	address := field("url", "URL", say("A public https URL on port 443, for example https://hooks.example.com/kartei."))
	address.Type, address.Required, address.More = "url", true, templ.OrderedAttributes{{Key: "spellcheck", Value: "false"}}
	return map[string]ui.Field{"environment": environment, "name": name, "url": address, "eventTypes": field("eventTypes", say("Events"), "")}
}

// wrongs returns the fields in the order of the form. The summary above the form lists their
// errors.
func (f *webhookForm) wrongs(v *shell.Request) []ui.Field {
	fields := f.fields(v)
	return []ui.Field{fields["environment"], fields["name"], fields["url"], fields["eventTypes"]}
}

// createWebhook creates an endpoint and shows its secret once.
func createWebhook(v *shell.Request) shell.View {
	f := sentWebhook(v)
	if environment := f.typed["environment"]; environment != "test" && environment != "live" {
		f.wrong = map[string]string{"environment": v.Words.Say("Choose an environment.")}
		return drawWebhookForm(v, f, http.StatusUnprocessableEntity)
	}
	in := webhook.NewInput{Fields: webhook.Fields{Name: f.typed["name"], URL: f.typed["url"], EventTypes: f.chosen(v)}}
	a := shell.Do(v, webhook.CreateByPerson, in, shell.Once, shell.InSandbox(f.typed["environment"] == "test"))
	if a.Is(fault.ValidationFailed) {
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawWebhookForm(v, f, a.Status)
	}
	return webhookMade(v, a, v.Words.Say("The endpoint was created"))
}

// webhookMade serves the page with the secret of an endpoint, with code for its verification and a
// button for a test.
func webhookMade(v *shell.Request, a shell.Answer[webhook.SecretAnswer], title string) shell.View {
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return v.Settings(shell.WebhooksPath, title, madeWebhookView(v, a.Value)).WithSecret()
}

// receiver is an example program that receives and verifies events.
type receiver struct{ language, install, program string }

// receivers are the example programs of the guide. The script ci/readme.sh runs these programs.
var receivers = func() (list []receiver) {
	for _, r := range []receiver{
		{language: "Python", install: "pip install standardwebhooks==1.1.0", program: "hook.py"},
		{language: "Node.js", install: "npm install standardwebhooks@1.1.1", program: "hook.mjs"},
		{language: "Go", install: "go get github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1", program: "main.go"},
	} {
		text := regexp.MustCompile(`(?s)cat > kartei-hook/` + regexp.QuoteMeta(r.program) + ` <<'END'\n(.*?)\nEND\n`).FindSubmatch(docs.Guide)
		if text == nil {
			panic("webhooks: the guide has no receiver " + r.program)
		}
		list = append(list, receiver{r.language, r.install, string(text[1])})
	}
	return list
}()
