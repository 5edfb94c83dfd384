package people

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/offboarding"
	"kartei/people/principal"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
	"kartei/web/webhooks"
)

// principalPage has the data of the page of a person or a service account.
type principalPage struct {
	of   *principals
	one  access.PrincipalInfo
	keys []key.Info
	offboarding.Holdings
	handovers []offboarding.Handover
	names     map[string]string
	typed     shell.Values
	wrong     map[string]string
	// why is the reason why a change was refused.
	why string
}

// self reports whether the page is for the person who reads it.
func (p *principalPage) self(v *shell.Request) bool { return p.one.ID == v.Session.Principal.ID }

// heldState returns the state of a webhook endpoint: how many events wait for it, or which events
// it missed. An endpoint gets no events while its owner is disabled.
func heldState(v *shell.Request, e *offboarding.HeldEndpoint, owner *access.PrincipalInfo) string {
	if owner.Disabled {
		return v.Words.Say("gets nothing while the account is disabled")
	}
	missed := ""
	if e.Missed != nil && *e.Missed != (webhook.Tally{}) {
		missed = v.Words.Say("missed: %s", webhooks.TallyText(v, *e.Missed))
	}
	since := ""
	if e.MissedSince != 0 {
		since = v.Words.Say("misses events since %s", v.Words.Time(e.MissedSince.Time()))
	}
	switch {
	case e.Status == webhook.Disabled:
		return shell.Joined(" · ", v.Words.Say("disabled [endpoint]"), missed)
	case since != "":
		return shell.Joined(" · ", since, missed)
	case e.Waiting > 0:
		return v.Words.Plural(int(e.Waiting), "one event waits", "%d events wait")
	}
	return v.Words.Say("nothing waits")
}

// handedText returns what was handed over and what stayed: “12 Kontakte · 3 Aufgaben”.
func handedText(v *shell.Request, h *offboarding.Handover) string {
	var parts []string
	var stayed int64
	for _, f := range records.Families {
		var n int64
		for _, part := range h.Parts {
			t := part.Families[f.Name]
			n += t.Handed.Owned + t.Handed.Private + t.Handed.Assigned
			stayed += t.Stayed
		}
		if n > 0 {
			parts = append(parts, v.Number(n)+" "+v.Words.Say(f.Many))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, v.Words.Say("nothing handed over yet"))
		if h.FinishedAt != 0 {
			parts[0] = v.Words.Say("nothing to hand over")
		}
	}
	if stayed > 0 {
		parts = append(parts, v.Words.Plural(int(stayed), "one private record stayed", "%d private records stayed"))
	}
	return shell.Joined(" · ", parts...)
}

// underway reports whether a hand-over from the principal is in progress.
func (p *principalPage) underway() bool {
	return slices.ContainsFunc(p.handovers, func(h offboarding.Handover) bool { return h.FinishedAt == 0 })
}

// read reads the principal.
func (p *principalPage) read(v *shell.Request) (err error) {
	p.one, err = shell.Ask(v, p.of.get, op.ByID{ID: v.PathValue("id")})
	return err
}

// showPrincipal returns the handler of the page of a person or a service account.
func showPrincipal(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View { return drawPrincipal(v, principalPage{of: of}, http.StatusOK) }
}

func drawPrincipal(v *shell.Request, p principalPage, status int) shell.View {
	if err := p.read(v); err != nil {
		return v.Failed(err)
	}
	p.names = map[string]string{}
	if err := shell.Together(
		func() error { return p.readProperty(v, true) },
		func() error {
			found, err := shell.Ask(v, offboarding.Status, op.ByID{ID: p.one.ID})
			p.handovers = found.Data
			return err
		},
	); err != nil {
		return v.Failed(err)
	}
	var successors []string
	for _, h := range p.handovers {
		successors = append(successors, h.To)
	}
	if err := v.NamesOf(successors, p.names); err != nil {
		return v.Failed(err)
	}
	if p.typed == nil {
		p.typed = p.stored()
	}
	return v.Settings(p.of.path, p.one.Name, principalView(v, p)).WithStatus(status)
}

// stored returns the stored values of the form.
func (p *principalPage) stored() shell.Values {
	return rightsTyped(shell.Values{"name": p.one.Name, "email": p.one.Email, "language": p.one.Language, "role": string(p.one.Role)}, p.one.Rights)
}

// readProperty reads the keys and the other possessions of the principal. If endpointsOnly is set,
// it reads only keys and webhook endpoints, because counts take longer.
func (p *principalPage) readProperty(v *shell.Request, endpointsOnly bool) error {
	err := p.readKeys(v)
	if err != nil {
		return err
	}
	p.Holdings, err = shell.Ask(v, offboarding.Holds, offboarding.HoldingsInput{ID: p.one.ID, EndpointsOnly: endpointsOnly})
	return err
}

// readKeys reads all keys that are not revoked.
func (p *principalPage) readKeys(v *shell.Request) error {
	for after := ""; ; {
		found, err := shell.Ask(v, key.List, key.FindInput{Principal: p.one.ID, Page: op.Page{After: after}})
		if err != nil {
			return err
		}
		for _, k := range found.Data {
			if after = k.ID; k.Status != key.Revoked {
				p.keys = append(p.keys, k)
			}
		}
		if !found.HasMore {
			return nil
		}
	}
}

// fields returns the fields of the form, except the fields of rights.
func (p *principalPage) fields(v *shell.Request) []ui.Field {
	name := ui.Field{Name: "name", Label: v.Words.Say("Name"), Value: p.typed["name"], Errors: shell.Present(p.wrong["name"]), Autocomplete: "off"}
	if !p.of.isPeople() {
		return []ui.Field{name, roleField(v, p.typed, p.wrong)}
	}
	email := ui.Field{Name: "email", Type: "email", Label: v.Words.Say("Email for messages"), Value: p.typed["email"], Errors: shell.Present(p.wrong["email"]), Autocomplete: "off"}
	return []ui.Field{name, email, mailLanguage(v, p.typed, p.wrong), roleField(v, p.typed, p.wrong)}
}

// savePrincipal returns a handler that stores the members that the admin changed.
func savePrincipal(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id, typed := v.PathValue("id"), shell.Values{}
		sent := func(name string) *string {
			if !v.Sent.Has(name) {
				return nil
			}
			return v.Changed(typed, name)
		}
		in := principal.Change{
			ID: id, Name: sent("name"), Email: sent("email"), Language: sent("language"), Role: (*access.Role)(sent("role")), Rights: rightsSent(v, typed),
		}
		if in.Name == nil && in.Email == nil && in.Language == nil && in.Role == nil && len(in.Rights) == 0 {
			return shell.Redirect{To: of.at(id)}
		}
		a := shell.Do(v, of.set, in, shell.Once)
		switch {
		case a.Is(fault.ValidationFailed):
			return drawPrincipal(v, principalPage{of: of, typed: typed, wrong: shell.FieldTexts(a.Fault, v.Words.Language)}, a.Status)
		case a.Is(fault.Forbidden) && !v.Stale:
			return drawPrincipal(v, principalPage{of: of, typed: typed, why: v.Reason(a.Fault)}, a.Status)
		case a.Fault != nil:
			return v.Failed(a.Fault)
		}
		return v.Saved(of.at(id), "principal")
	}
}

// enablePrincipal returns a handler that enables a principal again.
func enablePrincipal(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		return actOnPrincipal(v, of, of.set, principal.Change{ID: v.PathValue("id"), Disabled: new(false)}, "enabled")
	}
}

// resetFactors sends a person a link that removes their second factors.
func resetFactors(v *shell.Request) shell.View {
	return actOnPrincipal(v, &persons, account.ResetFactors, op.ByID{ID: v.PathValue("id")}, "factors")
}

// actOnPrincipal runs the operation o on a principal and redirects to the principal's page with the
// message done. If the operation is refused, the page shows the reason.
func actOnPrincipal[In, Out any](v *shell.Request, of *principals, o op.Operation[In, Out], in In, done string) shell.View {
	a := shell.Do(v, o, in, shell.Once)
	switch {
	case a.Is(fault.Forbidden) && !v.Stale, a.Is(fault.RateLimited):
		return drawPrincipal(v, principalPage{of: of, why: v.Reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(of.at(v.PathValue("id")), done)
}

// leavePage has the data of the page that disables a principal and hands over the records.
type leavePage struct {
	principalPage
	// counts are the numbers of records by family, as texts.
	counts []string
	// successors are the options for the new owner.
	successors []ui.Option
}

// showLeave returns the handler of the page that disables a principal.
func showLeave(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		return drawLeave(v, leavePage{principalPage: principalPage{of: of, typed: shell.Values{}}}, http.StatusOK)
	}
}

func drawLeave(v *shell.Request, p leavePage, status int) shell.View {
	if err := p.read(v); err != nil {
		return v.Failed(err)
	}
	if p.self(v) {
		p.why, status = ownAccount(v), http.StatusForbidden
	}
	if err := shell.Together(
		func() error { return errors.Join(p.readProperty(v, false), p.countRecords(v)) },
		func() (err error) { // active people and service accounts
			p.successors, err = PrincipalOptions(v, func(one *access.PrincipalInfo) bool { return isActive(one) && one.ID != p.one.ID })
			return err
		},
	); err != nil {
		return v.Failed(err)
	}
	title := v.Words.Say("Disable and hand over")
	if p.one.Disabled {
		title = v.Words.Say("Hand over")
	}
	return v.Settings(p.of.path, title, leaveView(v, p)).WithStatus(status)
}

func ownAccount(v *shell.Request) string {
	return v.Words.Say("This is your own account. Another admin can disable it.")
}

// countRecords counts the records that the principal owns. Tasks have no owner, so it counts the
// tasks that are assigned to the principal.
func (p *leavePage) countRecords(v *shell.Request) error {
	for _, f := range records.Families {
		if !f.ByOwner || !v.Session.May(f.Read) {
			continue
		}
		n, err := shell.Fetch[records.CountAnswer](v, f.Acts.Count, shell.Arguments{Query: url.Values{"ownerId": {p.one.ID}}})
		if err != nil {
			return err
		}
		if n.Count > 0 {
			p.counts = append(p.counts, records.CountText(v.Words, n)+" "+v.Words.Say(f.Many))
		}
	}
	if p.OpenTasks > 0 {
		p.counts = append(p.counts, v.Words.Plural(int(p.OpenTasks), "one open task", "%d open tasks"))
	}
	return nil
}

// access returns the number of browsers with a session, and of applications that act for the
// principal.
func (p *leavePage) access(v *shell.Request) string {
	var sessions, applications string
	if p.Sessions > 0 {
		sessions = v.Words.Plural(int(p.Sessions), "signed in with one browser", "signed in with %d browsers")
	}
	if p.Applications > 0 {
		applications = v.Words.Plural(int(p.Applications), "one connected application", "%d connected applications")
	}
	return cmp.Or(shell.Joined(" · ", sessions, applications), v.Words.Say("Signed in nowhere, no connected application."))
}

// private returns the number of private records as a text.
func (p *leavePage) private(v *shell.Request) string {
	var n int64
	for _, of := range p.PrivateRecords {
		n += of
	}
	if n == 0 {
		return v.Words.Say("There are no private records.")
	}
	return v.Words.Plural(int(n), "One private record. Whoever takes over sees it then. Otherwise it stays, and only admins see it.", "%d private records. Whoever takes over sees them then. Otherwise they stay, and only admins see them.")
}

// fields returns the fields of the form.
func (p *leavePage) fields(v *shell.Request) []ui.Field {
	none := v.Words.Say("nobody yet: disable only")
	if p.one.Disabled {
		none = v.Words.Say("please choose")
	}
	to := ui.Field{Name: "to", Label: v.Words.Say("Who takes over"), Value: p.typed["to"], Errors: shell.Present(p.wrong["to"], p.wrong["id"]),
		Hint:    v.Words.Say("Records and tasks, those of the sandbox too."),
		Options: append([]ui.Option{{Text: none}}, p.successors...)}
	private := ui.Field{Name: "private", Label: v.Words.Say("Hand over private records too"),
		Hint: p.private(v)}
	return []ui.Field{to, private}
}

// leave returns a handler that disables a principal, and in the same step hands over the records if
// a new owner is chosen.
func leave(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		p := leavePage{principalPage: principalPage{of: of, typed: shell.Values{"to": v.Sent.Text("to"), "private": v.Sent.Get("private")}}}
		if id == v.Session.Principal.ID {
			return drawLeave(v, p, http.StatusForbidden)
		}
		if err := p.read(v); err != nil {
			return v.Failed(err)
		}
		var a shell.Answer[op.Nothing] // of one of the two operations
		if p.typed["to"] != "" || p.one.Disabled {
			begun := shell.Do(v, offboarding.HandOver, offboarding.HandOverInput{ID: id, To: p.typed["to"], Private: p.typed["private"] != "", Disable: true}, shell.Once)
			a.Status, a.Fault = begun.Status, begun.Fault
		} else {
			disabled := shell.Do(v, of.set, principal.Change{ID: id, Disabled: new(true)}, shell.Once)
			a.Status, a.Fault = disabled.Status, disabled.Fault
		}
		switch {
		case a.Is(fault.ValidationFailed):
			p.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
			return drawLeave(v, p, a.Status)
		case a.Is(fault.Forbidden) && !v.Stale:
			p.why = v.Reason(a.Fault)
			return drawLeave(v, p, a.Status)
		case a.Fault != nil:
			return v.Failed(a.Fault)
		case p.typed["to"] == "":
			return v.Saved(of.at(id), "disabled")
		}
		return v.Saved(of.at(id), "handsOver")
	}
}

// erasePage has the data of the page that asks for a confirmation before a person is erased.
type erasePage struct {
	one   access.PrincipalInfo
	wrong bool
	why   string
}

// showErase serves the page that asks for a confirmation.
func showErase(v *shell.Request) shell.View { return drawErase(v, erasePage{}, http.StatusOK) }

func drawErase(v *shell.Request, p erasePage, status int) shell.View {
	one := principalPage{of: &persons}
	if err := one.read(v); err != nil {
		return v.Failed(err)
	}
	p.one = one.one
	if one.self(v) {
		p.why, status = ownAccount(v), http.StatusForbidden
	}
	return v.Settings(shell.PeoplePath, v.Words.Say("Erase the person"), eraseView(v, p)).WithStatus(status)
}

// field returns the field in which the admin enters the person's name as a confirmation.
func (p *erasePage) field(v *shell.Request) ui.Field {
	f := ui.Field{Name: "name", Label: v.Words.Say("To be sure: the name of the person"), Autocomplete: "off"}
	if p.wrong {
		f.Errors = []string{v.Words.Say("Please enter the name: %s", p.one.Name)}
	}
	return f
}

// erase erases a person if the entered name is right.
func erase(v *shell.Request) shell.View {
	id := v.PathValue("id")
	one := principalPage{of: &persons}
	if err := one.read(v); err != nil {
		return v.Failed(err)
	}
	switch {
	case one.self(v):
		return drawErase(v, erasePage{}, http.StatusForbidden)
	case v.Sent.Text("name") != one.one.Name:
		return drawErase(v, erasePage{wrong: true}, http.StatusUnprocessableEntity)
	}
	a := shell.Do(v, offboarding.Erase, op.ByID{ID: id}, shell.Once)
	switch {
	case a.Is(fault.Forbidden) && !v.Stale:
		return drawErase(v, erasePage{why: v.Reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.PeoplePath, "erased")
}
