package office

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"kartei/door/web/look"
	"kartei/kit/fault"
)

// consentPath is the page to which an application sends a person, who lets it act for
// them or not.
const consentPath = "/oauth/authorize"

// asked is what an application asks for, as oauth.ask returns it.
type asked struct {
	Redirect     string   `json:"redirect"`
	Ticket       string   `json:"ticket"`
	Client       string   `json:"client"`
	Host         string   `json:"host"`
	RedirectHost string   `json:"redirectHost"`
	Local        bool     `json:"local"`
	Scheme       string   `json:"redirectScheme"`
	Scopes       []string `json:"scopes"`
	Organization struct {
		Name      string `json:"name"`
		SandboxID string `json:"sandboxId"`
		Level     string `json:"level"`
	} `json:"organization"`
	// query is what the application asked, and wrong what the person's answer lacked.
	query, wrong string
}

// name is what the application calls itself.
func (a *asked) name(v *request) string {
	return first(a.Client, v.words.Say("Eine Anwendung ohne Namen", "An application without a name"))
}

// showConsent shows what an application asks for. If nobody can answer the request, the
// browser goes back to the application with an error, unless it is not known where that
// is.
func showConsent(v *request) view {
	return v.consent(v.URL.Query(), "")
}

// consent asks a person. wrong says what an answer before lacked.
func (v *request) consent(q url.Values, wrong string) view {
	a, err := ask[asked](v, "oauth.ask", arguments{body: askedBy(q)})
	a.query, a.wrong = q.Encode(), wrong
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidRequest):
		return v.problem(http.StatusBadRequest, problemPage{
			Title: v.words.Say("Diese Anwendung kann nicht verbunden werden", "This application cannot be connected"), Text: asFault(err).DetailIn(v.words.Language),
		})
	case err != nil:
		return v.failed(err)
	case a.Redirect != "" && a.Local:
		return view{to: a.Redirect}
	case a.Redirect != "": // nobody has checked the application, so its address is not opened unasked
		return v.problem(http.StatusBadRequest, problemPage{
			Title: v.words.Say("Diese Anwendung kann nicht verbunden werden", "This application cannot be connected"),
			Text:  v.words.Say("Die Anwendung fragt auf eine Weise, die nicht möglich ist. Wenn Sie zu ihr zurückgehen, erfährt ihr Hersteller den Grund.", "The application asks in a way that is not possible. If you go back to it, its developer learns the reason."),
			Back:  a.Redirect, BackTo: a.RedirectHost,
		})
	}
	status := http.StatusOK
	if wrong != "" {
		status = http.StatusUnprocessableEntity
	}
	return view{status: status, body: cardPage(v.look(), v.words.Say("Anwendung verbinden", "Connect an application"), consentView(v, a))}
}

// askedBy returns the input of oauth.ask of a query.
func askedBy(q url.Values) map[string]any {
	body := map[string]any{
		"responseType": q.Get("response_type"), "clientId": q.Get("client_id"), "redirectUri": q.Get("redirect_uri"), "scope": q.Get("scope"),
		"state": q.Get("state"), "codeChallenge": q.Get("code_challenge"), "codeChallengeMethod": q.Get("code_challenge_method"), "resources": q["resource"],
	}
	for name, list := range q {
		if len(list) > 1 && name != "resource" {
			body["repeated"] = true
		}
	}
	return body
}

// answerConsent lets the application act, or not, and sends the browser back to it. A page
// that goes on by itself does that: the policy of the pages lets no form end elsewhere.
func answerConsent(v *request) view {
	a := v.do("oauth.answer", arguments{body: map[string]any{
		"ticket": v.form.Get("ticket"), "allow": v.form.Get("decision") == "allow", "scopes": v.form.Values["scopes"], "sandbox": v.form.Get("environment") == "test",
	}})
	switch {
	case a.is(fault.NotFound):
		return v.problem(a.Status, problemPage{Title: v.words.Say("Nicht verbunden", "Not connected"), Text: a.Fault.DetailIn(v.words.Language)})
	case a.is(fault.ValidationFailed):
		query, err := url.ParseQuery(v.form.Get("asked"))
		if err != nil {
			return v.failed(a.Fault)
		}
		return v.consent(query, a.Fault.Fields[0].Message(v.words.Language))
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	var out struct {
		Redirect string `json:"redirect"`
	}
	if err := decode(a.Body, &out); err != nil {
		return v.failed(err)
	}
	v.w.Header().Set("Refresh", `0; url="`+strings.ReplaceAll(out.Redirect, `"`, "%22")+`"`)
	title := v.words.Say("Zurück zur Anwendung", "Back to the application")
	return view{status: http.StatusOK, secret: true, body: cardPage(v.look(), title, backView(v, out.Redirect))}
}

// consentFamily are the scopes of a family on the consent page.
type consentFamily struct {
	label  string
	scopes []consentScope
}

// consentScope is a scope that a person can leave out.
type consentScope struct {
	name, text, hint string
	chosen           bool
}

// families returns what the application asks for, by family. Webhooks send data
// elsewhere, so nobody gets them by not looking.
func (a *asked) families(v *request) (list []consentFamily) {
	for _, family := range keyFamilies {
		f := consentFamily{label: family.label.In(v.words.Language)}
		for _, right := range []string{"read", "write"} {
			name := family.name + ":" + right
			if !slices.Contains(a.Scopes, name) {
				continue
			}
			s := consentScope{name: name, chosen: family.name != "webhook_endpoints"}
			words := scopeWords[name]
			s.text, s.hint, _ = strings.Cut(words.In(v.words.Language), ": ")
			f.scopes = append(f.scopes, s)
		}
		if len(f.scopes) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// scopeWords say what each scope lets an application do, with examples after the colon.
var scopeWords = map[string]fault.Text{
	"contacts:read":           text("Kontakte lesen: Namen, Nummern, Adressen und Notizen, die Sie sehen", "Read contacts: names, numbers, addresses and notes that you see"),
	"contacts:write":          text("Kontakte ändern: anlegen, ändern und löschen", "Change contacts: create, change and delete"),
	"companies:read":          text("Firmen lesen: Namen, Adressen und Notizen, die Sie sehen", "Read companies: names, addresses and notes that you see"),
	"companies:write":         text("Firmen ändern: anlegen, ändern und löschen", "Change companies: create, change and delete"),
	"tasks:read":              text("Aufgaben lesen: was zu tun ist, bis wann und von wem", "Read tasks: what is to be done, until when and by whom"),
	"tasks:write":             text("Aufgaben ändern: anlegen, erledigen und löschen", "Change tasks: create, complete and delete"),
	"documents:read":          text("Dokumente lesen: die Dateien selbst und ihr Text", "Read documents: the files themselves and their text"),
	"documents:write":         text("Dokumente ändern: hochladen, umbenennen und löschen", "Change documents: upload, rename and delete"),
	"webhook_endpoints:read":  text("Webhooks lesen: wohin Änderungen gemeldet werden", "Read webhooks: where changes are reported"),
	"webhook_endpoints:write": text("Webhooks ändern: Änderungen an Adressen melden lassen, die die Anwendung wählt", "Change webhooks: have changes reported to addresses that the application chooses"),
}

// environments is the choice between the live organization and its sandbox.
func (a *asked) environments(v *request) look.Field {
	f := look.Field{Name: "environment", Label: v.words.Say("Mit welchen Daten", "With which data"), Value: "live", Options: []look.Option{
		{Value: "live", Text: a.Organization.Name, Hint: v.words.Say("Die wirklichen Daten des Büros.", "The real data of the office.")},
	}}
	if a.Organization.SandboxID != "" {
		f.Options = append(f.Options, look.Option{Value: "test", Text: "Sandbox", Hint: v.words.Say("Nur Testdaten, zum Ausprobieren.", "Test data only, to try the application.")})
	}
	return f
}
