package applications

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"kartei/integration/oauth"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/keys"
	"kartei/web/shell"
	"kartei/web/signin"
	"kartei/web/ui"
)

// consentPath is the authorization endpoint (RFC 6749): the page on which a person allows or denies
// an application's request.
const consentPath = "/oauth/authorize"

// consentRequest is the authorization request of an application, with the person's earlier choices.
type consentRequest struct {
	oauth.Prompt
	// query is the query of the authorization request. wrong is the error message about the
	// person's choices.
	query, wrong string
	// answered is the form that the person sent before, or nil.
	answered *shell.Form
}

// name returns the name of the application, or a text if it has none.
func (a *consentRequest) name(v *shell.Request) string {
	return cmp.Or(a.Client, v.Words.Say("An application without a name"))
}

// showConsent serves the consent page. If the request is wrong, it redirects to the application
// with an error. It does not redirect to an address that the instance cannot trust.
func showConsent(v *shell.Request) shell.View {
	return drawConsent(v, v.URL.Query(), nil, "")
}

// drawConsent serves the consent page for the query q. answered is the form that the person sent
// before, or nil. wrong is an error message, or empty.
func drawConsent(v *shell.Request, q url.Values, answered *shell.Form, wrong string) shell.View {
	found, err := shell.Ask(v, oauth.Ask, askedBy(q))
	a := consentRequest{Prompt: found, query: q.Encode(), answered: answered, wrong: wrong}
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidRequest):
		return v.Problem(http.StatusBadRequest, shell.ProblemPage{
			Title: v.Words.Say("This application cannot be connected"), Text: shell.AsFault(err).DetailIn(v.Words.Language),
		})
	case err != nil:
		return v.Failed(err)
	case a.Refused != "":
		return refusedConsent(v, a)
	case a.Redirect != "" && (a.Local || a.Admitted):
		return leaveFor(v, a.Redirect)
	case a.Redirect != "": // the application is not approved, so the page only offers a link to its address
		return v.Problem(http.StatusBadRequest, shell.ProblemPage{
			Title: v.Words.Say("This application cannot be connected"),
			Text:  v.Words.Say("The application asks in a way that is not possible. If you go back to it, its developer learns the reason."),
			Back:  a.Redirect, BackTo: a.RedirectHost,
		})
	}
	status := http.StatusOK
	if wrong != "" {
		status = http.StatusUnprocessableEntity
	}
	shell.LetFormEnd(v.Writer.Header(), a.RedirectOrigin)
	return v.Card(v.Words.Say("Connect an application"), consentView(v, a)).WithStatus(status)
}

// leaveFor sends the browser to an address of an application. After a form of another page, such as
// the sign-in, that page's form-action policy would block a redirect. leaveFor then serves a page
// with a Refresh header.
func leaveFor(v *shell.Request, address string) shell.View {
	if v.Sent == nil && v.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return shell.Redirect{To: address}
	}
	v.Writer.Header().Set("Refresh", `0; url="`+strings.ReplaceAll(address, `"`, "%22")+`"`)
	return v.Card(v.Words.Say("Back to the application"), backView(v, address))
}

// refusedConsent serves the page that says why the person may not connect the application.
func refusedConsent(v *shell.Request, a consentRequest) shell.View {
	status, title := http.StatusOK, v.Words.Say("Your admins have been asked")
	if a.Refused == "off" {
		status, title = http.StatusForbidden, v.Words.Say("Your office does not allow applications")
	}
	return v.Card(title, refusedView(v, title, a)).WithStatus(status)
}

// askedBy returns the input of oauth.Ask for the query q.
func askedBy(q url.Values) oauth.AskInput {
	in := oauth.AskInput{
		ResponseType: q.Get("response_type"), ClientID: q.Get("client_id"), RedirectURI: q.Get("redirect_uri"), Scope: q.Get("scope"),
		State: q.Get("state"), Challenge: q.Get("code_challenge"), ChallengeMethod: q.Get("code_challenge_method"), Resources: q["resource"],
	}
	for name, list := range q {
		if len(list) > 1 && name != "resource" {
			in.Repeated = true
		}
	}
	return in
}

// review is the value of decision in a form that waited for a confirmation of the sign-in. The
// consent page is then shown again before anything is allowed.
const review = "review"

// answerConsent records the person's decision and redirects the browser to the application. The
// Content-Security-Policy of the consent page permits this redirect.
func answerConsent(v *shell.Request) shell.View {
	query, err := url.ParseQuery(v.Sent.Get("asked"))
	if err != nil {
		return v.Failed(fault.New(fault.InvalidRequest))
	}
	if v.Sent.Get("decision") == review {
		return drawConsent(v, query, v.Sent, "")
	}
	a := shell.Do(v, oauth.Answer, oauth.AnswerInput{
		Ticket: v.Sent.Get("ticket"), Allow: v.Sent.Get("decision") == "allow", Scopes: v.Sent.Values["scopes"], Sandbox: v.Sent.Get("environment") == "test",
	})
	switch {
	case a.Is(fault.NotFound):
		return v.Problem(a.Status, shell.ProblemPage{Title: v.Words.Say("Not connected"), Text: a.Fault.DetailIn(v.Words.Language)})
	case a.Is(fault.ValidationFailed):
		return drawConsent(v, query, v.Sent, a.Fault.Fields[0].Message(v.Words.Language))
	case v.Stale:
		return confirmConsent(v)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return shell.Redirect{To: a.Value.Redirect}
}

// confirmConsent asks for a recent sign-in. After that, the consent page appears again with the
// person's choices.
func confirmConsent(v *shell.Request) shell.View {
	v.Stale = false
	waiting := v.Again(v.Sent.Token)
	waiting.Fields.Set("decision", review)
	return signin.DrawConfirmForm(v, signin.ConfirmForm{Next: consentPath + "?" + v.Sent.Get("asked"), Resume: waiting}, http.StatusForbidden)
}

// consentFamily is a group of scopes on the consent page.
type consentFamily struct {
	label  string
	scopes []consentScope
}

// consentScope is a scope that the person can leave out.
type consentScope struct {
	name, text, hint string
	chosen           bool
}

// proposes reports whether the box of a scope is checked. Before the person has chosen, the box is
// checked only if an admin has approved the application. Webhooks send data to other servers, so
// their scopes need an explicit choice.
func (a *consentRequest) proposes(scope string) bool {
	if a.answered != nil {
		return slices.Contains(a.answered.Values["scopes"], scope)
	}
	return a.Verified && !strings.HasPrefix(scope, "webhook_endpoints:")
}

// families returns the requested scopes in groups.
func (a *consentRequest) families(v *shell.Request) (list []consentFamily) {
	for _, family := range keys.Families {
		f := consentFamily{label: v.Words.Say(family.Label)}
		for _, right := range []string{"read", "write"} {
			name := family.Value + ":" + right
			if !slices.Contains(a.Scopes, name) {
				continue
			}
			s := consentScope{name: name, chosen: a.proposes(name)}
			words := scopeWords[name]
			s.text, s.hint, _ = strings.Cut(v.Words.Say(words), ": ")
			f.scopes = append(f.scopes, s)
		}
		if len(f.scopes) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// scopeWords describes what an application may do with each scope. The text after the colon has
// details.
var scopeWords = map[string]i18n.Text{
	"contacts:read":           "Read contacts: names, numbers, addresses and notes that you see",
	"contacts:write":          "Change contacts: create, change, merge and delete",
	"companies:read":          "Read companies: names, addresses and notes that you see",
	"companies:write":         "Change companies: create, change, merge and delete",
	"tasks:read":              "Read tasks: what is to be done, until when and by whom",
	"tasks:write":             "Change tasks: create, complete and delete",
	"documents:read":          "Read documents: the files themselves and their text",
	"documents:write":         "Change documents: upload, rename and delete",
	"webhook_endpoints:read":  "Read webhooks: where changes are reported",
	"webhook_endpoints:write": "Change webhooks: have changes reported to addresses that the application chooses",
}

// approving returns the text about the approval that is a part of an admin's consent. The approval
// is for all people, or only for the admin.
func (a *consentRequest) approving(v *shell.Request) string {
	if a.Host != "" {
		return v.Words.Say("If you allow it, you approve it for everybody in your office.")
	}
	return v.Words.Say("If you allow it, you approve it, for yourself only.")
}

// allowing returns the label of the button that allows the request.
func (a *consentRequest) allowing(v *shell.Request) string {
	if a.Approves {
		return v.Words.Say("Approve and allow")
	}
	return v.Words.Say("Allow")
}

// lasting returns the text that says when the connection ends.
func (a *consentRequest) lasting(v *shell.Request) string {
	if a.Renewal {
		return v.Words.Say("The connection ends after 30 days without use, and after 90 days unless you renew it; you can disconnect it at any time in the settings, under Applications.")
	}
	return v.Words.Say("The connection ends after 30 days without use, and after a year at the latest; you can disconnect it at any time in the settings, under Applications.")
}

// environments returns the choice between the live organization and its sandbox.
func (a *consentRequest) environments(v *shell.Request) ui.Field {
	f := ui.Field{Name: "environment", Label: v.Words.Say("With which data"), Value: "live", Options: []ui.Option{
		{Value: "live", Text: a.Organization.Name, Hint: v.Words.Say("The real data of the office.")},
	}}
	if a.Organization.SandboxID != "" {
		if a.answered != nil && a.answered.Get("environment") == "test" {
			f.Value = "test"
		}
		f.Options = append(f.Options, ui.Option{Value: "test", Text: "Sandbox", Hint: v.Words.Say("Test data only, to try the application.")})
	}
	return f
}
