// Package organization owns organizations as the operator and their admins administer them.
package organization

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/audit"
	"kartei/store/db"
)

// Retention provides the time between the state deleting and the erasure of an organization. Zero
// means 30 days.
var Retention = op.Need[time.Duration]("retention")

// defaultRetention is the time between the state deleting and the erasure of an organization, if
// Retention is zero.
const defaultRetention = 30 * 24 * time.Hour

func retention(c *op.Call) time.Duration {
	if Retention.In(c) == 0 {
		return defaultRetention
	}
	return Retention.In(c)
}

// New is the input of Create.
type New struct {
	Name string `json:"name"`
	// Module, Secrecy and Level mean off, undeclared and off if they are empty. So the API is
	// closed until somebody opens it.
	Module  string       `json:"module,omitempty"`
	Secrecy string       `json:"secrecy,omitempty"`
	Level   access.Level `json:"level,omitempty"`
	// Country is an ISO 3166-1 alpha-2 code. Empty means DE.
	Country string `json:"country,omitempty"`
}

// Change is the input of Set. A nil member keeps its value.
type Change struct {
	ID      string        `json:"id"`
	Name    *string       `json:"name,omitempty"`
	Module  *string       `json:"module,omitempty"`
	Secrecy *string       `json:"secrecy,omitempty"`
	Level   *access.Level `json:"level,omitempty"`
	Country *string       `json:"country,omitempty"`
	// SecondFactor is required or optional. Required takes effect for sign-ins a week after the
	// change.
	SecondFactor *string `json:"secondFactor,omitempty"`
	// Passwords is on or off (see checkPasswords). PasswordAdmin is the id of an admin who may sign
	// in by password while Passwords is off. Empty means no admin.
	Passwords     *string `json:"passwords,omitempty"`
	PasswordAdmin *string `json:"passwordAdmin,omitempty"`
	// Applications says which applications people may connect.
	Applications *access.Applications `json:"applications,omitempty"`
	// State is the new state. Only the operator may set it.
	State *access.State `json:"state,omitempty"`
}

const sandboxSuffix = " (Sandbox)"

// defaultCountry is the country of an organization whose input has no country.
const defaultCountry = "DE"

// country matches the form of an ISO 3166-1 alpha-2 code.
var country = regexp.MustCompile(`^[A-Z]{2}$`)

// Create is the operation that creates an organization and its sandbox. The sandbox is a second
// organization with its own records and its own change clock. Test keys work in the sandbox, whose
// API is open from the start.
var Create = op.New("organizations.create", op.Administer, create, op.By(op.Operator),
	op.Audited("organization.create"))

func create(ctx context.Context, c *op.Call, in New) (access.OrganizationInfo, error) {
	var f input.Faults
	live := access.OrganizationInfo{
		ID: id.New(id.Organization), Module: "off", Secrecy: "undeclared", Level: access.Off, State: access.Open,
		Country: defaultCountry, CreatedAt: c.Now,
		SecondFactor: "optional", Passwords: "on", Applications: access.KnownApplications,
	}
	in.Name = f.Name("name", in.Name)
	apply(&live, &f, Change{
		Name: &in.Name, Module: input.Given(in.Module), Secrecy: input.Given(in.Secrecy), Level: input.Given(in.Level),
		Country: input.Given(in.Country),
	})
	if err := f.Err(); err != nil {
		return access.OrganizationInfo{}, err
	}
	if live.Secrecy == "declared" {
		live.SecrecyAt, live.SecrecyBy = c.Now, c.Actor.PrincipalID()
	}
	sandbox := access.OrganizationInfo{
		ID: id.New(id.Organization), Name: live.Name + sandboxSuffix,
		Module: "on", Secrecy: "declared", Level: access.On, State: access.Open, Country: live.Country,
		CreatedAt: live.CreatedAt,
	}
	live.SandboxID = sandbox.ID
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.OrganizationInfo{}, err
	}
	if err := c.Tx.QueryRow(ctx, selectNextOrganization).Scan(&live.Number); err != nil {
		return access.OrganizationInfo{}, err
	}
	live.Live, sandbox.Number = live.Number, live.Number+1
	if err := insertRow(ctx, c.Tx, live, nil); err != nil {
		return access.OrganizationInfo{}, err
	}
	c.Audit.About(live.Number, live.ID)
	note(c, access.OrganizationInfo{}, live)
	return live, insertRow(ctx, c.Tx, sandbox, &live.Number)
}

func insertRow(ctx context.Context, tx db.Tx, o access.OrganizationInfo, sandboxOf *int64) error {
	_, err := tx.Exec(ctx, insertOrganization, o.Number, o.ID, o.Name, sandboxOf,
		o.Module == "on", o.Secrecy == "declared", string(o.Level), string(o.State), int64(o.CreatedAt), o.Country,
		o.SecrecyAt, o.SecrecyBy)
	if errors.Is(err, db.ErrDuplicate) { // another call took the number
		return db.ErrConflict
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertClock, o.Number)
	return err
}

// note records a change in the audit log.
func note(c *op.Call, before, after access.OrganizationInfo) {
	c.Audit.Hidden("name", before.Name != after.Name)
	c.Audit.Changed("module", before.Module, after.Module)
	c.Audit.Changed("secrecy", before.Secrecy, after.Secrecy)
	c.Audit.Changed("level", string(before.Level), string(after.Level))
	c.Audit.Changed("state", string(before.State), string(after.State))
	c.Audit.Changed("country", before.Country, after.Country)
	c.Audit.Changed("passwords", before.Passwords, after.Passwords)
	c.Audit.Changed("passwordAdmin", before.PasswordAdmin, after.PasswordAdmin)
	c.Audit.Changed("secondFactor", before.SecondFactor, after.SecondFactor)
	c.Audit.Changed("applications", string(before.Applications), string(after.Applications))
}

// List is the operation that lists organizations and sandboxes.
var List = op.New("organizations.list", op.Read, list, op.By(op.Operator))

func list(ctx context.Context, c *op.Call, p op.Page) (op.Entries[access.OrganizationInfo], error) {
	return op.ListPage(ctx, c.Tx, p, access.ScanOrganization, selectOrganizations, p.After)
}

// GetOutput is the output of Get.
type GetOutput struct {
	access.OrganizationInfo
	// Keys is the number of keys of the organization that are neither revoked nor expired.
	// WritingKeys is the number of these keys with a scope that permits writing.
	Keys        int64 `json:"keys"`
	WritingKeys int64 `json:"writingKeys"`
}

// Get is the operation that returns one organization with the number of its keys.
var Get = op.New("organizations.get", op.Read, get, op.By(op.Admin|op.Operator))

func get(ctx context.Context, c *op.Call, in op.ByID) (out GetOutput, err error) {
	if out.OrganizationInfo, err = byID(ctx, c, in.ID); err != nil {
		return out, err
	}
	err = c.Tx.QueryRow(ctx, countKeys, out.Number, c.Now).Scan(&out.Keys, &out.WritingKeys)
	return out, err
}

// byID returns the organization that the caller administers. Unlike FindOrganization, it requires a
// name from the operator.
func byID(ctx context.Context, c *op.Call, name string) (access.OrganizationInfo, error) {
	if name == "" && c.IsOperator() {
		return access.OrganizationInfo{}, fault.Unknown("There is no organization with this id.")
	}
	return c.FindOrganization(ctx, name)
}

// Set changes an organization. A sandbox has the name and the state of its live organization. It
// has its own module, secrecy and level.
func Set(ctx context.Context, c *op.Call, in Change) (access.OrganizationInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.OrganizationInfo{}, err
	}
	o, err := byID(ctx, c, in.ID)
	if err != nil {
		return access.OrganizationInfo{}, err
	}
	var f input.Faults
	before := o
	if in.Name != nil {
		name := f.Name("name", *in.Name)
		in.Name = &name
	}
	checkChange(&f, c, &o, in)
	apply(&o, &f, in)
	if err := checkPasswords(ctx, c, &f, before, o); err != nil {
		return access.OrganizationInfo{}, err
	}
	if err := f.Err(); err != nil {
		return access.OrganizationInfo{}, err
	}
	switch {
	case o.State != access.Deleting:
		o.EraseAt = nil
	case o.EraseAt == nil:
		date := c.Now.Add(retention(c))
		o.EraseAt = &date
	}
	if before.Secrecy != o.Secrecy {
		o.SecrecyAt, o.SecrecyBy = c.Now, c.Actor.PrincipalID()
	}
	if before.SecondFactor != o.SecondFactor {
		o.SecondFactorFrom = secondFactorFrom(c, &o)
	}
	c.Audit.About(o.Number, o.ID)
	if before == o { // nothing changed, so the log gets no line
		c.Audit.Omit()
		return o, nil
	}
	note(c, before, o)
	if _, err = c.Tx.Exec(ctx, updateOrganization, o.Number, o.Name, o.Module == "on",
		o.Secrecy == "declared", string(o.Level), string(o.State), eraseAt(&o), o.Country); err != nil {
		return o, err
	}
	if err := setPasswords(ctx, c, before, o); err != nil {
		return o, err
	}
	if _, err = c.Tx.Exec(ctx, updateDuties, o.Number, o.SecrecyAt, o.SecrecyBy, o.SecondFactorFrom,
		string(o.Applications)); err != nil {
		return o, err
	}
	if o.SandboxOf == "" {
		if _, err = c.Tx.Exec(ctx, updateSandbox, o.Number, o.Name+sandboxSuffix, string(o.State), eraseAt(&o),
			o.Country); err != nil {
			return o, err
		}
	}
	if !opened(before, o) {
		return o, nil
	}
	return o, c.Gives(ctx, op.Gain{Word: op.Opened, ID: o.ID, Organization: o.Number})
}

// opened reports whether a change admits callers who were refused before. These may be programs,
// applications, people with a password or without a second factor, or all callers.
func opened(before, after access.OrganizationInfo) bool {
	levels := []access.Level{access.Off, access.Read, access.On}
	return slices.Index(levels, after.Level) > slices.Index(levels, before.Level) ||
		before.Module != "on" && after.Module == "on" || before.Secrecy != "declared" && after.Secrecy == "declared" ||
		before.SecondFactor == "required" && after.SecondFactor != "required" ||
		before.Passwords == "off" && (after.Passwords != "off" || before.PasswordAdmin != after.PasswordAdmin) ||
		before.State != access.Open && after.State == access.Open ||
		widensApplications(before.Applications, after.Applications)
}

// widensApplications reports whether people may connect more applications than before.
func widensApplications(before, after access.Applications) bool {
	order := []access.Applications{access.NoApplications, access.KnownApplications, access.AllApplications}
	return slices.Index(order, after) > slices.Index(order, before)
}

// checkChange adds an error for each change that is not allowed.
func checkChange(f *input.Faults, c *op.Call, o *access.OrganizationInfo, in Change) {
	if in.Name != nil && o.SandboxOf != "" {
		f.Say("name", fault.ReadOnly, "A sandbox is named like its organization.")
	}
	if in.SecondFactor != nil && o.SandboxOf != "" {
		f.Say("secondFactor", fault.ReadOnly, "What holds for the organization holds for its sandbox.")
	}
	if in.Applications != nil && o.SandboxOf != "" {
		f.Say("applications", fault.ReadOnly, "What holds for the organization holds for its sandbox.")
	}
	if in.Country != nil && o.SandboxOf != "" {
		f.Say("country", fault.ReadOnly, "A sandbox is in the country of its organization.")
	}
	switch {
	case in.State == nil:
	case !c.IsOperator():
		f.Say("state", fault.ReadOnly, "Only the operator changes the state of an organization.")
	case o.SandboxOf != "":
		f.Say("state", fault.ReadOnly, "The state of a sandbox is that of its organization.")
	case *in.State != access.Deleting && o.EraseAt != nil && *o.EraseAt <= c.Now:
		f.Say("state", fault.ReadOnly, "The erasure is due and cannot be cancelled any more.")
	}
}

// eraseAt returns EraseAt in the form of the database, where zero means none.
func eraseAt(o *access.OrganizationInfo) clock.Micros {
	if o.EraseAt == nil {
		return 0
	}
	return *o.EraseAt
}

// apply applies a change to o, and adds an error for each invalid value. The caller has checked the
// name.
func apply(o *access.OrganizationInfo, f *input.Faults, c Change) {
	if c.Name != nil {
		o.Name = *c.Name
	}
	if c.Module != nil {
		input.OneOf(f, "module", *c.Module, "on", "off")
		o.Module = *c.Module
	}
	if c.Secrecy != nil {
		input.OneOf(f, "secrecy", *c.Secrecy, "declared", "undeclared")
		o.Secrecy = *c.Secrecy
	}
	if c.Level != nil {
		input.OneOf(f, "level", *c.Level, access.Off, access.Read, access.On)
		o.Level = *c.Level
	}
	if c.Country != nil {
		if o.Country = *c.Country; !country.MatchString(o.Country) {
			f.Add("country", fault.InvalidFormat, "DE")
		}
	}
	if c.Passwords != nil {
		input.OneOf(f, "passwords", *c.Passwords, "on", "off")
		o.Passwords = *c.Passwords
	}
	if c.PasswordAdmin != nil {
		o.PasswordAdmin = *c.PasswordAdmin
	}
	if o.Passwords == "on" { // everybody may sign in by password
		o.PasswordAdmin = ""
	}
	if c.SecondFactor != nil {
		input.OneOf(f, "secondFactor", *c.SecondFactor, "required", "optional")
		o.SecondFactor = *c.SecondFactor
	}
	if c.Applications != nil {
		input.OneOf(f, "applications", *c.Applications, access.NoApplications, access.KnownApplications,
			access.AllApplications)
		o.Applications = *c.Applications
	}
	if c.State != nil {
		input.OneOf(f, "state", *c.State, access.Open, access.Closed, access.Deleting)
		o.State = *c.State
	}
}

// secondFactorGrace is the time that people have for setting up a second factor.
const secondFactorGrace = 7 * 24 * time.Hour

// secondFactorFrom returns the time from which people need a second factor, or zero.
func secondFactorFrom(c *op.Call, o *access.OrganizationInfo) clock.Micros {
	if o.SecondFactor == "required" {
		return c.Now.Add(secondFactorGrace)
	}
	return 0
}

// Erase is the operation that makes an organization in the state deleting due for erasure at once.
// A background worker erases it in steps.
var Erase = op.New("organizations.erase", op.Administer, erase, op.By(op.Operator), op.Audited("organization.erase"))

func erase(ctx context.Context, c *op.Call, in op.ByID) (access.OrganizationInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.OrganizationInfo{}, err
	}
	o, err := byID(ctx, c, in.ID)
	if err != nil {
		return access.OrganizationInfo{}, err
	}
	switch {
	case o.SandboxOf != "":
		return o, &fault.Fault{Code: fault.Forbidden, Detail: withItsOrganization}
	case o.State != access.Deleting:
		return o, &fault.Fault{Code: fault.Forbidden, Detail: notDeleting}
	}
	c.Audit.About(audit.Instance, o.ID)
	if _, err := c.Tx.Exec(ctx, updateOrganization, o.Number, o.Name, o.Module == "on", o.Secrecy == "declared",
		string(o.Level), string(o.State), c.Now, o.Country); err != nil {
		return o, err
	}
	_, err = c.Tx.Exec(ctx, updateSandbox, o.Number, o.Name+sandboxSuffix, string(o.State), c.Now, o.Country)
	o.EraseAt = &c.Now
	return o, err
}

var (
	withItsOrganization = i18n.Text("A sandbox is erased with its organization. Give the id of the organization.")
	notDeleting         = i18n.Text("Only an organization in the state deleting is erased. Set it first: kartei org set ORG --state deleting.")
)
