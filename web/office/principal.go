package office

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/offboarding"
	"kartei/people/settings"
	"kartei/web/ui"
)

// principalPage is the page of a person or of a service account.
type principalPage struct {
	of   *principals
	one  principalInfo
	keys []keyInfo
	holdings
	handovers []handoverInfo
	names     map[string]string
	typed     values
	wrong     map[string]string
	// why says why a change was refused.
	why string
}

// self reports whether it is the page of the person who reads it.
func (p *principalPage) self(v *request) bool { return p.one.ID == v.session.Principal.ID }

// endpointState is a webhook endpoint, and what waits for it.
type endpointState struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	URL     string `json:"url"`
	Status  string `json:"status"`
	Waiting int64  `json:"waiting"`
	// MissedSince is a time before the first event that was never tried, zero if there
	// is none.
	MissedSince clock.Micros `json:"missedSince"`
	// Missed counts the events that never arrived.
	Missed tally `json:"missed"`
	// EventTypes are what it gets, and misses while its owner is disabled.
	EventTypes []string `json:"eventTypes"`
}

// state says in words what waits for the endpoint, or what it missed. While the owner is
// disabled it gets nothing.
func (e *endpointState) state(v *request, owner *principalInfo) string {
	if owner.Disabled {
		return v.words.Say("bekommt nichts, solange das Konto gesperrt ist", "gets nothing while the account is disabled")
	}
	missed := ""
	if e.Missed != (tally{}) {
		missed = v.words.Say("verpasst: ", "missed: ") + e.Missed.text(v)
	}
	since := ""
	if e.MissedSince != 0 {
		since = v.words.Say("verpasst Ereignisse seit ", "misses events since ") + v.words.Time(e.MissedSince.Time())
	}
	switch {
	case e.Status == "disabled":
		return joined(" · ", v.words.Say("abgeschaltet", "disabled"), missed)
	case since != "":
		return joined(" · ", since, missed)
	case e.Waiting > 0:
		return v.words.Plural(int(e.Waiting), "ein Ereignis wartet", "%d Ereignisse warten", "one event waits", "%d events wait")
	}
	return v.words.Say("nichts wartet", "nothing waits")
}

// handoverInfo is a hand-over as people.handOverStatus returns it.
type handoverInfo struct {
	ID          string       `json:"id"`
	To          string       `json:"toId"`
	WithPrivate bool         `json:"withPrivate"`
	CreatedAt   clock.Micros `json:"createdAt"`
	FinishedAt  clock.Micros `json:"finishedAt"`
	Parts       []struct {
		Families map[string]struct {
			Handed struct {
				Owned    int64 `json:"owned"`
				Private  int64 `json:"private"`
				Assigned int64 `json:"assigned"`
			} `json:"handed"`
			Stayed int64 `json:"stayed"`
		} `json:"families"`
	} `json:"parts"`
}

// sums says what was handed over so far, and what stayed: "12 Kontakte · 3 Aufgaben".
func (h *handoverInfo) sums(v *request) string {
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
	return slices.ContainsFunc(p.handovers, func(h handoverInfo) bool { return h.FinishedAt == 0 })
}

// read fills in the principal.
func (p *principalPage) read(v *request) (err error) {
	p.one, err = fetch[principalInfo](v, p.of.get, arguments{body: map[string]any{"id": v.PathValue("id")}})
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
			found, err := fetch[listOf[handoverInfo]](v, offboarding.Status, arguments{body: map[string]any{"id": p.one.ID}})
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
	return rightsTyped(values{"name": p.one.Name, "email": p.one.Email, "language": p.one.Language, "role": p.one.Role}, p.one.Rights)
}

// holdings are what people.holdings returns: what a principal has in both environments.
type holdings struct {
	Sessions       int64            `json:"sessions"`
	Applications   int64            `json:"applications"`
	OpenTasks      int64            `json:"openTasks"`
	PrivateRecords map[string]int64 `json:"privateRecords"`
	Endpoints      []endpointState  `json:"endpoints"`
}

// readProperty reads the keys, and what else the principal has: counts take longer.
func (p *principalPage) readProperty(v *request, endpointsOnly bool) error {
	err := p.readKeys(v)
	if err == nil {
		p.holdings, err = fetch[holdings](v, offboarding.Holds, arguments{body: map[string]any{"id": p.one.ID, "endpointsOnly": endpointsOnly}})
	}
	return err
}

// readKeys reads the keys that still work, or that work again some time.
func (p *principalPage) readKeys(v *request) error {
	for after := ""; ; {
		found, err := fetch[listOf[keyInfo]](v, settings.ListKeys, arguments{body: map[string]any{"principalId": p.one.ID, "after": after}})
		if err != nil {
			return err
		}
		for _, k := range found.Data {
			if after = k.ID; k.Status != "revoked" {
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
		body := map[string]any{"id": id}
		for _, name := range []string{"name", "email", "language", "role"} {
			if !v.form.Has(name) {
				continue
			}
			if typed[name] = v.form.text(name); typed[name] != v.form.was[name] {
				body[name] = typed[name]
			}
		}
		if rights := v.rightsSent(typed); len(rights) > 0 {
			body["rights"] = rights
		}
		if len(body) == 1 {
			return view{to: of.at(id)}
		}
		a := v.send(of.set, arguments{once: v.form.token, body: body})
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
		return v.actOnPrincipal(of, of.set, map[string]any{"disabled": false}, "enabled")
	}
}

// resetFactors mails a person a link that lifts their second factors.
func resetFactors(v *request) view {
	return v.actOnPrincipal(&persons, account.ResetFactors, map[string]any{}, "factors")
}

// actOnPrincipal calls a row about a principal, and goes back to its page. Its page says
// why the row refuses.
func (v *request) actOnPrincipal(of *principals, row op.Any, body map[string]any, done string) view {
	id := v.PathValue("id")
	body["id"] = id
	a := v.send(row, arguments{once: v.form.token, body: body})
	switch {
	case a.is(fault.Forbidden) && !v.stale, a.is(fault.RateLimited):
		return v.principalPage(principalPage{of: of, why: v.reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(of.at(id), done)
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
			p.successors, err = v.principalOptions(func(one *principalInfo) bool { return one.active() && one.ID != p.one.ID })
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
		row, body := op.Any(of.set), map[string]any{"id": id, "disabled": true}
		if p.typed["to"] != "" || p.one.Disabled {
			row, body = offboarding.HandOver, map[string]any{"id": id, "to": p.typed["to"], "private": p.typed["private"] != "", "disable": true}
		}
		a := v.send(row, arguments{once: v.form.token, body: body})
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
	one   principalInfo
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
	a := v.send(offboarding.Erase, arguments{once: v.form.token, body: map[string]any{"id": id}})
	switch {
	case a.is(fault.Forbidden) && !v.stale:
		return v.erasePage(erasePage{why: v.reason(a.Fault)}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(peoplePath, "erased")
}
