package signin

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/profile"
	"kartei/web/shell"
	"kartei/web/ui"
)

// profileForm is the form for a person's own settings. was are the stored values.
type profileForm struct {
	email      string
	was, typed shell.Values
	wrong      map[string]string
}

// zones are the time zones that the page offers, one a line (zone1970.tab of the IANA database).
// People can also enter other zones.
//
//go:embed zones.txt
var zones string

// profileValues returns the values of a profile as values of its form.
func profileValues(p profile.Profile) shell.Values {
	return shell.Values{
		"name": p.Name, "language": p.Language, "zone": p.Zone, "theme": p.Theme, "density": p.Density,
		"singleKeys": strconv.FormatBool(*p.SingleKeys), "recent": strconv.FormatBool(*p.Recent), "reminders": strconv.FormatBool(*p.Reminders),
	}
}

// showProfile serves the form of the profile.
func showProfile(v *shell.Request) shell.View {
	p, err := shell.Ask(v, profile.Get, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	f := profileForm{email: p.Email, was: profileValues(p), typed: profileValues(p)}
	return v.Settings(shell.ProfilePath, v.Words.Say("Profile"), profileView(v, f))
}

// saveProfile stores the fields that the person changed. Fields without a change are left out, so
// that forms in two tabs do not overwrite each other. The call needs no Idempotency-Key, because it
// has the same effect if it is repeated.
func saveProfile(v *shell.Request) shell.View {
	f := profileForm{email: v.Session.Email, was: v.Sent.Was, typed: shell.Values{}}
	var in profile.Change
	for name, to := range map[string]**string{"name": &in.Name, "language": &in.Language, "zone": &in.Zone, "theme": &in.Theme, "density": &in.Density} {
		if f.typed[name] = v.Sent.Text(name); f.typed[name] != f.was[name] {
			*to = new(f.typed[name])
		}
	}
	for name, to := range map[string]**bool{"singleKeys": &in.SingleKeys, "recent": &in.Recent, "reminders": &in.Reminders} {
		on := v.Sent.Get(name) != ""
		if f.typed[name] = strconv.FormatBool(on); f.typed[name] != f.was[name] {
			*to = &on
		}
	}
	if in == (profile.Change{}) {
		return shell.Redirect{To: shell.ProfilePath}
	}
	a := shell.Do(v, profile.Set, in)
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return v.Settings(shell.ProfilePath, v.Words.Say("Profile"), profileView(v, f)).WithStatus(a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.ProfilePath, "profile")
}

// field returns a field of the form with its value and its error.
func (f profileForm) field(name, label, hint string, options ...ui.Option) ui.Field {
	return ui.Field{Name: name, Label: label, Hint: hint, Value: f.typed[name], Errors: shell.Present(f.wrong[name]), Options: options}
}

// fields returns the fields that can have an error. The summary above the form lists their errors.
func (f profileForm) fields(v *shell.Request) []ui.Field {
	say := v.Words.Say
	name := f.field("name", say("Name"), say("Your colleagues see this name."))
	name.Autocomplete, name.Required = "name", true
	language := f.field("language", say("Language"), "", ui.Languages()...)
	zone := f.field("zone", say("Time zone"), f.clock(v))
	zone.More = templ.OrderedAttributes{{Key: "list", Value: "zones"}, {Key: "spellcheck", Value: "false"}}
	zone.Autocomplete = "off"
	return []ui.Field{name, language, zone}
}

// clock returns the current time in the zone that the form has. It is empty if the zone is invalid.
func (f profileForm) clock(v *shell.Request) string {
	zone, err := time.LoadLocation(f.typed["zone"])
	if err != nil {
		return ""
	}
	w := v.Words
	w.Zone = zone
	return v.Words.Say("The time there is %s.", w.Clock(v.Words.Now))
}

// on reports whether a checkbox of the form is checked.
func (f profileForm) on(name string) bool { return f.typed[name] == "true" }

// zoneNames returns the names of time zones that the field offers.
func zoneNames() []string { return strings.Fields(zones) }
