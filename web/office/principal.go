package office

import (
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
	"kartei/people/settings"
	"kartei/web/ui"
)

// principalPage is the page of a person or of a service account.
type principalPage struct {
	of   *principals
	one  access.PrincipalInfo
	keys []key.Info
	offboarding.Holdings
	handovers []offboarding.Handover
	names     map[string]string
	typed     values
	wrong     map[string]string
	// why says why a change was refused.
	why string
}

// self reports whether it is the page of the person who reads it.
func (p *principalPage) self(v *request) bool { return p.one.ID == v.session.Principal.ID }

// heldState says in words what waits for the endpoint, or what it missed. While the owner
// is disabled it gets nothing.
func heldState(v *request, e *offboarding.HeldEndpoint, owner *access.PrincipalInfo) string {
	if owner.Disabled {
		return v.words.Say("bekommt nichts, solange das Konto gesperrt ist", "gets nothing while the account is disabled")
	}
	missed := ""
	if e.Missed != nil && *e.Missed != (webhook.Tally{}) {
		missed = v.words.Say("verpasst: ", "missed: ") + tallyText(v, *e.Missed)
	}
	since := ""
	if e.MissedSince != 0 {
		since = v.words.Say("verpasst Ereignisse seit ", "misses events since ") + v.words.Time(e.MissedSince.Time())
	}
	switch {
	case e.Status == webhook.Disabled:
		return joined(" · ", v.words.Say("abgeschaltet", "disabled"), missed)
	case since != "":
		return joined(" · ", since, missed)
	case e.Waiting > 0:
		return v.words.Plural(int(e.Waiting), "ein Ereignis wartet", "%d Ereignisse warten", "one event waits", "%d events wait")
	}
	return v.words.Say("nichts wartet", "nothing waits")
}

// handedText says what was handed over so far, and what stayed: "12 Kontakte · 3 Aufgaben".
func handedText(v *request, h *offboarding.Handover) string {
	var parts []string
	var stayed int64
	for _, f := range families {
		var n int64
		for _, part := range h.Parts {
			t := part.Families[f.name]
			n += t.Handed.Owned + t.Handed.Private + t.Handed.Assigned
			stayed += t.Stayed
		}
		if n > 0 {
			parts = append(parts, v.number(n)+" "+f.many.In(v.words.Language))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, v.words.Say("noch nichts übergeben", "nothing handed over yet"))
		if h.FinishedAt != 0 {
			parts[0] = v.words.Say("nichts zu übergeben", "nothing to hand over")
		}
	}
	if stayed > 0 {
		parts = append(parts, v.words.Plural(int(stayed), "ein privater Eintrag blieb", "%d private Einträge blieben", "one private record stayed", "%d private records stayed"))
	}
	return joined(" · ", parts...)
}

// underway reports whether a hand-over from the principal goes on.
func (p *principalPage) underway() bool {
	return slices.ContainsFunc(p.handovers, func(h offboarding.Handover) bool { return h.FinishedAt == 0 })
}

// read fills in the principal.
func (p *principalPage) read(v *request) (err error) {
	p.one, err = ask(v, p.of.get, access.ByID{ID: v.PathValue("id")})
	return err
}

// showPrincipal serves the page of a person or of a service account.
func showPrincipal(of *principals) func(*request) view {
	return func(v *request) view { return v.principalPage(principalPage{of: of}, http.StatusOK) }
}

func (v *request) principalPage(p principalPage, status int) view {
	if err := p.read(v); err != nil {
		return v.failed(err)
	}
	p.names = map[string]string{}
	if err := together(
		func() error { return p.readProperty(v, true) },
		func() error {
			found, err := ask(v, offboarding.Status, access.ByID{ID: p.one.ID})
			p.handovers = found.Data
			return err
		},
	); err != nil {
		return v.failed(err)
	}
	var successors []string
	for _, h := range p.handovers {
		successors = append(successors, h.To)
	}
	if err := v.namesOf(successors, p.names); err != nil {
		return v.failed(err)
	}
	if p.typed == nil {
		p.typed = p.stored()
	}
	return v.settingsAs(status, p.of.path, p.one.Name, principalView(v, p))
}

// stored are the values of the form as they are stored.
func (p *principalPage) stored() values {
	return rightsTyped(values{"name": p.one.Name, "email": p.one.Email, "language": p.one.Language, "role": string(p.one.Role)}, p.one.Rights)
}

// readProperty reads the keys, and what else the principal has: counts take longer.
func (p *principalPage) readProperty(v *request, endpointsOnly bool) error {
	err := p.readKeys(v)
	if err == nil {
		p.Holdings, err = ask(v, offboarding.Holds, offboarding.HoldingsInput{ID: p.one.ID, EndpointsOnly: endpointsOnly})
	}
	return err
}

// readKeys reads the keys that still work, or that work again some time.
func (p *principalPage) readKeys(v *request) error {
	for after := ""; ; {
		found, err := ask(v, key.List, key.FindInput{Principal: p.one.ID, Page: access.Page{After: after}})
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

// fields are the fields of the form before the fields of rights.
func (p *principalPage) fields(v *request) []ui.Field {
	name := ui.Field{Name: "name", Label: "Name", Value: p.typed["name"], Errors: present(p.wrong["name"]), Autocomplete: "off"}
	if !p.of.isPeople() {
		return []ui.Field{name, roleField(v, p.typed, p.wrong)}
	}
	email := ui.Field{Name: "email", Type: "email", Label: v.words.Say("E-Mail für Nachrichten", "Email for messages"), Value: p.typed["email"], Errors: present(p.wrong["email"]), Autocomplete: "off"}
	return []ui.Field{name, email, mailLanguage(v, p.typed, p.wrong), roleField(v, p.typed, p.wrong)}
}

// savePrincipal changes what the admin changed of a principal.
func savePrincipal(of *principals) func(*request) view {
	return func(v *request) view {
		id, typed := v.PathValue("id"), values{}
		sent := func(name string) *string {
			if !v.form.Has(name) {
				return nil
			}
			return v.changed(typed, name)
		}
		in := settings.PrincipalChange{
			ID: id, Name: sent("name"), Email: sent("email"), Language: sent("language"), Role: (*access.Role)(sent("role")), Rights: v.rightsSent(typed),
		}
		if in.Name == nil && in.Email == nil && in.Language == nil && in.Role == nil && len(in.Rights) == 0 {
			return view{to: of.at(id)}
		}
		a := do(v, of.set, in, once)
		switch {
		case a.is(fault.ValidationFailed):
			return v.principalPage(principalPage{of: of, typed: typed, wrong: fieldTexts(a.Fault, v.words.Language)}, a.Status)
		case a.is(fault.Forbidden) && !v.stale:
			return v.principalPage(principalPage{of: of, typed: typed, why: v.reason(a.Fault)}, a.Status)
		case a.Fault != nil:
			return v.failed(a.Fault)
		}
		return v.saved(of.at(id), "principal")
	}
}

// enablePrincipal lets a principal in again.
func enablePrincipal(of *principals) func(*request) view {
	return func(v *request) view {
		return actOnPrincipal(v, of, of.set, settings.PrincipalChange{ID: v.PathValue("id"), Disabled: new(false)}, "enabled")
	}
}

// resetFactors mails a person a link that lifts their second factors.
func resetFactors(v *request) view {
	return actOnPrincipal(v, &persons, account.ResetFactors, access.ByID{ID: v.PathValue("id")}, "factors")
}

// actOnPrincipal calls an operation about a principal, and goes back to its page. Its page
// says why the operation refuses.
func actOnPrincipal[In, Out any](v *request, of *principals, o op.Operation[In, Out], in In, done string) view {
	a := do(v, o, in, once)
	switch {
	case a.is(fault.Forbidden) && !v.stale, a.is(fault.RateLimited):
		return v.principalPage(principalPage{of: of, why: v.reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(of.at(v.PathValue("id")), done)
}

// leavePage asks what becomes of the things of somebody who leaves.
type leavePage struct {
	principalPage
	// counts say what there is of each family.
	counts []string
	// successors are who can take over.
	successors []ui.Option
}

// showLeave serves the page.
func showLeave(of *principals) func(*request) view {
	return func(v *request) view {
		return v.leave(leavePage{principalPage: principalPage{of: of, typed: values{}}}, http.StatusOK)
	}
}

func (v *request) leave(p leavePage, status int) view {
	if err := p.read(v); err != nil {
		return v.failed(err)
	}
	if p.self(v) {
		p.why, status = ownAccount(v), http.StatusForbidden
	}
	if err := together(
		func() error { return errors.Join(p.readProperty(v, false), p.countRecords(v)) },
		func() (err error) { // active people, and service accounts
			p.successors, err = v.principalOptions(func(one *access.PrincipalInfo) bool { return isActive(one) && one.ID != p.one.ID })
			return err
		},
	); err != nil {
		return v.failed(err)
	}
	title := v.words.Say("Sperren und übergeben", "Disable and hand over")
	if p.one.Disabled {
		title = v.words.Say("Übergeben", "Hand over")
	}
	return v.settingsAs(status, p.of.path, title, leaveView(v, p))
}

func ownAccount(v *request) string {
	return v.words.Say("Das ist Ihr eigenes Konto. Sperren kann es jemand anderes aus der Administration.", "This is your own account. Another admin can disable it.")
}

// countRecords counts what the principal owns. Of tasks it has those that are assigned:
// lists of tasks have no owner.
func (p *leavePage) countRecords(v *request) error {
	for _, f := range families {
		if f == &tasks || !v.session.may(f.read) {
			continue
		}
		n, err := fetch[counted](v, f.acts.count, arguments{query: url.Values{"ownerId": {p.one.ID}}})
		if err != nil {
			return err
		}
		if n.Count > 0 {
			p.counts = append(p.counts, countText(v.words, n)+" "+f.many.In(v.words.Language))
		}
	}
	if p.OpenTasks > 0 {
		p.counts = append(p.counts, v.words.Plural(int(p.OpenTasks), "eine offene Aufgabe", "%d offene Aufgaben", "one open task", "%d open tasks"))
	}
	return nil
}

// access says where the principal is signed in, and which applications act for them.
func (p *leavePage) access(v *request) string {
	var sessions, applications string
	if p.Sessions > 0 {
		sessions = v.words.Plural(int(p.Sessions), "in einem Browser angemeldet", "in %d Browsern angemeldet", "signed in with one browser", "signed in with %d browsers")
	}
	if p.Applications > 0 {
		applications = v.words.Plural(int(p.Applications), "eine verbundene Anwendung", "%d verbundene Anwendungen", "one connected application", "%d connected applications")
	}
	return first(joined(" · ", sessions, applications), v.words.Say("Nirgends angemeldet, keine verbundene Anwendung.", "Signed in nowhere, no connected application."))
}

// private says how many private records there are.
func (p *leavePage) private(v *request) string {
	var n int64
	for _, of := range p.PrivateRecords {
		n += of
	}
	if n == 0 {
		return v.words.Say("Private Einträge gibt es nicht.", "There are no private records.")
	}
	return v.words.Plural(int(n), "Ein privater Eintrag. Wer übernimmt, sieht ihn dann. Sonst bleibt er liegen, und nur die Administration sieht ihn.", "%d private Einträge. Wer übernimmt, sieht sie dann. Sonst bleiben sie liegen, und nur die Administration sieht sie.",
		"One private record. Whoever takes over sees it then. Otherwise it stays, and only admins see it.", "%d private records. Whoever takes over sees them then. Otherwise they stay, and only admins see them.")
}

// fields are the fields of the form.
func (p *leavePage) fields(v *request) []ui.Field {
	none := v.words.Say("noch niemand: nur sperren", "nobody yet: disable only")
	if p.one.Disabled {
		none = v.words.Say("bitte wählen", "please choose")
	}
	to := ui.Field{Name: "to", Label: v.words.Say("Wer übernimmt", "Who takes over"), Value: p.typed["to"], Errors: present(p.wrong["to"], p.wrong["id"]),
		Hint:    v.words.Say("Einträge und Aufgaben, auch die der Sandbox.", "Records and tasks, those of the sandbox too."),
		Options: append([]ui.Option{{Text: none}}, p.successors...)}
	private := ui.Field{Name: "private", Label: v.words.Say("Auch private Einträge übergeben", "Hand over private records too"),
		Hint: p.private(v)}
	return []ui.Field{to, private}
}

// leave disables a principal, and hands over what is theirs, in one act.
func leave(of *principals) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		p := leavePage{principalPage: principalPage{of: of, typed: values{"to": v.form.text("to"), "private": v.form.Get("private")}}}
		if id == v.session.Principal.ID {
			return v.leave(p, http.StatusForbidden)
		}
		if err := p.read(v); err != nil {
			return v.failed(err)
		}
		var a answer[op.Nothing] // of one operation or the other
		if p.typed["to"] != "" || p.one.Disabled {
			begun := do(v, offboarding.HandOver, offboarding.HandOverInput{ID: id, To: p.typed["to"], Private: p.typed["private"] != "", Disable: true}, once)
			a.Status, a.Fault = begun.Status, begun.Fault
		} else {
			disabled := do(v, of.set, settings.PrincipalChange{ID: id, Disabled: new(true)}, once)
			a.Status, a.Fault = disabled.Status, disabled.Fault
		}
		switch {
		case a.is(fault.ValidationFailed):
			p.wrong = fieldTexts(a.Fault, v.words.Language)
			return v.leave(p, a.Status)
		case a.is(fault.Forbidden) && !v.stale:
			p.why = v.reason(a.Fault)
			return v.leave(p, a.Status)
		case a.Fault != nil:
			return v.failed(a.Fault)
		case p.typed["to"] == "":
			return v.saved(of.at(id), "disabled")
		}
		return v.saved(of.at(id), "handsOver")
	}
}

// erasePage asks whether a person is to be erased.
type erasePage struct {
	one   access.PrincipalInfo
	wrong bool
	why   string
}

// showErase serves the page.
func showErase(v *request) view { return v.erasePage(erasePage{}, http.StatusOK) }

func (v *request) erasePage(p erasePage, status int) view {
	one := principalPage{of: &persons}
	if err := one.read(v); err != nil {
		return v.failed(err)
	}
	p.one = one.one
	if one.self(v) {
		p.why, status = ownAccount(v), http.StatusForbidden
	}
	return v.settingsAs(status, peoplePath, v.words.Say("Person löschen", "Erase the person"), eraseView(v, p))
}

// field is the name, typed once more.
func (p *erasePage) field(v *request) ui.Field {
	f := ui.Field{Name: "name", Label: v.words.Say("Zur Sicherheit: der Name der Person", "To be sure: the name of the person"), Autocomplete: "off"}
	if p.wrong {
		f.Errors = []string{v.words.Say("Bitte geben Sie den Namen ein: ", "Please enter the name: ") + p.one.Name}
	}
	return f
}

// erase erases a person.
func erase(v *request) view {
	id := v.PathValue("id")
	one := principalPage{of: &persons}
	if err := one.read(v); err != nil {
		return v.failed(err)
	}
	switch {
	case one.self(v):
		return v.erasePage(erasePage{}, http.StatusForbidden)
	case v.form.text("name") != one.one.Name:
		return v.erasePage(erasePage{wrong: true}, http.StatusUnprocessableEntity)
	}
	a := do(v, offboarding.Erase, access.ByID{ID: id}, once)
	switch {
	case a.is(fault.Forbidden) && !v.stale:
		return v.erasePage(erasePage{why: v.reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(peoplePath, "erased")
}
