package keys

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/api/release"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/web/shell"
	"kartei/web/ui"
)

// KeyInfo is an API key, with the texts for its pages.
type KeyInfo key.Info

// Title returns the name of the key, or else its first characters.
func (k *KeyInfo) Title() string { return shell.KeyTitle(k.Name, k.Environment, k.KidShort) }

// begins returns the first characters of the key, as notifications and the request log show them.
func (k *KeyInfo) begins() string { return "kart_" + k.Environment + "_" + k.KidShort + "…" }

// ended reports whether the key has expired or is revoked.
func (k *KeyInfo) ended() bool {
	return k.Status == key.Expired || k.Status == key.Revoked
}

// networks returns the networks from which the key may be used, as texts.
func (k *KeyInfo) networks() []string {
	list := make([]string, len(k.Networks))
	for i, network := range k.Networks {
		list[i] = network.String()
	}
	return list
}

// versionEnds returns when an API version ends, and whether an end is announced. For a version that
// the API no longer has, the time is zero.
func versionEnds(version string) (time.Time, bool) {
	i := slices.IndexFunc(release.Versions, func(known release.Version) bool { return known.Name == version })
	if i < 0 {
		return time.Time{}, true
	}
	return release.Versions[i].Sunset, !release.Versions[i].Sunset.IsZero()
}

// madeBy returns the text that says who created or last rotated the key.
func (k *KeyInfo) madeBy(v *shell.Request, names map[string]string) string {
	return shell.KeyMadeBy(v, k.MadeBy, names)
}

// secretOf reports whether the person may create a new secret for the key. The key must be their
// own, or the person is an admin and the key belongs to a service account.
func (k *KeyInfo) secretOf(v *shell.Request) bool {
	return k.PrincipalID == v.Session.Principal.ID || v.Session.Administers && strings.HasPrefix(k.PrincipalID, id.ServiceAccount)
}

// endsSoon is the number of days before the end of a key at which its bar warns.
const endsSoon = 7

// lifetime returns the length of the key's lifetime and the rest of it, in days.
func (k *KeyInfo) lifetime(now time.Time) (all, left int) {
	days := func(d time.Duration) int { return int((d + 24*time.Hour - 1) / (24 * time.Hour)) }
	return days(k.ExpiresAt.Time().Sub(k.CreatedAt.Time())), max(0, days(k.ExpiresAt.Time().Sub(now)))
}

// keysPage has the data of the list of keys.
type keysPage struct {
	keys  []key.Info
	names map[string]string
	pages ui.Pages
}

// who returns the owner of the key. If the key has a name, it also returns the key's first
// characters.
func (p *keysPage) who(k *KeyInfo) string {
	begins := ""
	if k.Name != "" {
		begins = k.begins()
	}
	return shell.Joined(" · ", begins, p.names[k.PrincipalID])
}

const keysShown = 50

// showKeys serves the list of keys.
func showKeys(v *shell.Request) shell.View {
	after := v.URL.Query().Get("after")
	found, err := shell.Ask(v, key.List, key.FindInput{Page: op.Page{After: after, Limit: keysShown}})
	if err != nil {
		return v.Failed(err)
	}
	p := keysPage{keys: found.Data, names: map[string]string{}}
	if after != "" {
		p.pages.Newer = ui.Own(shell.KeysPath)
	}
	if found.HasMore {
		p.pages.Older = ui.Own(shell.KeysPath + "?" + url.Values{"after": {p.keys[len(p.keys)-1].ID}}.Encode())
	}
	if v.Session.Administers {
		var owners []string
		for _, k := range p.keys {
			owners = append(owners, k.PrincipalID)
		}
		if err := v.NamesOf(owners, p.names); err != nil {
			return v.Failed(err)
		}
	}
	return v.Settings(shell.KeysPath, keysTitle(v), keysView(v, p))
}

func keysTitle(v *shell.Request) string { return v.Words.Say("API keys") }

// keyPage has the data of the page of one key.
type keyPage struct {
	key   KeyInfo
	owner string
	// made says who created the key.
	made  string
	terms key.Terms
	calls []requestlog.Line
	typed shell.Values
	wrong map[string]string
}

// otherVersions returns the API versions that the latest calls used, except the key's own version.
func (p *keyPage) otherVersions() (names []string) {
	for _, c := range p.calls {
		if c.Version != "" && c.Version != p.key.VersionPin && !slices.Contains(names, c.Version) {
			names = append(names, c.Version)
		}
	}
	return names
}

// callsShown is the number of latest calls on the page of a key.
const callsShown = 10

// showKey serves the page of a key.
func showKey(v *shell.Request) shell.View { return drawKey(v, keyPage{}, http.StatusOK) }

func drawKey(v *shell.Request, p keyPage, status int) shell.View {
	id, names := v.PathValue("id"), map[string]string{}
	err := shell.Together(
		func() error {
			k, err := shell.Ask(v, key.Get, op.ByID{ID: id})
			p.key = KeyInfo(k)
			return err
		},
		func() (err error) { p.terms, err = shell.Ask(v, key.GetTerms, key.KeyTermsInput{}); return err },
		func() error {
			found, err := shell.Ask(v, requestlog.List, requestlog.QueryInput{Key: id, Limit: callsShown})
			p.calls = found.Data
			return err
		},
	)
	if err == nil && (p.key.PrincipalID != v.Session.Principal.ID || p.key.MadeBy != "" && p.key.MadeBy != v.Session.Principal.ID) {
		err = v.NamesOf(append(shell.Present(p.key.MadeBy), p.key.PrincipalID), names)
	}
	if err != nil {
		return v.Failed(err)
	}
	p.made = p.key.madeBy(v, names)
	if p.key.PrincipalID != v.Session.Principal.ID {
		p.owner = names[p.key.PrincipalID]
	}
	if len(p.calls) > 0 && p.calls[0].Status != http.StatusUnauthorized { // the last use is stored with a delay
		p.key.LastUsedAt = max(p.key.LastUsedAt, p.calls[0].Time)
	}
	if p.typed == nil {
		networks := p.key.networks()
		if allow, err := netip.ParseAddr(v.URL.Query().Get("allow")); err == nil {
			networks = append(networks, allow.String())
		}
		p.typed = shell.Values{"name": p.key.Name, "networks": strings.Join(networks, ", "), "version": p.key.VersionPin}
	}
	return v.Settings(shell.KeysPath, p.key.Title(), keyView(v, p)).WithStatus(status)
}

// allowing returns the address of the page of a key with address entered as one more network. The
// person still has to save it.
func allowing(key, address string) string {
	return shell.KeysPath + "/" + key + "?" + url.Values{"allow": {address}}.Encode() + "#change"
}

// fields returns the fields of the form that changes a key.
func (p *keyPage) fields(v *shell.Request) []ui.Field {
	f := keyForm{terms: p.terms, typed: p.typed, wrong: p.wrong}
	all := f.fields(v)
	days := all["days"]
	days.Label, days.Hint = v.Words.Say("Valid"), ""
	days.Options = append([]ui.Option{{Text: v.Words.Say("as before, until %s", v.Words.Day(p.key.ExpiresAt.Time()))}}, days.Options...)
	version := all["version"]
	if !slices.Contains(p.terms.Versions, p.key.VersionPin) {
		version.Options = append([]ui.Option{{Value: p.key.VersionPin, Text: v.Words.Say("%s (ends)", p.key.VersionPin)}}, version.Options...)
	}
	return []ui.Field{all["name"], all["networks"], days, version}
}

// saveKey stores the members of a key that the person changed.
func saveKey(v *shell.Request) shell.View {
	id := v.PathValue("id")
	typed := shell.Values{"name": v.Sent.Text("name"), "networks": strings.Join(shell.Split(v.Sent.Text("networks")), ", "), "days": v.Sent.Text("days"), "version": v.Sent.Text("version")}
	in := key.Change{ID: id, ExpiresIn: lifetime(typed["days"])}
	if typed["name"] != v.Sent.Was["name"] {
		in.Name = new(typed["name"])
	}
	if typed["networks"] != v.Sent.Was["networks"] {
		in.Networks = new(append([]string{}, shell.Split(typed["networks"])...))
	}
	if typed["version"] != v.Sent.Was["version"] {
		in.VersionPin = typed["version"]
	}
	if in == (key.Change{ID: id}) {
		return shell.Redirect{To: shell.KeysPath + "/" + id}
	}
	a := shell.Do(v, key.Update, in, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		return drawKey(v, keyPage{typed: typed, wrong: shell.FieldTexts(a.Fault, v.Words.Language)}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.KeysPath+"/"+id, "key")
}

// actOnKey returns a handler that runs the operation o on a key. The handler redirects to the key's
// page with the message done.
func actOnKey(o op.Operation[op.ByID, key.Info], done string) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		if a := shell.Do(v, o, op.ByID{ID: id}, shell.Once); a.Fault != nil {
			return v.Failed(a.Fault)
		}
		return v.Saved(shell.KeysPath+"/"+id, done)
	}
}

// rotateKey creates a new secret for a key and shows it once.
func rotateKey(v *shell.Request) shell.View {
	a := shell.Do(v, key.Rotate, key.Rotation{ID: v.PathValue("id"), ExpiresIn: lifetime(v.Sent.Text("days"))}, shell.Once)
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return keyMade(v, a.Value, v.Words.Say("The key has a new secret"))
}

// askToRevoke serves the page that asks for a confirmation before a key is revoked. The page also
// asks whether to disable the webhook endpoints that the key created.
func askToRevoke(v *shell.Request) shell.View {
	k, err := shell.Ask(v, key.Get, op.ByID{ID: v.PathValue("id")})
	if err != nil {
		return v.Failed(err)
	}
	endpoints, err := shell.Ask(v, webhook.ListInfos, webhook.FindInput{Organization: k.OrganizationID, Key: k.ID})
	if err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.KeysPath, v.Words.Say("Revoke the key"), revokeView(v, KeyInfo(k), endpoints.Data))
}

// revokeKey revokes a key. It also disables the webhook endpoints that the key created, if the
// person chose that.
func revokeKey(v *shell.Request) shell.View {
	id, endpoints := v.PathValue("id"), webhook.KeepEndpoints
	if v.Sent.Get("disable") != "" {
		endpoints = webhook.DisableEndpoints
	}
	if a := shell.Do(v, webhook.RevokeKey, webhook.RevokeInput{ID: id, Endpoints: endpoints}, shell.Once); a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.KeysPath+"/"+id, "keyRevoked")
}

// ScopesText returns the scopes as a text: “lesen: Kontakte, Firmen · schreiben: Aufgaben”.
func ScopesText(v *shell.Request, scopes []string) string {
	say := v.Words.Say
	words := []string{"", say("read: "), say("write: "), say("read and write: ")}
	by := make([][]string, len(words))
	for _, family := range Families {
		right := 0
		if slices.Contains(scopes, family.Value+":read") {
			right++
		}
		if slices.Contains(scopes, family.Value+":write") {
			right += 2
		}
		by[right] = append(by[right], v.Words.Say(family.Label))
	}
	var parts []string
	for right, word := range words[1:] {
		if families := by[right+1]; len(families) > 0 {
			parts = append(parts, word+strings.Join(families, ", "))
		}
	}
	return strings.Join(parts, " · ")
}

// networksText returns the networks from which a key may be used.
func networksText(v *shell.Request, networks []string) string {
	if len(networks) == 0 {
		return v.Words.Say("from everywhere")
	}
	return strings.Join(networks, ", ")
}

// badge returns the state of the key as a badge.
func (k *KeyInfo) badge(v *shell.Request) (ui.Kind, string) {
	say := v.Words.Say
	switch {
	case k.Status == key.Revoked:
		return ui.Bad, say("revoked")
	case k.Status == key.Expired:
		return ui.Bad, say("expired")
	case k.LockedUntil > clock.FromTime(v.Words.Now):
		return ui.Warn, say("locked until %s", v.Words.Clock(k.LockedUntil.Time()))
	case k.Status == key.Paused:
		return ui.Warn, say("paused [a key]")
	}
	return ui.OK, say("active")
}

// Families are the record families in scopes, with their labels.
var Families = []shell.Option{
	shell.NewOption("contacts", "Contacts"),
	shell.NewOption("companies", "Companies"),
	shell.NewOption("tasks", "Tasks"),
	shell.NewOption("documents", "Documents"),
	shell.NewOption("webhook_endpoints", "Webhooks"),
}
