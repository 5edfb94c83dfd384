package applications

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/integration/oauth"
	"kartei/people/principal"
	"kartei/web/shell"
	"kartei/web/ui"
)

// approvalInfo is an application that an admin has approved or is asked to approve.
type approvalInfo oauth.ApprovalInfo

// applicationsPage has the data of the list: the connected applications in groups, and the
// applications of service accounts.
type applicationsPage struct {
	groups  []grantGroup
	clients []oauth.ClientInfo
	// waiting are the applications that an admin is asked to approve. approved are the applications
	// that people may connect.
	waiting, approved []approvalInfo
	names             map[string]string
	more              bool
}

// grantGroup has the grants of one application.
type grantGroup struct {
	name   string
	grants []oauth.GrantInfo
}

// origin returns the text about how the application became known to the instance.
func (g *grantGroup) origin(v *shell.Request) string {
	return originText(v, g.grants[0].ClientKind, g.grants[0].ClientID)
}

// originText returns the host of the application's document. Without a document, it says that the
// application registered itself.
func originText(v *shell.Request, kind grant.Kind, clientID string) string {
	if at, err := url.Parse(clientID); err == nil && kind == grant.ByDocument {
		return v.Words.Say("from %s", at.Host)
	}
	return v.Words.Say("registered by itself; nobody has checked who is behind it")
}

// showApplications serves the list of applications.
func showApplications(v *shell.Request) shell.View {
	p := applicationsPage{names: map[string]string{}}
	grants, err := shell.Ask(v, oauth.ListGrants, oauth.FindGrants{})
	if err != nil {
		return v.Failed(err)
	}
	p.more = grants.HasMore
	owners, err := p.readApprovals(v)
	if err != nil {
		return v.Failed(err)
	}
	for _, g := range grants.Data {
		if g.ClientKind != grant.ByAdmin { // the list of service accounts has the others
			p.add(g)
		}
		owners = append(owners, g.PrincipalID)
	}
	if v.Session.Administers {
		clients, err := shell.Ask(v, oauth.ListClients, op.Page{})
		if err != nil {
			return v.Failed(err)
		}
		p.clients = clients.Data
		for _, c := range p.clients {
			owners = append(owners, c.PrincipalID)
		}
	}
	if err := v.NamesOf(owners, p.names); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.ApplicationsPath, applicationsTitle(v), applicationsView(v, p))
}

// readApprovals reads the requests for approval and the approvals. It returns the ids of the people
// whose names the page needs.
func (p *applicationsPage) readApprovals(v *shell.Request) (named []string, err error) {
	approvals, err := shell.Ask(v, oauth.ListApprovals, op.Page{})
	for _, one := range approvals.Data {
		a := approvalInfo(one)
		if a.ApprovedAt == 0 {
			p.waiting = append(p.waiting, a)
		} else {
			p.approved = append(p.approved, a)
		}
		named = append(named, a.named()...)
	}
	return named, err
}

// named returns the ids of the people in an approval.
func (a *approvalInfo) named() (ids []string) {
	for _, one := range append([]string{a.PrincipalID, a.ApprovedBy}, a.AskedBy...) {
		ids = append(ids, shell.Present(one)...)
	}
	return ids
}

// title returns the name of the application, or else its client id.
func (a *approvalInfo) title() string { return cmp.Or(a.Client, a.ClientID) }

// whom returns the text that says who may connect the application.
func (a *approvalInfo) whom(v *shell.Request, names map[string]string) string {
	if a.PrincipalID == "" {
		return v.Words.Say("everybody in the office, as long as its description does not change")
	}
	return cmp.Or(names[a.PrincipalID], a.PrincipalID)
}

// askers returns the names of the people who requested the application, as one list.
func (a *approvalInfo) askers(v *shell.Request, names map[string]string) string {
	list := make([]string, len(a.AskedBy))
	for i, by := range a.AskedBy {
		list[i] = cmp.Or(names[by], by)
	}
	return v.Words.List(list)
}

// by returns the name of the person who approved the application.
func (a *approvalInfo) by(v *shell.Request, names map[string]string) string {
	if a.ApprovedBy == "" {
		return v.Words.Say("the operator")
	}
	return cmp.Or(names[a.ApprovedBy], a.ApprovedBy)
}

// approvalsPath is the path above the pages of single approvals.
const approvalsPath = shell.ApplicationsPath + "/approvals"

// showApproval serves the page on which an admin approves an application.
func showApproval(v *shell.Request) shell.View {
	approvals, err := shell.Ask(v, oauth.ListApprovals, op.Page{})
	if err != nil {
		return v.Failed(err)
	}
	i := slices.IndexFunc(approvals.Data, func(a oauth.ApprovalInfo) bool { return a.ID == v.PathValue("id") })
	if i < 0 {
		return v.Problem(http.StatusNotFound, shell.ProblemPage{
			Title: v.Words.Say("No longer here"),
			Text:  v.Words.Say("This request was declined, or the approval was withdrawn."),
		})
	}
	a, names := approvalInfo(approvals.Data[i]), map[string]string{}
	if err := v.NamesOf(a.named(), names); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.ApplicationsPath, v.Words.Say("Approve an application"), approvalView(v, a, names))
}

// approve approves an application, so that people may connect it.
func approve(v *shell.Request) shell.View {
	return actedOnApplication(v, oauth.Approve, oauth.ApproveInput{ID: v.PathValue("id")}, "approved")
}

// disapprove withdraws an approval, or declines a request for one.
func disapprove(v *shell.Request) shell.View {
	return actedOnApplication(v, oauth.Disapprove, oauth.DisapproveInput{ID: v.PathValue("id")}, cmp.Or(map[string]string{"waits": "declined"}[v.Sent.Get("was")], "disapproved"))
}

// renewGrant extends a grant by 90 days.
func renewGrant(v *shell.Request) shell.View {
	return actedOnApplication(v, oauth.RenewGrant, op.ByID{ID: v.PathValue("id")}, "grantRenewed")
}

func applicationsTitle(v *shell.Request) string { return v.Words.Say("Applications") }

// add appends a grant to the group of its application.
func (p *applicationsPage) add(g oauth.GrantInfo) {
	i := slices.IndexFunc(p.groups, func(of grantGroup) bool { return of.grants[0].ClientID == g.ClientID })
	if i < 0 {
		p.groups = append(p.groups, grantGroup{name: cmp.Or(g.Client, g.ClientID)})
		i = len(p.groups) - 1
	}
	p.groups[i].grants = append(p.groups[i].grants, g)
}

// endGrant disconnects an application.
func endGrant(v *shell.Request) shell.View {
	return actedOnApplication(v, oauth.EndGrant, op.ByID{ID: v.PathValue("id")}, "grantEnded")
}

// switchClient returns a handler that disables or enables an application of a service account.
func switchClient(disabled bool) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		done := "clientOn"
		if disabled {
			done = "clientOff"
		}
		return actedOnApplication(v, oauth.SetClient, oauth.ClientChange{ID: v.PathValue("id"), Disabled: disabled}, done)
	}
}

// actedOnApplication runs the operation o. It then redirects to the list of applications with the
// message done.
func actedOnApplication[In, Out any](v *shell.Request, o op.Operation[In, Out], in In, done string) shell.View {
	if a := shell.Do(v, o, in, shell.Once); a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.ApplicationsPath, done)
}

// clientForm is the form for a new application of a service account.
type clientForm struct {
	accounts []ui.Option
	typed    shell.Values
	scopes   []string
	wrong    map[string]string
}

// showNewClient serves the empty form for a new application.
func showNewClient(v *shell.Request) shell.View {
	return drawClientForm(v, clientForm{typed: shell.Values{"environment": "test"}}, http.StatusOK)
}

func drawClientForm(v *shell.Request, f clientForm, status int) shell.View {
	found, err := shell.Ask(v, principal.ListServiceAccounts, op.Page{})
	if err != nil {
		return v.Failed(err)
	}
	for _, a := range found.Data {
		if !a.Disabled {
			f.accounts = append(f.accounts, ui.Option{Value: a.ID, Text: a.Name})
		}
	}
	return v.Settings(shell.ApplicationsPath, v.Words.Say("New application"), newClientView(v, f)).WithStatus(status)
}

// createClient creates an application and shows its secret once.
func createClient(v *shell.Request) shell.View {
	f := clientForm{typed: shell.Values{"name": v.Sent.Text("name"), "principalId": v.Sent.Text("principalId"), "environment": v.Sent.Text("environment")}, scopes: v.Sent.Values["scopes"]}
	a := shell.Do(v, oauth.CreateClient, oauth.NewClient{
		Name: f.typed["name"], Principal: f.typed["principalId"], Environment: f.typed["environment"], Scopes: f.scopes,
	}, shell.Once)
	if a.Fault != nil {
		if f.wrong = shell.FieldTexts(a.Fault, v.Words.Language); len(f.wrong) == 0 {
			return v.Failed(a.Fault)
		}
		return drawClientForm(v, f, a.Status)
	}
	return clientSecret(v, a.Value)
}

// rotateClient creates a new secret for an application and shows it once.
func rotateClient(v *shell.Request) shell.View {
	a := shell.Do(v, oauth.RotateClient, op.ByID{ID: v.PathValue("id")}, shell.Once)
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return clientSecret(v, a.Value)
}

func clientSecret(v *shell.Request, made oauth.CreatedClient) shell.View {
	return v.Settings(shell.ApplicationsPath, v.Words.Say("Secret of the application"), clientSecretView(v, made.ID, made.ClientSecret)).WithSecret()
}

// fields returns the fields of the form, except the scopes.
func (f *clientForm) fields(v *shell.Request) (name, account, environment ui.Field) {
	say := v.Words.Say
	name = ui.Field{Name: "name", Label: say("Name"), Value: f.typed["name"], Errors: errorsOf(f.wrong["name"]), Required: true, Hint: say("How you recognize the application.")}
	account = ui.Field{Name: "principalId", Label: say("Service account"), Value: f.typed["principalId"], Errors: errorsOf(f.wrong["principalId"]), Options: f.accounts}
	environment = ui.Field{Name: "environment", Label: say("Environment"), Value: f.typed["environment"], Errors: errorsOf(f.wrong["environment"]), Options: []ui.Option{
		{Value: "test", Text: "Sandbox", Hint: say("Test data only.")}, {Value: "live", Text: say("Live [environment]"), Hint: say("The real data of the office.")},
	}}
	return name, account, environment
}

// errorsOf returns a message as the errors of a field, and nil for an empty message.
func errorsOf(message string) []string {
	if message == "" {
		return nil
	}
	return []string{message}
}

// all returns all scopes in groups, with the choices of f. The consent page uses the same groups.
func (f *clientForm) all(v *shell.Request) []consentFamily {
	a := consentRequest{}
	for name := range scopeWords {
		a.Scopes = append(a.Scopes, name)
	}
	families := a.families(v)
	for i := range families {
		for j := range families[i].scopes {
			s := &families[i].scopes[j]
			s.chosen = slices.Contains(f.scopes, s.name)
		}
	}
	return families
}

// unapproved reports whether a connected application lacks the approval of an admin.
func (p *applicationsPage) unapproved() bool {
	for _, group := range p.groups {
		if slices.ContainsFunc(group.grants, func(g oauth.GrantInfo) bool { return g.Unapproved }) {
			return true
		}
	}
	return false
}
