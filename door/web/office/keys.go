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

	"kartei/door/web/look"
	"kartei/kit/clock"
	"kartei/kit/fault"
)

// keysPath is the page of the API keys: a person sees their own, an admin all of the
// organization.
const keysPath = "/settings/interfaces/keys"

// keyInfo is an API key as keys.get returns it.
type keyInfo struct {
	ID          string       `json:"id"`
	KidShort    string       `json:"kidShort"`
	Name        string       `json:"name"`
	PrincipalID string       `json:"principalId"`
	Environment string       `json:"environment"`
	Scopes      []string     `json:"scopes"`
	Networks    []string     `json:"networks"`
	VersionPin  string       `json:"versionPin"`
	Status      string       `json:"status"`
	ExpiresAt   clock.Micros `json:"expiresAt"`
	CreatedAt   clock.Micros `json:"createdAt"`
	LastUsedAt  clock.Micros `json:"lastUsedAt"`
	LockedUntil clock.Micros `json:"lockedUntil"`
}

// title is the name of a key, or the beginning of its text.
func (k *keyInfo) title() string { return first(k.Name, k.begins()) }

// begins is how the text of the key begins, as alerts and the request log show it.
func (k *keyInfo) begins() string { return "kart_" + k.Environment + "_" + k.KidShort + "…" }

// ended reports whether the key works no more, and never will without a new secret.
func (k *keyInfo) ended() bool { return k.Status == "expired" || k.Status == "revoked" }

// keyTerms say which keys a person can make.
type keyTerms struct {
	Test     string   `json:"test"`
	Live     string   `json:"live"`
	Scopes   []string `json:"scopes"`
	Versions []string `json:"versions"`
}

// keysPage is the list of keys.
type keysPage struct {
	keys  []keyInfo
	names map[string]string
	pages look.Pages
}

// who says whose key it is, and how it begins if its name says something else.
func (p *keysPage) who(k keyInfo) string {
	begins := ""
	if k.Name != "" {
		begins = k.begins()
	}
	return joined(" · ", begins, p.names[k.PrincipalID])
}

const keysShown = 50

// showKeys serves the list.
func showKeys(v *request) view {
	after := v.URL.Query().Get("after")
	found, err := ask[struct {
		Data    []keyInfo `json:"data"`
		HasMore bool      `json:"hasMore"`
	}](v, "keys.list", arguments{body: map[string]any{"after": after, "limit": keysShown}})
	if err != nil {
		return v.failed(err)
	}
	p := keysPage{keys: found.Data, names: map[string]string{}}
	if after != "" {
		p.pages.Newer = look.Own(keysPath)
	}
	if found.HasMore {
		p.pages.Older = look.Own(keysPath + "?" + url.Values{"after": {p.keys[len(p.keys)-1].ID}}.Encode())
	}
	if v.session.Administers {
		var owners []string
		for _, k := range p.keys {
			owners = append(owners, k.PrincipalID)
		}
		if err := v.namesOf(owners, p.names); err != nil {
			return v.failed(err)
		}
	}
	return v.settings(keysPath, keysTitle(v), keysView(v, p))
}

func keysTitle(v *request) string { return v.words.Say("API-Schlüssel", "API keys") }

// keyForm is the form of a new key. Each member is also a parameter of the address, so
// that a guide can link to a form that is filled in.
type keyForm struct {
	terms   keyTerms
	address string
	typed   values
	wrong   map[string]string
}

// The presets of what a key may.
const (
	keyReads  = "read"
	keyWrites = "write"
	keyOwn    = "own"
)

// keyFamilies are the families that a key may be restricted to, as scopes name them.
var keyFamilies = []struct {
	name  string
	label fault.Text
}{
	{"contacts", text("Kontakte", "Contacts")},
	{"companies", text("Firmen", "Companies")},
	{"tasks", text("Aufgaben", "Tasks")},
	{"documents", text("Dokumente", "Documents")},
	{"webhook_endpoints", text("Webhooks", "Webhooks")},
}

// keyDays are the lifetimes that the form offers, in days.
var keyDays = []int{7, 30, 90, 180, 366}

// defaultKeyDays is the lifetime of a key if nobody chooses one.
const defaultKeyDays = "30"

// showNewKey serves the form of a new key, filled in from the address.
func showNewKey(v *request) view {
	q := v.URL.Query()
	f := keyForm{typed: values{
		"environment": q.Get("env"), "name": q.Get("name"), "networks": strings.Join(split(strings.Join(q["networks"], ",")), ", "),
		"days": q.Get("days"), "version": q.Get("version"), "may": q.Get("may"),
	}}
	if scopes := split(strings.Join(q["scopes"], ",")); len(scopes) > 0 {
		f.typed["may"] = keyOwn
		for _, scope := range scopes {
			if family, right, _ := strings.Cut(scope, ":"); f.typed["may."+family] != keyWrites {
				f.typed["may."+family] = right
			}
		}
	}
	return v.keyForm(f, http.StatusOK)
}

// split returns the parts of a list that a person typed, with commas or white space
// between them.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) })
}

// keyForm draws the form. What was not chosen is what most people need.
func (v *request) keyForm(f keyForm, status int) view {
	var err error
	if f.terms, err = ask[keyTerms](v, "keys.terms", arguments{}); err != nil {
		return v.failed(err)
	}
	f.address = v.office.Address(v.Request).Unmap().String()
	f.typed["environment"] = first(f.typed["environment"], "test")
	f.typed["may"] = first(f.typed["may"], keyReads)
	f.typed["days"] = first(f.typed["days"], defaultKeyDays)
	if len(f.terms.Versions) > 0 {
		f.typed["version"] = first(f.typed["version"], f.terms.Versions[0])
	}
	return v.settingsAs(status, keysPath, v.words.Say("Neuer API-Schlüssel", "New API key"), newKeyView(v, f))
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

// contradicts reports whether rights were chosen for families, but not that they count.
func (f *keyForm) contradicts() bool {
	return f.typed["may"] != keyOwn && slices.ContainsFunc(f.rightNames(), func(name string) bool { return f.typed[name] != "" })
}

// rightNames are the names of the fields of the own choice.
func (f *keyForm) rightNames() (names []string) {
	for _, family := range keyFamilies {
		names = append(names, "may."+family.name)
	}
	return names
}

// may reports whether the person may give a key a scope.
func (f *keyForm) may(scope string) bool { return slices.Contains(f.terms.Scopes, scope) }

// field returns a field of the form.
func (f *keyForm) field(name, label, hint string, options ...look.Option) look.Field {
	return look.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: present(f.wrong[name]), Options: options}
}

// fields are the fields of the form by their names, for the summary of what is wrong.
func (f *keyForm) fields(v *request) map[string]look.Field {
	say := v.words.Say
	live := say("Echte Daten Ihrer Organisation.", "The real data of your organization.")
	switch f.terms.Live {
	case "off":
		live = say("Die API Ihrer Organisation ist ausgeschaltet. Eine Administratorin oder ein Administrator kann sie einschalten.", "The API of your organization is off. An admin can switch it on.")
	case "read":
		live = say("Echte Daten. Die API Ihrer Organisation steht auf Lesen: Was schreibt, wird abgelehnt.", "Real data. The API of your organization is set to read: writes are refused.")
	}
	environment := f.field("environment", say("Wofür", "What for"), "",
		look.Option{Value: "test", Text: "Test", Hint: say("Beispieldaten der Sandbox. Nichts davon ist echt.", "The sample data of the sandbox. None of it is real.")},
		look.Option{Value: "live", Text: "Live", Hint: live})
	name := f.field("name", "Name", say("Woran Sie den Schlüssel später erkennen, zum Beispiel „Buchhaltung“.", "How you will recognize the key, for example “Accounting”."))
	name.Autocomplete, name.Optional = "off", true
	may := f.field("may", say("Was er darf", "What it may do"), "",
		look.Option{Value: keyReads, Text: say("Nur lesen", "Read only")},
		look.Option{Value: keyWrites, Text: say("Lesen und schreiben", "Read and write")},
		look.Option{Value: keyOwn, Text: say("Eigene Auswahl", "Own choice")})
	may.Errors = present(f.wrong["scopes"])
	networks := f.field("networks", say("Von welchen Adressen", "From which addresses"),
		say("IP-Adressen oder Netze, mit Komma getrennt: 203.0.113.7, 2001:db8::/48. Ein Schlüssel, der schreibt, braucht welche.", "IP addresses or networks, separated by commas: 203.0.113.7, 2001:db8::/48. A key that writes needs some."))
	networks.Autocomplete, networks.More = "off", templ.OrderedAttributes{{Key: "spellcheck", Value: "false"}}
	days := f.field("days", say("Wie lange", "For how long"), "", f.lifetimes(v)...)
	days.Errors = present(f.wrong["expiresIn"])
	version := f.field("version", "Version", say("Der Schlüssel bleibt bei dieser Version, bis Sie sie ändern.", "The key stays at this version until you change it."), versionOptions(v, f.terms.Versions)...)
	version.Errors = present(f.wrong["versionPin"])
	return map[string]look.Field{"environment": environment, "name": name, "may": may, "networks": networks, "days": days, "version": version}
}

// wrongs are the fields in the order of the form, for the summary.
func (f *keyForm) wrongs(v *request) []look.Field {
	fields := f.fields(v)
	return []look.Field{fields["environment"], fields["name"], fields["may"], fields["networks"], fields["days"], fields["version"]}
}

// rights are the fields of the own choice, one for each family.
func (f *keyForm) rights(v *request) (list []look.Field) {
	for _, family := range keyFamilies {
		options := []look.Option{{Value: "", Text: v.words.Say("nichts", "nothing")}}
		if f.may(family.name + ":read") {
			options = append(options, look.Option{Value: keyReads, Text: v.words.Say("lesen", "read")})
		}
		if f.may(family.name + ":write") {
			options = append(options, look.Option{Value: keyWrites, Text: v.words.Say("lesen und schreiben", "read and write")})
		}
		list = append(list, f.field("may."+family.name, family.label.In(v.words.Language), "", options...))
	}
	return list
}

// lifetimes are the choices of how long a key lives, each with its last day.
func (f *keyForm) lifetimes(v *request) (list []look.Option) {
	for _, days := range keyDays {
		ends := v.words.Now.Add(time.Duration(days) * 24 * time.Hour)
		list = append(list, look.Option{Value: strconv.Itoa(days), Text: v.words.Say(
			strconv.Itoa(days)+" Tage (bis "+v.words.Day(ends)+")", strconv.Itoa(days)+" days (until "+v.words.Day(ends)+")")})
	}
	return list
}

// versionOptions are the versions of the API to choose from.
func versionOptions(v *request, versions []string) (list []look.Option) {
	for i, version := range versions {
		name := version
		if i == 0 {
			name += v.words.Say(" (aktuell)", " (current)")
		}
		list = append(list, look.Option{Value: version, Text: name})
	}
	return list
}

// lifetime returns a number of days that was chosen, and zero for none.
func lifetime(days string) time.Duration {
	n, _ := strconv.Atoi(days)
	return time.Duration(n) * 24 * time.Hour
}

// networksIn returns the networks that were typed, and the address of the browser if
// the person ticked it.
func (v *request) networksIn() []string {
	list := split(v.form.text("networks"))
	if here := v.form.Get("here"); here != "" && !slices.Contains(list, here) {
		list = append(list, here)
	}
	return list
}

// createKey makes a key and shows its secret, once.
func createKey(v *request) view {
	f := keyForm{typed: values{}}
	for _, name := range append(f.rightNames(), "environment", "name", "may", "networks", "days", "version") {
		f.typed[name] = v.form.text(name)
	}
	if f.contradicts() {
		f.wrong = map[string]string{"scopes": v.words.Say(
			"Sie haben darunter je Bereich ausgewählt. Wählen Sie „Eigene Auswahl“, oder lassen Sie die Bereiche leer.",
			"You chose for each part below. Choose “Own choice”, or leave the parts empty.")}
		return v.keyForm(f, http.StatusUnprocessableEntity)
	}
	networks := v.networksIn()
	f.typed["networks"] = strings.Join(networks, ", ")
	var err error
	if f.terms, err = ask[keyTerms](v, "keys.terms", arguments{}); err != nil {
		return v.failed(err)
	}
	a := v.do("keys.create", arguments{once: v.form.token, body: map[string]any{
		"principalId": v.session.Principal.ID, "environment": f.typed["environment"], "name": f.typed["name"], "scopes": f.scopes(),
		"networks": networks, "expiresIn": lifetime(f.typed["days"]), "versionPin": f.typed["version"],
	}})
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.keyForm(f, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.keyMade(a, v.words.Say("Der Schlüssel ist angelegt", "The key is made"))
}

// keyMade shows the secret of a new or a rotated key, and waits for its first call.
func (v *request) keyMade(a answer, title string) view {
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	if err := decode(a.Body, &made); err != nil {
		return v.failed(err)
	}
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
	if _, err := ask[keyInfo](v, "keys.get", arguments{body: map[string]any{"id": w.ID}}); err != nil {
		return v.failed(err)
	}
	calls, _, err := v.calls(map[string]any{"key": w.ID, "since": since, "limit": 20})
	if err != nil {
		return v.failed(err)
	}
	if len(calls) > 0 {
		w.Call = &calls[len(calls)-1]
	}
	return view{status: http.StatusOK, body: firstCallView(v, w)}
}

// again is the address at which the part asks again.
func (w *keyWait) again() string {
	return keysPath + "/" + w.ID + "/first?" + url.Values{"since": {w.Since.String()}, "asked": {strconv.Itoa(w.Asked)}}.Encode()
}

// keyPage is the page of one key.
type keyPage struct {
	key   keyInfo
	owner string
	terms keyTerms
	calls []loggedCall
	typed values
	wrong map[string]string
}

// callsShown is the number of latest calls on the page of a key.
const callsShown = 10

// showKey serves the page of a key.
func showKey(v *request) view { return v.keyPage(keyPage{}, http.StatusOK) }

func (v *request) keyPage(p keyPage, status int) view {
	id, names := v.PathValue("id"), map[string]string{}
	err := together(
		func() (err error) {
			p.key, err = ask[keyInfo](v, "keys.get", arguments{body: map[string]any{"id": id}})
			return err
		},
		func() (err error) { p.terms, err = ask[keyTerms](v, "keys.terms", arguments{}); return err },
		func() (err error) {
			p.calls, _, err = v.calls(map[string]any{"key": id, "limit": callsShown})
			return err
		},
	)
	if err == nil && p.key.PrincipalID != v.session.Principal.ID {
		err = v.namesOf([]string{p.key.PrincipalID}, names)
	}
	if err != nil {
		return v.failed(err)
	}
	p.owner = names[p.key.PrincipalID]
	if len(p.calls) > 0 && p.calls[0].Status != http.StatusUnauthorized { // the time of the last use is written with a delay
		p.key.LastUsedAt = max(p.key.LastUsedAt, p.calls[0].Time)
	}
	if p.typed == nil {
		networks := p.key.Networks
		if allow, err := netip.ParseAddr(v.URL.Query().Get("allow")); err == nil {
			networks = append(slices.Clone(networks), allow.String())
		}
		p.typed = values{"name": p.key.Name, "networks": strings.Join(networks, ", "), "version": p.key.VersionPin}
	}
	return v.settingsAs(status, keysPath, p.key.title(), keyView(v, p))
}

// allowing is the address of the page of a key with an address among its networks that
// the person then stores.
func allowing(key, address string) string {
	return keysPath + "/" + key + "?" + url.Values{"allow": {address}}.Encode() + "#change"
}

// fields are the fields of the form that changes a key.
func (p *keyPage) fields(v *request) []look.Field {
	f := keyForm{terms: p.terms, typed: p.typed, wrong: p.wrong}
	all := f.fields(v)
	days := all["days"]
	days.Label, days.Hint = v.words.Say("Gültig", "Valid"), ""
	days.Options = append([]look.Option{{Text: v.words.Say("wie bisher, bis "+v.words.Day(p.key.ExpiresAt.Time()), "as before, until "+v.words.Day(p.key.ExpiresAt.Time()))}}, days.Options...)
	version := all["version"]
	if !slices.Contains(p.terms.Versions, p.key.VersionPin) {
		version.Options = append([]look.Option{{Value: p.key.VersionPin, Text: p.key.VersionPin + v.words.Say(" (endet)", " (ends)")}}, version.Options...)
	}
	return []look.Field{all["name"], all["networks"], days, version}
}

// saveKey changes what the person changed of a key.
func saveKey(v *request) view {
	id := v.PathValue("id")
	typed := values{"name": v.form.text("name"), "networks": strings.Join(split(v.form.text("networks")), ", "), "days": v.form.text("days"), "version": v.form.text("version")}
	body := map[string]any{"id": id}
	if typed["name"] != v.form.was["name"] {
		body["name"] = typed["name"]
	}
	if typed["networks"] != v.form.was["networks"] {
		body["networks"] = append([]string{}, split(typed["networks"])...)
	}
	if typed["version"] != v.form.was["version"] {
		body["versionPin"] = typed["version"]
	}
	if typed["days"] != "" {
		body["expiresIn"] = lifetime(typed["days"])
	}
	if len(body) == 1 {
		return view{to: keysPath + "/" + id}
	}
	a := v.do("keys.update", arguments{once: v.form.token, body: body})
	switch {
	case a.is(fault.ValidationFailed):
		return v.keyPage(keyPage{typed: typed, wrong: fieldTexts(a.Fault, v.words.Language)}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(keysPath+"/"+id, "key")
}

// actOnKey calls a row about a key, and goes back to its page.
func actOnKey(row, done string) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		if a := v.do(row, arguments{once: v.form.token, body: map[string]any{"id": id}}); a.Fault != nil {
			return v.failed(a.Fault)
		}
		return v.saved(keysPath+"/"+id, done)
	}
}

// rotateKey gives a key a new secret and shows it, once.
func rotateKey(v *request) view {
	a := v.do("keys.rotate", arguments{once: v.form.token, body: map[string]any{"id": v.PathValue("id"), "expiresIn": lifetime(v.form.text("days"))}})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.keyMade(a, v.words.Say("Der Schlüssel hat ein neues Geheimnis", "The key has a new secret"))
}

// askToRevoke asks whether a key is to be revoked, which cannot be undone.
func askToRevoke(v *request) view {
	k, err := ask[keyInfo](v, "keys.get", arguments{body: map[string]any{"id": v.PathValue("id")}})
	if err != nil {
		return v.failed(err)
	}
	return v.settings(keysPath, v.words.Say("Schlüssel widerrufen", "Revoke the key"), revokeView(v, k))
}

// scopesText says what a key may do: "lesen: Kontakte, Firmen · schreiben: Aufgaben".
func scopesText(v *request, scopes []string) string {
	say := v.words.Say
	words := []string{"", say("lesen: ", "read: "), say("schreiben: ", "write: "), say("lesen und schreiben: ", "read and write: ")}
	by := make([][]string, len(words))
	for _, family := range keyFamilies {
		right := 0
		if slices.Contains(scopes, family.name+":read") {
			right++
		}
		if slices.Contains(scopes, family.name+":write") {
			right += 2
		}
		by[right] = append(by[right], family.label.In(v.words.Language))
	}
	var parts []string
	for right, word := range words[1:] {
		if families := by[right+1]; len(families) > 0 {
			parts = append(parts, word+strings.Join(families, ", "))
		}
	}
	return strings.Join(parts, " · ")
}

// networksText says from where a key may be used.
func networksText(v *request, networks []string) string {
	if len(networks) == 0 {
		return v.words.Say("von überall", "from everywhere")
	}
	return strings.Join(networks, ", ")
}

// badge is the state of a key as a badge.
func (k *keyInfo) badge(v *request) (look.Kind, string) {
	say := v.words.Say
	switch {
	case k.Status == "revoked":
		return look.Bad, say("widerrufen", "revoked")
	case k.Status == "expired":
		return look.Bad, say("abgelaufen", "expired")
	case k.LockedUntil > clock.FromTime(v.words.Now):
		return look.Warn, say("gesperrt bis ", "locked until ") + v.words.Clock(k.LockedUntil.Time())
	case k.Status == "paused":
		return look.Warn, say("pausiert", "paused")
	}
	return look.OK, say("aktiv", "active")
}
