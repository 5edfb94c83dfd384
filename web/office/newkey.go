package office

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/access"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/settings"
	"kartei/record/contact"
	"kartei/web/ui"
)

// keyForm is the form of a new key. Each member is also a parameter of the address, so
// that a guide can link to a form that is filled in.
type keyForm struct {
	terms key.Terms
	// present are the networks of the browser, as the form offers them. here says that they
	// are ticked in advance: a link asks for a key that writes, and names no networks.
	present string
	here    bool
	// owner is the service account whose key it will be; empty is the person.
	owner string
	// others are the service accounts of which an admin can choose one.
	others []ui.Option
	typed  values
	wrong  map[string]string
	// linked says that the values come from a link. What the form does not offer is
	// left out then, as if nothing had been chosen.
	linked bool
	// asked are the scopes that the link names, and leftOut is what of the link the form
	// does not offer, in words.
	asked, leftOut []string
	// exceeds says that the link names rights that the owner lacks.
	exceeds bool
	// sandbox is the number of its contacts, zero if the person may not read them.
	sandbox counted
}

// The presets of what a key may.
const (
	keyReads  = "read"
	keyWrites = "write"
	keyOwn    = "own"
)

// keyDays are the lifetimes that the form offers, in days.
var keyDays = []int{7, 30, 90, 180, 366}

// defaultKeyDays is the lifetime of a key if nobody chooses one.
const defaultKeyDays = "30"

// showNewKey serves the form of a new key, filled in from the address.
func showNewKey(v *request) view {
	q := v.URL.Query()
	f := keyForm{typed: values{
		"environment": first(q.Get("env"), q.Get("environment")), "name": q.Get("name"), "networks": strings.Join(split(strings.Join(append(q["networks"], q["here"]...), ",")), ", "),
		"days": q.Get("days"), "version": q.Get("version"), "may": q.Get("may"),
	}, owner: q.Get("owner"), linked: true, here: !q.Has("networks")}
	for _, name := range f.rightNames() {
		f.typed[name] = q.Get(name)
	}
	if scopes := split(strings.Join(q["scopes"], ",")); len(scopes) > 0 {
		f.typed["may"], f.asked = keyOwn, scopes
		f.typed["suggested"] = "yes"
		for _, scope := range scopes {
			if family, right, _ := strings.Cut(scope, ":"); f.typed["may."+family] != keyWrites {
				f.typed["may."+family] = right
			}
		}
	}
	return v.keyForm(f, http.StatusOK)
}

// keyForm draws the form. What was not chosen is what most people need.
func (v *request) keyForm(f keyForm, status int) view {
	if err := f.know(v); err != nil {
		return v.failed(err)
	}
	if err := f.offerOwners(v); err != nil {
		return v.failed(err)
	}
	f.present = presentNetworks(v.office.Address(v.Request))
	if f.linked {
		f.dropUnknown(v)
	}
	if v.session.may("contacts:read") {
		var err error
		if f.sandbox, err = fetch[counted](v, contact.Count, arguments{sandbox: true}); err != nil {
			return v.failed(err)
		}
	}
	f.typed["environment"] = first(f.typed["environment"], "test")
	f.typed["may"] = first(f.typed["may"], keyReads)
	f.typed["days"] = first(f.typed["days"], defaultKeyDays)
	if len(f.terms.Versions) > 0 {
		f.typed["version"] = first(f.typed["version"], f.terms.Versions[0])
	}
	f.here = f.here && f.writes()
	return v.settingsAs(status, keysPath, v.words.Say("Neuer API-Schlüssel", "New API key"), newKeyView(v, f))
}

// ownMachine are the networks of a machine's calls to itself. They are offered together,
// because a browser may use IPv6 and the next program IPv4.
const ownMachine = "127.0.0.0/8, ::1/128"

// presentNetworks returns the networks of a browser with an address.
func presentNetworks(address netip.Addr) string {
	if address = address.Unmap(); address.IsLoopback() {
		return ownMachine
	}
	return address.String()
}

// know asks which keys the person can create, unless it is known.
func (f *keyForm) know(v *request) (err error) {
	if f.terms.Principal == "" {
		f.terms, err = ask(v, key.GetTerms, key.KeyTermsInput{Principal: f.owner})
	}
	return err
}

// ownersOffered is the number of service accounts that the form offers.
const ownersOffered = 20

// offerOwners reads the service accounts for which an admin can create keys.
func (f *keyForm) offerOwners(v *request) error {
	if !v.session.Administers {
		return nil
	}
	found, err := ask(v, settings.ListServiceAccounts, access.Page{Limit: ownersOffered})
	for _, a := range found.Data {
		if !a.Disabled && a.ID != f.owner {
			f.others = append(f.others, ui.Option{Value: a.ID, Text: a.Name})
		}
	}
	return err
}

// forOther reports whether the key will not be the person's own.
func (f *keyForm) forOther(v *request) bool {
	return f.owner != "" && f.owner != v.session.Principal.ID
}

// dropUnknown clears the choices that the form does not offer, and notes them.
func (f *keyForm) dropUnknown(v *request) {
	for _, field := range slices.Concat(f.wrongs(v), f.rights(v)) {
		if len(field.Options) == 0 || slices.ContainsFunc(field.Options, func(o ui.Option) bool { return o.Value == field.Value }) {
			continue
		}
		if field.Value != "" && (f.asked == nil || !strings.HasPrefix(field.Name, "may.")) {
			f.leftOut = append(f.leftOut, field.Label+": "+field.Value)
		}
		f.typed[field.Name] = ""
	}
	var lacking []string
	for _, scope := range f.asked {
		switch {
		case f.may(scope):
		case slices.Contains(keyScopes(), scope):
			lacking = append(lacking, scope)
		default:
			f.leftOut = append(f.leftOut, scope)
		}
	}
	if f.exceeds = len(lacking) > 0; f.exceeds {
		f.leftOut = append(f.leftOut, scopesText(v, lacking))
	}
}

// keyScopes are all scopes that a key can have.
func keyScopes() (list []string) {
	for _, family := range keyFamilies {
		list = append(list, family.value+":"+keyReads, family.value+":"+keyWrites)
	}
	return list
}

// limits says how many calls the key may make in a minute.
func (f *keyForm) limits(v *request) string {
	var list []string
	for i := range f.terms.Limits {
		if l := (*policyLeft)(&f.terms.Limits[i]); l.WindowSeconds == 60 {
			list = append(list, l.counts(v)+": "+figure(v, l.Quota))
		}
	}
	return strings.Join(list, " · ")
}

// inSandbox says what the sandbox has.
func (f *keyForm) inSandbox(v *request) string {
	if f.sandbox.Count == 0 {
		return v.words.Say("Beispieldaten der Sandbox. Nichts davon ist echt.", "The sample data of the sandbox. None of it is real.")
	}
	n := countText(v.words, f.sandbox)
	if f.sandbox.Count == 1 {
		n += v.words.Say(" Kontakt", " contact")
	} else {
		n += v.words.Say(" Kontakte", " contacts")
	}
	return v.words.Say("Beispieldaten der Sandbox ("+n+"). Nichts davon ist echt.", "The sample data of the sandbox ("+n+"). None of it is real.")
}

// scopes returns the scopes that the form stands for.
func (f *keyForm) scopes() []string {
	var scopes []string
	for _, scope := range f.terms.Scopes {
		family, right, _ := strings.Cut(scope, ":")
		may := f.typed["may"]
		if may == keyOwn {
			may = f.typed["may."+family]
		}
		if may == keyWrites || may == keyReads && right == keyReads {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// said says what the key may do.
func (f *keyForm) said(v *request) string {
	return first(scopesText(v, f.scopes()), v.words.Say("noch nichts", "nothing yet"))
}

// from says from where the key works.
func (f *keyForm) from(v *request) string {
	switch {
	case f.typed["networks"] != "":
		return f.typed["networks"]
	case f.here:
		return f.present
	case f.writes():
		return v.words.Say("noch keine Adresse: Ein Schlüssel, der schreibt, braucht eine", "no address yet: a key that writes needs one")
	}
	return v.words.Say("von überall", "from everywhere")
}

// writes reports whether the key would write.
func (f *keyForm) writes() bool {
	return slices.ContainsFunc(f.scopes(), func(scope string) bool { return strings.HasSuffix(scope, ":write") })
}

// until says when the key ends.
func (f *keyForm) until(v *request) string {
	return v.words.Day(v.words.Now.Add(lifetime(f.typed["days"])))
}

// contradicts reports whether single rights were chosen, but not that they count. Rights that a
// link suggested were not chosen: somebody who then says otherwise means it.
func (f *keyForm) contradicts() bool {
	return f.typed["may"] != keyOwn && f.typed["suggested"] == "" && slices.ContainsFunc(f.rightNames(), func(name string) bool { return f.typed[name] != "" })
}

// rightNames are the names of the fields of single rights.
func (f *keyForm) rightNames() (names []string) {
	for _, family := range keyFamilies {
		names = append(names, "may."+family.value)
	}
	return names
}

// may reports whether the person may give a key a scope.
func (f *keyForm) may(scope string) bool { return slices.Contains(f.terms.Scopes, scope) }

// field returns a field of the form.
func (f *keyForm) field(name, label, hint string, options ...ui.Option) ui.Field {
	return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: present(f.wrong[name]), Options: options}
}

// fields are the fields of the form by their names, for the summary of what is wrong.
func (f *keyForm) fields(v *request) map[string]ui.Field {
	say := v.words.Say
	live := say("Echte Daten Ihrer Organisation.", "The real data of your organization.")
	switch f.terms.Live {
	case access.Off:
		live = say("Die API Ihrer Organisation ist ausgeschaltet. Eine Administratorin oder ein Administrator kann sie einschalten.", "The API of your organization is off. An admin can switch it on.")
	case access.Read:
		live = say("Echte Daten. Die API Ihrer Organisation steht auf Lesen: Was schreibt, wird abgelehnt.", "Real data. The API of your organization is set to read: writes are refused.")
	}
	environment := f.field("environment", say("Umgebung", "Environment"), "",
		ui.Option{Value: "test", Text: "Test", Hint: f.inSandbox(v)},
		ui.Option{Value: "live", Text: "Live", Hint: live})
	name := f.field("name", "Name", say("Woran Sie den Schlüssel später erkennen, zum Beispiel „Buchhaltung“.", "How you will recognize the key, for example “Accounting”."))
	name.Autocomplete, name.Optional = "off", true
	may := f.field("may", say("Was er darf", "What it may do"), "",
		ui.Option{Value: keyReads, Text: say("Nur lesen", "Read only")})
	if slices.ContainsFunc(f.terms.Scopes, func(scope string) bool { return strings.HasSuffix(scope, ":write") }) {
		may.Options = append(may.Options, ui.Option{Value: keyWrites, Text: say("Lesen und schreiben", "Read and write")})
	}
	may.Options = append(may.Options, ui.Option{Value: keyOwn, Text: say("Einzelne Rechte", "Single rights")})
	may.Errors = present(f.wrong["scopes"])
	networks := f.field("networks", say("Von welchen Adressen", "From which addresses"),
		say("IP-Adressen oder Netze, mit Komma getrennt: 203.0.113.7, 2001:db8::/48. Ein Schlüssel, der schreibt, braucht welche.", "IP addresses or networks, separated by commas: 203.0.113.7, 2001:db8::/48. A key that writes needs some."))
	networks.Autocomplete, networks.More = "off", templ.OrderedAttributes{{Key: "spellcheck", Value: "false"}}
	days := f.field("days", say("Wie lange", "For how long"), "", f.lifetimes(v)...)
	days.Errors = present(f.wrong["expiresIn"])
	version := f.field("version", "Version", say("Der Schlüssel bleibt bei dieser Version, bis Sie sie ändern.", "The key stays at this version until you change it."), versionOptions(v, f.terms.Versions)...)
	version.Errors = present(f.wrong["versionPin"])
	return map[string]ui.Field{"environment": environment, "name": name, "may": may, "networks": networks, "days": days, "version": version}
}

// wrongs are the fields in the order of the form, for the summary.
func (f *keyForm) wrongs(v *request) []ui.Field {
	fields := f.fields(v)
	return []ui.Field{fields["environment"], fields["name"], fields["may"], fields["networks"], fields["days"], fields["version"]}
}

// rights are the fields of single rights, one for each family.
func (f *keyForm) rights(v *request) (list []ui.Field) {
	for _, family := range keyFamilies {
		options := []ui.Option{{Value: "", Text: v.words.Say("nichts", "nothing")}}
		if f.may(family.value + ":read") {
			options = append(options, ui.Option{Value: keyReads, Text: v.words.Say("lesen", "read")})
		}
		if f.may(family.value + ":write") {
			options = append(options, ui.Option{Value: keyWrites, Text: v.words.Say("lesen und schreiben", "read and write")})
		}
		list = append(list, f.field("may."+family.value, family.label.In(v.words.Language), "", options...))
	}
	return list
}

// lifetimes are the choices of how long a key lives, each with its last day.
func (f *keyForm) lifetimes(v *request) (list []ui.Option) {
	for _, days := range keyDays {
		ends := v.words.Now.Add(time.Duration(days) * 24 * time.Hour)
		list = append(list, ui.Option{Value: strconv.Itoa(days), Text: v.words.Say(
			strconv.Itoa(days)+" Tage (bis "+v.words.Day(ends)+")", strconv.Itoa(days)+" days (until "+v.words.Day(ends)+")")})
	}
	return list
}

// versionOptions are the versions of the API to choose from.
func versionOptions(v *request, versions []string) (list []ui.Option) {
	for i, version := range versions {
		name := version
		if i == 0 {
			name += v.words.Say(" (aktuell)", " (current)")
		}
		list = append(list, ui.Option{Value: version, Text: name})
	}
	return list
}

// lifetime returns a number of days that was chosen, and zero for none.
func lifetime(days string) time.Duration {
	n, _ := strconv.Atoi(days)
	return time.Duration(n) * 24 * time.Hour
}

// networksIn returns the networks that were typed, and the browser's networks if the person
// ticked them.
func (v *request) networksIn() []string {
	list := split(v.form.text("networks"))
	for _, here := range split(v.form.Get("here")) {
		if !slices.Contains(list, here) {
			list = append(list, here)
		}
	}
	return list
}

// createKey creates a key and shows its secret, once.
func createKey(v *request) view {
	f := keyForm{typed: values{}, owner: v.form.Get("owner")}
	for _, name := range append(f.rightNames(), "environment", "name", "may", "networks", "days", "version", "suggested") {
		f.typed[name] = v.form.text(name)
	}
	if f.contradicts() {
		f.wrong = map[string]string{"scopes": v.words.Say(
			"Darunter sind einzelne Rechte ausgewählt. Wählen Sie „Einzelne Rechte“, oder lassen Sie sie leer.",
			"Single rights are chosen below. Choose “Single rights”, or leave them empty.")}
		return v.keyForm(f, http.StatusUnprocessableEntity)
	}
	networks := v.networksIn()
	f.typed["networks"] = strings.Join(networks, ", ")
	if err := f.know(v); err != nil {
		return v.failed(err)
	}
	a := do(v, key.Create, key.New{
		Principal: f.terms.Principal, Environment: f.typed["environment"], Name: f.typed["name"], Scopes: f.scopes(),
		Networks: networks, ExpiresIn: lifetime(f.typed["days"]), VersionPin: f.typed["version"],
	}, once)
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.keyForm(f, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.keyMade(a.Value, v.words.Say("Der Schlüssel ist angelegt", "The key was created"))
}

// keyMade shows the secret of a new or a rotated key, and waits for its first call.
func (v *request) keyMade(made key.Created, title string) view {
	out := v.settings(keysPath, title, madeKeyView(v, made.Key, keyWait{ID: made.ID, Since: clock.FromTime(v.words.Now)}))
	out.secret = true
	return out
}

// keyWait is the part of a page that waits for the first call of a key.
type keyWait struct {
	ID    string
	Since clock.Micros
	// Asked is how often the page has asked.
	Asked int
	// Call is the first call, or nil.
	Call *loggedCall
}

// keyAsks bounds how often a page asks for the first call, once a second.
const keyAsks = 600

// showFirstCall tells a page that waits whether the first call has come.
func showFirstCall(v *request) view {
	since, err := clock.Parse(v.URL.Query().Get("since"))
	if err != nil {
		return v.failed(fault.New(fault.NotFound))
	}
	asked, _ := strconv.Atoi(v.URL.Query().Get("asked"))
	w := keyWait{ID: v.PathValue("id"), Since: since, Asked: asked + 1}
	if _, err := ask(v, key.Get, access.ByID{ID: w.ID}); err != nil {
		return v.failed(err)
	}
	found, err := ask(v, requestlog.List, requestlog.QueryInput{Key: w.ID, Since: since, Limit: 20})
	if err != nil {
		return v.failed(err)
	}
	if calls := found.Data; len(calls) > 0 {
		w.Call = (*loggedCall)(&calls[len(calls)-1])
	}
	return view{status: http.StatusOK, body: firstCallView(v, w)}
}

// again is the address at which the part asks again.
func (w *keyWait) again() string {
	return keysPath + "/" + w.ID + "/first?" + url.Values{"since": {w.Since.String()}, "asked": {strconv.Itoa(w.Asked)}}.Encode()
}
