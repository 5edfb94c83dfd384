package account

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines without a database of them
	"unicode"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/record/lookup"

	"golang.org/x/text/unicode/norm"
)

// Preferences are how a person wants the pages to be.
type Preferences struct {
	// Zone is a time zone of the IANA database.
	Zone string `json:"zone"`
	// Theme is system, light or dark. Density is comfortable or compact.
	Theme   string `json:"theme"`
	Density string `json:"density"`
	// SingleKeys switches the shortcuts of a single key (WCAG 2.1.4). Recent keeps
	// what the person opened last. Reminders mails due dates.
	SingleKeys *bool `json:"singleKeys"`
	Recent     *bool `json:"recent"`
	Reminders  *bool `json:"reminders"`
}

func (p Preferences) withDefaults() Preferences {
	yes, no := true, false
	if p.Zone == "" {
		p.Zone = "Europe/Berlin"
	}
	if p.Theme == "" {
		p.Theme = "system"
	}
	if p.Density == "" {
		p.Density = "comfortable"
	}
	if p.SingleKeys == nil {
		p.SingleKeys = &yes
	}
	if p.Recent == nil {
		p.Recent = &yes
	}
	if p.Reminders == nil {
		p.Reminders = &no
	}
	return p
}

// Profile is the person who is signed in.
type Profile struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Language string `json:"language"`
	Preferences
}

// ProfileChange is the input of SetProfile; nil keeps a value.
type ProfileChange struct {
	Name       *string `json:"name,omitempty"`
	Language   *string `json:"language,omitempty"`
	Zone       *string `json:"zone,omitempty"`
	Theme      *string `json:"theme,omitempty"`
	Density    *string `json:"density,omitempty"`
	SingleKeys *bool   `json:"singleKeys,omitempty"`
	Recent     *bool   `json:"recent,omitempty"`
	Reminders  *bool   `json:"reminders,omitempty"`
}

const (
	selectProfile = `select name, language, preferences from principals where id = $1`
	updateProfile = `update principals set name = $2, language = $3, preferences = $4 where id = $1`
	maxName       = 200
)

// GetProfile returns the profile of the caller.
var GetProfile = op.New("profile.get", op.Read, getProfile, op.By(op.Member), op.Always)

func getProfile(ctx context.Context, c *op.Call, _ op.None) (p Profile, err error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return p, err
	}
	p.Email = s.account.email
	var text string
	if err = c.Tx.QueryRow(ctx, selectProfile, c.Actor.PrincipalID()).Scan(&p.Name, &p.Language, &text); err != nil {
		return p, err
	}
	if err = json.Unmarshal([]byte(text), &p.Preferences); err != nil {
		return p, err
	}
	p.Preferences = p.withDefaults()
	return p, nil
}

// SetProfile changes the profile of the caller.
var SetProfile = op.New("profile.set", op.Administer, setProfile, op.By(op.Member), op.Audited("profile.set"))

func setProfile(ctx context.Context, c *op.Call, in ProfileChange) (Profile, error) {
	if err := access.Changed(ctx, c.Tx); err != nil { // the name is cached with keys
		return Profile{}, err
	}
	p, err := getProfile(ctx, c, op.None{})
	if err != nil {
		return p, err
	}
	before := p
	if err := in.apply(&p); err != nil {
		return p, err
	}
	s, err := ownSession(ctx, c)
	if err != nil {
		return p, err
	}
	c.Audit.About(s.home, c.Actor.PrincipalID())
	c.Audit.Hidden("name", before.Name != p.Name)
	c.Audit.Changed("language", before.Language, p.Language)
	if before.Name == p.Name && before.Language == p.Language { // how pages look is nobody's concern
		c.Audit.Omit()
	}
	text, err := json.Marshal(p.Preferences)
	if err != nil {
		return p, err
	}
	if _, err = c.Tx.Exec(ctx, updateProfile, c.Actor.PrincipalID(), p.Name, p.Language, string(text)); err != nil {
		return p, err
	}
	if in.Recent != nil {
		err = lookup.Remember(ctx, c, *in.Recent)
	}
	return p, err
}

// apply checks a change and applies it.
func (in *ProfileChange) apply(p *Profile) error {
	var wrong []fault.Field
	if in.Name != nil {
		p.Name = tidyName(*in.Name)
		if code, limit := checkName(p.Name); code != "" {
			wrong = append(wrong, fault.Field{Name: "name", Code: code, Limit: limit, Text: fault.Deceptive(p.Name)})
		}
	}
	if in.Zone != nil {
		p.Zone = *in.Zone
		if _, err := time.LoadLocation(p.Zone); err != nil || p.Zone == "" || p.Zone == "Local" {
			wrong = append(wrong, fault.Field{Name: "zone", Code: fault.InvalidFormat, Limit: "Europe/Berlin"})
		}
	}
	choose := func(field string, to *string, value *string, allowed ...string) {
		if value == nil {
			return
		}
		if *to = *value; !slices.Contains(allowed, *value) {
			wrong = append(wrong, fault.Field{Name: field, Code: fault.NotInEnum, Limit: allowed})
		}
	}
	choose("language", &p.Language, in.Language, i18n.Tags()...)
	choose("theme", &p.Theme, in.Theme, "system", "light", "dark")
	choose("density", &p.Density, in.Density, "comfortable", "compact")
	for to, value := range map[**bool]*bool{
		&p.SingleKeys: in.SingleKeys, &p.Recent: in.Recent, &p.Reminders: in.Reminders,
	} {
		if value != nil {
			*to = value
		}
	}
	if len(wrong) > 0 {
		return fault.Invalid(wrong...)
	}
	return nil
}

// tidyName returns a name without what nobody sees: by such characters two people would
// have the same name.
func tidyName(name string) string {
	return norm.NFC.String(strings.TrimSpace(invisible.Tidy(name)))
}

func checkName(name string) (code fault.FieldCode, limit any) {
	switch {
	case name == "":
		return fault.Required, nil
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || fault.Deceptive(name) != "":
		return fault.InvalidFormat, nil
	case utf8.RuneCountInString(name) > maxName:
		return fault.TooLong, maxName
	}
	return "", nil
}
