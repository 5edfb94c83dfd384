package office

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/web/ui"
)

// profileForm is the form of a person's own settings.
type profileForm struct {
	email      string
	was, typed values
	wrong      map[string]string
}

// zones are the time zones that the page offers (zone1970.tab of the IANA database).
// Others are taken as well.
//
//go:embed zones.txt
var zones string

// profileValues returns the values of a profile as its form has them.
func profileValues(p account.Profile) values {
	return values{
		"name": p.Name, "language": p.Language, "zone": p.Zone, "theme": p.Theme, "density": p.Density,
		"singleKeys": strconv.FormatBool(*p.SingleKeys), "recent": strconv.FormatBool(*p.Recent), "reminders": strconv.FormatBool(*p.Reminders),
	}
}

// showProfile serves the profile.
func showProfile(v *request) view {
	p, err := ask(v, account.GetProfile, op.None{})
	if err != nil {
		return v.failed(err)
	}
	f := profileForm{email: p.Email, was: profileValues(p), typed: profileValues(p)}
	return v.settings(profilePath, v.words.Say("Profil", "Profile"), profileView(v, f))
}

// saveProfile stores what the person changed. Members that the form did not change
// are not sent, so a form in another tab keeps its own. Storing the same twice is
// storing it once, so the call needs no idempotency key.
func saveProfile(v *request) view {
	f := profileForm{email: v.session.Email, was: v.form.was, typed: values{}}
	var in account.ProfileChange
	for name, to := range map[string]**string{"name": &in.Name, "language": &in.Language, "zone": &in.Zone, "theme": &in.Theme, "density": &in.Density} {
		if f.typed[name] = v.form.text(name); f.typed[name] != f.was[name] {
			*to = new(f.typed[name])
		}
	}
	for name, to := range map[string]**bool{"singleKeys": &in.SingleKeys, "recent": &in.Recent, "reminders": &in.Reminders} {
		on := v.form.Get(name) != ""
		if f.typed[name] = strconv.FormatBool(on); f.typed[name] != f.was[name] {
			*to = &on
		}
	}
	if in == (account.ProfileChange{}) {
		return view{to: profilePath}
	}
	a := do(v, account.SetProfile, in)
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.settingsAs(a.Status, profilePath, v.words.Say("Profil", "Profile"), profileView(v, f))
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(profilePath, "profile")
}

// field returns a field of the form.
func (f profileForm) field(name, label, hint string, options ...ui.Option) ui.Field {
	return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: present(f.wrong[name]), Options: options}
}

// fields are the fields that can be refused, for the summary.
func (f profileForm) fields(v *request) []ui.Field {
	say := v.words.Say
	name := f.field("name", "Name", say("Ihre Kolleginnen und Kollegen sehen diesen Namen.", "Your colleagues see this name."))
	name.Autocomplete, name.Required = "name", true
	language := f.field("language", say("Sprache", "Language"), "", ui.Option{Value: "de", Text: "Deutsch"}, ui.Option{Value: "en", Text: "English"})
	zone := f.field("zone", say("Zeitzone", "Time zone"), f.clock(v))
	zone.More = templ.OrderedAttributes{{Key: "list", Value: "zones"}, {Key: "spellcheck", Value: "false"}}
	zone.Autocomplete = "off"
	return []ui.Field{name, language, zone}
}

// clock says what time it is in the zone of the form.
func (f profileForm) clock(v *request) string {
	zone, err := time.LoadLocation(f.typed["zone"])
	if err != nil {
		return ""
	}
	w := v.words
	w.Zone = zone
	return v.words.Say("Dort ist es jetzt ", "The time there is ") + w.Clock(v.words.Now) + v.words.Say(" Uhr.", ".")
}

// on reports whether a switch of the form is on.
func (f profileForm) on(name string) bool { return f.typed[name] == "true" }

// zoneNames are the names that the field of the time zone offers.
func zoneNames() []string { return strings.Fields(zones) }
