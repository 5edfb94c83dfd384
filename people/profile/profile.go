// Package profile owns what people set for themselves: their name, their language and how pages look.
package profile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
	_ "time/tzdata" // zones on machines without a database of them

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/store/db"
)

// Preferences are the settings of a person for pages and reminders.
type Preferences struct {
	// Zone is the name of a time zone in the IANA database.
	Zone string `json:"zone"`
	// Theme is "system", "light" or "dark". Density is "comfortable" or "compact".
	Theme   string `json:"theme"`
	Density string `json:"density"`
	// SingleKeys switches on shortcuts of one key (WCAG 2.1.4). Recent stores which records the
	// person opened last. Reminders switches on emails about due dates.
	SingleKeys *bool `json:"singleKeys"`
	Recent     *bool `json:"recent"`
	Reminders  *bool `json:"reminders"`
}

// ReadPreferences decodes stored preferences, and sets the default for each value that is missing.
func ReadPreferences(text string) (p Preferences, err error) {
	if err = json.Unmarshal([]byte(text), &p); err != nil {
		return p, err
	}
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
	return p, nil
}

// Profile is the profile of the caller.
type Profile struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Language string `json:"language"`
	Preferences
}

// Change is the input of Set. A nil member changes nothing.
type Change struct {
	Name       *string `json:"name,omitempty"`
	Language   *string `json:"language,omitempty"`
	Zone       *string `json:"zone,omitempty"`
	Theme      *string `json:"theme,omitempty"`
	Density    *string `json:"density,omitempty"`
	SingleKeys *bool   `json:"singleKeys,omitempty"`
	Recent     *bool   `json:"recent,omitempty"`
	Reminders  *bool   `json:"reminders,omitempty"`
}

const selectProfile = `select p.name, p.language, p.preferences, p.organization, a.email from sessions s
	join principals p on p.id = s.principal_id join accounts a on a.id = s.account_id where s.id = $1 and s.principal_id = $2`

// Get returns the profile of the caller. It fails with fault.NotFound if the credential of the call
// is not a session.
var Get = op.New("profile.get", op.Read, get, op.By(op.Member), op.Always)

func get(ctx context.Context, c *op.Call, _ op.None) (Profile, error) {
	p, _, err := read(ctx, c)
	return p, err
}

// read returns the profile of the caller, and the number of the caller's organization.
func read(ctx context.Context, c *op.Call) (p Profile, home int64, err error) {
	var text string
	err = c.Tx.QueryRow(ctx, selectProfile, c.Actor.Credential().ID, c.Actor.PrincipalID()).Scan(
		&p.Name, &p.Language, &text, &home, &p.Email)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return p, 0, err
	}
	p.Preferences, err = ReadPreferences(text)
	return p, home, err
}

// Set changes the profile of the caller.
var Set = op.New("profile.set", op.Administer, set, op.By(op.Member), op.Audited("profile.set"))

func set(ctx context.Context, c *op.Call, in Change) (Profile, error) {
	if err := access.Changed(ctx, c.Tx); err != nil { // the name is cached with API keys
		return Profile{}, err
	}
	p, home, err := read(ctx, c)
	if err != nil {
		return p, err
	}
	before := p
	if err := in.apply(&p); err != nil {
		return p, err
	}
	c.Audit.About(home, c.Actor.PrincipalID())
	c.Audit.Hidden("name", before.Name != p.Name)
	c.Audit.Changed("language", before.Language, p.Language)
	if before.Name == p.Name && before.Language == p.Language { // settings of pages are not audited
		c.Audit.Omit()
	}
	text, err := json.Marshal(p.Preferences)
	if err != nil {
		return p, err
	}
	if err := principal.SetProfile(ctx, c.Tx, c.Actor.PrincipalID(), p.Name, p.Language, string(text)); err != nil {
		return p, err
	}
	if in.Recent != nil {
		err = lookup.Remember(ctx, c, *in.Recent)
	}
	return p, err
}

// apply checks a change and applies it to p. It returns an error with all invalid fields.
func (in *Change) apply(p *Profile) error {
	var f input.Faults
	if in.Name != nil {
		p.Name = f.Name("name", input.TidyName(*in.Name))
	}
	if in.Zone != nil {
		p.Zone = *in.Zone
		if _, err := time.LoadLocation(p.Zone); err != nil || p.Zone == "" || p.Zone == "Local" {
			f.Add("zone", fault.InvalidFormat, "Europe/Berlin")
		}
	}
	choose := func(field string, to *string, value *string, allowed ...string) {
		if value == nil {
			return
		}
		if *to = *value; !slices.Contains(allowed, *value) {
			f.Add(field, fault.NotInEnum, allowed)
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
	return f.Err()
}
