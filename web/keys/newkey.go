package keys

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// keyForm is the form for a new key. Each field can also be set by the query of the address, so
// that guides can link to a prepared form.
type keyForm struct {
	terms key.Terms
	// present are the networks of the browser, which the form offers as a checkbox. here says that
	// the checkbox is checked. A link checks it if the link asks for a key that writes, and names
	// no networks.
	present string
	here    bool
	// owner is the id of the service account that will own the key. It is empty if the person will
	// own the key.
	owner string
	// others are the service accounts that an admin can choose as the owner.
	others []ui.Option
	typed  shell.Values
	wrong  map[string]string
	// linked says that the values come from a link. Values that the form does not offer are then
	// ignored.
	linked bool
	// asked are the scopes in the link. leftOut are the values of the link that the form does not
	// offer, as texts.
	asked, leftOut []string
	// exceeds says that the link has scopes that the owner lacks.
	exceeds bool
	// sandbox is the number of contacts in the sandbox. It is zero if the person may not read
	// contacts.
	sandbox records.CountAnswer
}

// These are the presets for the rights of a key.
const (
	keyReads  = "read"
	keyWrites = "write"
	keyOwn    = "own"
)

// keyDays are the lifetimes that the form offers, in days.
var keyDays = []int{7, 30, 90, 180, 366}

// defaultKeyDays is the lifetime that is selected first, in days.
const defaultKeyDays = "30"

// showNewKey serves the form for a new key, with the values of the query.
func showNewKey(v *shell.Request) shell.View {
	q := v.URL.Query()
	f := keyForm{typed: shell.Values{
		"environment": cmp.Or(q.Get("env"), q.Get("environment")), "name": q.Get("name"), "networks": strings.Join(shell.Split(strings.Join(append(q["networks"], q["here"]...), ",")), ", "),
		"days": q.Get("days"), "version": q.Get("version"), "may": q.Get("may"),
	}, owner: q.Get("owner"), linked: true, here: !q.Has("networks")}
	for _, name := range f.rightNames() {
		f.typed[name] = q.Get(name)
	}
	if scopes := shell.Split(strings.Join(q["scopes"], ",")); len(scopes) > 0 {
		f.typed["may"], f.asked = keyOwn, scopes
		f.typed["suggested"] = "yes"
		for _, scope := range scopes {
			if family, right, _ := strings.Cut(scope, ":"); f.typed["may."+family] != keyWrites {
				f.typed["may."+family] = right
			}
		}
	}
	return drawKeyForm(v, f, http.StatusOK)
}

// drawKeyForm serves the form. It sets empty fields to the values that most people need.
func drawKeyForm(v *shell.Request, f keyForm, status int) shell.View {
	if err := f.know(v); err != nil {
		return v.Failed(err)
	}
	if err := f.offerOwners(v); err != nil {
		return v.Failed(err)
	}
	f.present = presentNetworks(v.Site.Address(v.Request))
	if f.linked {
		f.dropUnknown(v)
	}
	if v.Session.May("contacts:read") {
		var err error
		if f.sandbox, err = shell.Fetch[records.CountAnswer](v, contact.Count, shell.Arguments{Sandbox: true}); err != nil {
			return v.Failed(err)
		}
	}
	f.typed["environment"] = cmp.Or(f.typed["environment"], "test")
	f.typed["may"] = cmp.Or(f.typed["may"], keyReads)
	f.typed["days"] = cmp.Or(f.typed["days"], defaultKeyDays)
	if len(f.terms.Versions) > 0 {
		f.typed["version"] = cmp.Or(f.typed["version"], f.terms.Versions[0])
	}
	f.here = f.here && f.writes()
	return v.Settings(shell.KeysPath, v.Words.Say("New API key"), newKeyView(v, f)).WithStatus(status)
}

// ownMachine are the loopback networks. The form offers both together, because a browser may use
// IPv6 and the next program IPv4.
const ownMachine = "127.0.0.0/8, ::1/128"

// presentNetworks returns the networks for the address of a browser.
func presentNetworks(address netip.Addr) string {
	if address = address.Unmap(); address.IsLoopback() {
		return ownMachine
	}
	return address.String()
}

// know reads which keys the person can create, unless f already has this.
func (f *keyForm) know(v *shell.Request) (err error) {
	if f.terms.Principal == "" {
		f.terms, err = shell.Ask(v, key.GetTerms, key.KeyTermsInput{Principal: f.owner})
	}
	return err
}

// ownersOffered is the maximum number of service accounts that the form offers.
const ownersOffered = 20

// offerOwners reads the service accounts for which an admin can create keys.
func (f *keyForm) offerOwners(v *shell.Request) error {
	if !v.Session.Administers {
		return nil
	}
	found, err := shell.Ask(v, principal.ListServiceAccounts, op.Page{Limit: ownersOffered})
	for _, a := range found.Data {
		if !a.Disabled && a.ID != f.owner {
			f.others = append(f.others, ui.Option{Value: a.ID, Text: a.Name})
		}
	}
	return err
}

// forOther reports whether the key will belong to a service account.
func (f *keyForm) forOther(v *shell.Request) bool {
	return f.owner != "" && f.owner != v.Session.Principal.ID
}

// dropUnknown clears the values that the form does not offer, and adds them to leftOut.
func (f *keyForm) dropUnknown(v *shell.Request) {
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
		f.leftOut = append(f.leftOut, ScopesText(v, lacking))
	}
}

// keyScopes returns all scopes that a key can have.
func keyScopes() (list []string) {
	for _, family := range Families {
		list = append(list, family.Value+":"+keyReads, family.Value+":"+keyWrites)
	}
	return list
}

// limits returns the limits for each minute as a text.
func (f *keyForm) limits(v *shell.Request) string {
	var list []string
	for i := range f.terms.Limits {
		if l := (*policyBalance)(&f.terms.Limits[i]); l.WindowSeconds == 60 {
			list = append(list, l.counts(v)+": "+figure(v, l.Quota))
		}
	}
	return strings.Join(list, " · ")
}

// inSandbox returns the text about the data in the sandbox.
func (f *keyForm) inSandbox(v *shell.Request) string {
	if f.sandbox.Count == 0 {
		return v.Words.Say("The sample data of the sandbox. None of it is real.")
	}
	n := records.CountText(v.Words, f.sandbox)
	if f.sandbox.Count == 1 {
		n += v.Words.Say(" contact")
	} else {
		n += v.Words.Say(" contacts")
	}
	return v.Words.Say("The sample data of the sandbox (%s). None of it is real.", n)
}

// scopes returns the scopes that the person has chosen.
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

// said returns the chosen scopes as a text.
func (f *keyForm) said(v *shell.Request) string {
	return cmp.Or(ScopesText(v, f.scopes()), v.Words.Say("nothing yet"))
}

// from returns the networks from which the key will work, as a text.
func (f *keyForm) from(v *shell.Request) string {
	switch {
	case f.typed["networks"] != "":
		return f.typed["networks"]
	case f.here:
		return f.present
	case f.writes():
		return v.Words.Say("no address yet: a key that writes needs one")
	}
	return v.Words.Say("from everywhere")
}

// writes reports whether the key will have a scope to write.
func (f *keyForm) writes() bool {
	return slices.ContainsFunc(f.scopes(), func(scope string) bool { return strings.HasSuffix(scope, ":write") })
}

// until returns the last day of the key's lifetime as a text.
func (f *keyForm) until(v *shell.Request) string {
	return v.Words.Day(v.Words.Now.Add(lifetime(f.typed["days"])))
}

// contradicts reports whether single rights are chosen although another preset is selected. It
// ignores single rights that came from a link, because the person selected the preset afterwards.
func (f *keyForm) contradicts() bool {
	return f.typed["may"] != keyOwn && f.typed["suggested"] == "" && slices.ContainsFunc(f.rightNames(), func(name string) bool { return f.typed[name] != "" })
}

// rightNames returns the names of the fields for single rights.
func (f *keyForm) rightNames() (names []string) {
	for _, family := range Families {
		names = append(names, "may."+family.Value)
	}
	return names
}

// may reports whether the person may create keys with this scope.
func (f *keyForm) may(scope string) bool { return slices.Contains(f.terms.Scopes, scope) }

// field returns a field of the form with its value and its error.
func (f *keyForm) field(name, label, hint string, options ...ui.Option) ui.Field {
	return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: shell.Present(f.wrong[name]), Options: options}
}

// fields returns the fields of the form by name, except the single rights.
func (f *keyForm) fields(v *shell.Request) map[string]ui.Field {
	say := v.Words.Say
	live := say("The real data of your organization.")
	switch f.terms.Live {
	case access.Off:
		live = say("The API of your organization is off. An admin can switch it on.")
	case access.Read:
		live = say("Real data. The API of your organization is set to read: writes are refused.")
	}
	environment := f.field("environment", say("Environment"), "",
		ui.Option{Value: "test", Text: say("Test [environment]"), Hint: f.inSandbox(v)},
		ui.Option{Value: "live", Text: say("Live [environment]"), Hint: live})
	name := f.field("name", say("Name"), say("How you will recognize the key, for example “Accounting”."))
	name.Autocomplete, name.Optional = "off", true
	may := f.field("may", say("What it may do"), "",
		ui.Option{Value: keyReads, Text: say("Read only")})
	if slices.ContainsFunc(f.terms.Scopes, func(scope string) bool { return strings.HasSuffix(scope, ":write") }) {
		may.Options = append(may.Options, ui.Option{Value: keyWrites, Text: say("Read and write")})
	}
	may.Options = append(may.Options, ui.Option{Value: keyOwn, Text: say("Single rights")})
	may.Errors = shell.Present(f.wrong["scopes"])
	networks := f.field("networks", say("From which addresses"),
		say("IP addresses or networks, separated by commas: 203.0.113.7, 2001:db8::/48. A key that writes needs some."))
	networks.Autocomplete, networks.More = "off", templ.OrderedAttributes{{Key: "spellcheck", Value: "false"}}
	days := f.field("days", say("For how long"), "", f.lifetimes(v)...)
	days.Errors = shell.Present(f.wrong["expiresIn"])
	version := f.field("version", say("Version"), say("The key stays at this version until you change it."), versionOptions(v, f.terms.Versions)...)
	version.Errors = shell.Present(f.wrong["versionPin"])
	return map[string]ui.Field{"environment": environment, "name": name, "may": may, "networks": networks, "days": days, "version": version}
}

// wrongs returns the fields in the order of the form. The summary above the form lists their
// errors.
func (f *keyForm) wrongs(v *shell.Request) []ui.Field {
	fields := f.fields(v)
	return []ui.Field{fields["environment"], fields["name"], fields["may"], fields["networks"], fields["days"], fields["version"]}
}

// rights returns the fields for single rights, one for each family.
func (f *keyForm) rights(v *shell.Request) (list []ui.Field) {
	for _, family := range Families {
		options := []ui.Option{{Value: "", Text: v.Words.Say("nothing")}}
		if f.may(family.Value + ":read") {
			options = append(options, ui.Option{Value: keyReads, Text: v.Words.Say("read")})
		}
		if f.may(family.Value + ":write") {
			options = append(options, ui.Option{Value: keyWrites, Text: v.Words.Say("read and write")})
		}
		list = append(list, f.field("may."+family.Value, v.Words.Say(family.Label), "", options...))
	}
	return list
}

// lifetimes returns the options for the lifetime of a key, each with its last day.
func (f *keyForm) lifetimes(v *shell.Request) (list []ui.Option) {
	for _, days := range keyDays {
		ends := v.Words.Now.Add(time.Duration(days) * 24 * time.Hour)
		list = append(list, ui.Option{Value: strconv.Itoa(days), Text: v.Words.Say(
			"%s days (until %s)", strconv.Itoa(days), v.Words.Day(ends))})
	}
	return list
}

// versionOptions returns the options for the API version.
func versionOptions(v *shell.Request, versions []string) (list []ui.Option) {
	for i, version := range versions {
		name := version
		if i == 0 {
			name += v.Words.Say(" (current)")
		}
		list = append(list, ui.Option{Value: version, Text: name})
	}
	return list
}

// lifetime returns a number of days as a duration. It is zero if days is empty or no number.
func lifetime(days string) time.Duration {
	n, _ := strconv.Atoi(days)
	return time.Duration(n) * 24 * time.Hour
}

// networksIn returns the networks that the person entered, and the networks of the browser if the
// person checked them.
func networksIn(v *shell.Request) []string {
	list := shell.Split(v.Sent.Text("networks"))
	for _, here := range shell.Split(v.Sent.Get("here")) {
		if !slices.Contains(list, here) {
			list = append(list, here)
		}
	}
	return list
}

// createKey creates a key and shows its secret once.
func createKey(v *shell.Request) shell.View {
	f := keyForm{typed: shell.Values{}, owner: v.Sent.Get("owner")}
	for _, name := range append(f.rightNames(), "environment", "name", "may", "networks", "days", "version", "suggested") {
		f.typed[name] = v.Sent.Text(name)
	}
	if f.contradicts() {
		f.wrong = map[string]string{"scopes": v.Words.Say(
			"Single rights are chosen below. Choose “Single rights”, or leave them empty.")}
		return drawKeyForm(v, f, http.StatusUnprocessableEntity)
	}
	networks := networksIn(v)
	f.typed["networks"] = strings.Join(networks, ", ")
	if err := f.know(v); err != nil {
		return v.Failed(err)
	}
	a := shell.Do(v, key.Create, key.New{
		Principal: f.terms.Principal, Environment: f.typed["environment"], Name: f.typed["name"], Scopes: f.scopes(),
		Networks: networks, ExpiresIn: lifetime(f.typed["days"]), VersionPin: f.typed["version"],
	}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawKeyForm(v, f, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return keyMade(v, a.Value, v.Words.Say("The key was created"))
}

// keyMade serves the page with the secret of a new or rotated key. The page waits for the first
// call.
func keyMade(v *shell.Request, made key.WithSecret, title string) shell.View {
	return v.Settings(shell.KeysPath, title, madeKeyView(v, made.Key, keyWait{ID: made.ID, Since: clock.FromTime(v.Words.Now)})).WithSecret()
}

// keyWait is the part of the page that waits for the first call of a key.
type keyWait struct {
	ID    string
	Since clock.Micros
	// Asked is the number of times that the page has asked.
	Asked int
	// Call is the first call, or nil.
	Call *loggedCall
}

// keyAsks is the maximum number of times that the page asks for the first call, once a second.
const keyAsks = 600

// showFirstCall serves the part of the page that says whether the first call has arrived.
func showFirstCall(v *shell.Request) shell.View {
	since, err := clock.Parse(v.URL.Query().Get("since"))
	if err != nil {
		return v.Failed(fault.New(fault.NotFound))
	}
	asked, _ := strconv.Atoi(v.URL.Query().Get("asked"))
	w := keyWait{ID: v.PathValue("id"), Since: since, Asked: asked + 1}
	if _, err := shell.Ask(v, key.Get, op.ByID{ID: w.ID}); err != nil {
		return v.Failed(err)
	}
	found, err := shell.Ask(v, requestlog.List, requestlog.QueryInput{Key: w.ID, Since: since, Limit: 20})
	if err != nil {
		return v.Failed(err)
	}
	if calls := found.Data; len(calls) > 0 {
		w.Call = (*loggedCall)(&calls[len(calls)-1])
	}
	return shell.HTML{Body: firstCallView(v, w)}
}

// again returns the address of the next request for the part.
func (w *keyWait) again() string {
	return shell.KeysPath + "/" + w.ID + "/first?" + url.Values{"since": {w.Since.String()}, "asked": {strconv.Itoa(w.Asked)}}.Encode()
}
