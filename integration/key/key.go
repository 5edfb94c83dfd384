// Package key owns API keys: how they are created, changed and revoked.
package key

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/store/db"
	"kartei/store/replay"
)

// The lifetime of a key is 30 days by default (contract, 'Authentication', point 3). Its maximum is
// 366 days, so a key that is renewed once a year never expires in between.
const (
	DefaultLifetime = 30 * 24 * time.Hour
	MaxLifetime     = 366 * 24 * time.Hour
	minLifetime     = time.Second
)

// Status says whether a key works. If several statuses apply, the first of revoked, expired and
// paused counts.
type Status string

// The statuses of a key.
const (
	Active  Status = "active"
	Paused  Status = "paused"
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Info is an API key without its secret, as its owner and admins see it.
type Info struct {
	ID       string `json:"id"`
	KidShort string `json:"kidShort"`
	Name     string `json:"name"`
	// OrganizationID is the id of the organization in which the key works. For a test key, it is a
	// sandbox.
	OrganizationID string         `json:"organizationId"`
	PrincipalID    string         `json:"principalId"`
	Environment    string         `json:"environment"`
	Scopes         []string       `json:"scopes"`
	Networks       []netip.Prefix `json:"networks"`
	VersionPin     string         `json:"versionPin"`
	Status         Status         `json:"status"`
	ExpiresAt      clock.Micros   `json:"expiresAt"`
	RevokedAt      clock.Micros   `json:"revokedAt"`
	CreatedAt      clock.Micros   `json:"createdAt"`
	// LastUsedAt is the time of the last use, exact to a minute.
	LastUsedAt clock.Micros `json:"lastUsedAt"`
	// LockedUntil is the end of the lock after too many 429 responses, or 0 for a key that is not
	// locked. Operations that change a key always return 0.
	LockedUntil clock.Micros `json:"lockedUntil"`
	// MadeBy is the id of the person who created the key or last rotated it, and who has seen the
	// secret. It is empty for the operator.
	MadeBy string `json:"madeBy"`

	paused       bool
	organization int64
	live         int64 // the number of the live organization of its principal
}

// New is the input of Create.
type New struct {
	// Organization is the id of a live organization. A test key works in its sandbox. For a test
	// key, Organization may also be the sandbox.
	Organization string `json:"organizationId,omitempty"`
	// Principal is the id of the user or service account for which the key acts.
	Principal string `json:"principalId"`
	// Environment is test or live. A live key needs an organization whose level is not off.
	Environment string `json:"environment"`
	// Name is the name of the key for people, and may be empty.
	Name string `json:"name,omitempty"`
	// Scopes are the scopes of the key. At least one is needed, and the principal's rights must
	// include all of them.
	Scopes []string `json:"scopes"`
	// Networks are the addresses and CIDR networks from which the key may be used. They are
	// required if a scope permits writing.
	Networks []string `json:"networks,omitempty"`
	// ExpiresIn is the lifetime of the key, from one second to 366 days. Zero means 30 days.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
	// VersionPin is the version of the API on which the key stays. Empty means the current version.
	VersionPin string `json:"versionPin,omitempty"`
}

// WithSecret is a key with its new secret, which no other response reveals.
type WithSecret struct {
	ID        string       `json:"id"`
	Key       string       `json:"key"`
	KidShort  string       `json:"kidShort"`
	ExpiresAt clock.Micros `json:"expiresAt"`
}

// Secret implements op.Secret.
func (WithSecret) Secret() {}

// Rotation is the input of Rotate.
type Rotation struct {
	ID string `json:"id"`
	// ExpiresIn is the new lifetime from now. Zero keeps the expiry.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
}

// Create is the operation that creates a key. Only its response reveals the secret. A person
// creates their own keys. An admin also creates keys of service accounts, and the operator creates
// any key.
var Create = op.New("keys.create", op.Administer, create, op.By(op.Self|op.Operator), op.Fresh, op.Gives,
	op.Audited("key.create"))

func create(ctx context.Context, c *op.Call, in New) (WithSecret, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return WithSecret{}, err
	}
	var f input.Faults
	draft, err := prepare(ctx, c, &f, in)
	if err != nil {
		return WithSecret{}, err
	}
	if err := f.Err(); err != nil {
		return WithSecret{}, err
	}
	secret := access.NewSecret(in.Environment)
	created := WithSecret{ID: id.New(id.Key), Key: secret.Text, KidShort: secret.Short, ExpiresAt: draft.expiresAt}
	c.Audit.About(draft.organization, created.ID)
	c.Audit.Changed("principalId", nil, in.Principal)
	c.Audit.Changed("environment", nil, in.Environment)
	c.Audit.Changed("scopes", nil, draft.scopes)
	note(c, Info{}, Info{
		Name: draft.name, Networks: draft.networks, VersionPin: draft.versionPin, ExpiresAt: draft.expiresAt,
	})
	_, err = c.Tx.Exec(ctx, insertKey, secret.Kid, created.ID, draft.organization, in.Principal, draft.name,
		in.Environment, secret.Hash, db.JSON(draft.scopes), db.JSON(draft.networks), draft.versionPin,
		int64(draft.expiresAt), int64(draft.createdAt), c.Actor.PrincipalID())
	if err != nil {
		return WithSecret{}, err
	}
	return created, c.Gives(ctx, gainOf(op.KeyCreated, draft.organization, created.ID, in.Principal))
}

// gainOf returns the access that a key gives in the name of its owner.
func gainOf(word op.GainWord, organization int64, key, owner string) op.Gain {
	return op.Gain{Word: word, ID: key, Organization: organization, Principal: owner}
}

// note records a change in the audit log. The log does not contain the key's name, because it may
// contain the name of a person.
func note(c *op.Call, before, after Info) {
	c.Audit.Hidden("name", before.Name != after.Name)
	c.Audit.Changed("networks", texts(before.Networks), texts(after.Networks))
	c.Audit.Changed("versionPin", before.VersionPin, after.VersionPin)
	c.Audit.Changed("expiresAt", before.ExpiresAt, after.ExpiresAt)
	c.Audit.Changed("status", before.Status, after.Status)
}

func texts(nets []netip.Prefix) []string {
	list := make([]string, len(nets))
	for i, net := range nets {
		list[i] = net.String()
	}
	return list
}

type keyDraft struct {
	organization         int64
	name, versionPin     string
	scopes               []string
	networks             []netip.Prefix
	expiresAt, createdAt clock.Micros
}

// prepare checks the input against all rules for keys, and collects the errors in f.
func prepare(ctx context.Context, c *op.Call, f *input.Faults, in New) (keyDraft, error) {
	draft := keyDraft{createdAt: c.Now, versionPin: in.VersionPin}
	o, err := c.OrganizationField(ctx, f, in.Organization)
	if err != nil {
		return draft, err
	}
	if in.Principal == "" {
		f.Add("principalId", fault.Required, nil)
	}
	p, err := access.PrincipalIn(ctx, c.Tx, "", in.Principal)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return draft, err
	}
	switch {
	case in.Principal == "" || o.ID == "":
	case err != nil || p.Home != o.Live || !secretOf(c, p.ID):
		f.Say("principalId", fault.FieldNotFound,
			"There is no such user or service account in this organization.")
	case p.Disabled:
		f.Say("principalId", fault.ForbiddenCombination,
			"This user or service account is disabled.")
	}

	input.OneOf(f, "environment", in.Environment, access.Test, access.Live)
	if draft.organization, err = bind(ctx, c, f, o, in.Environment); err != nil {
		return draft, err
	}
	if in.Name != "" {
		draft.name = f.Name("name", in.Name)
	}
	draft.scopes = scopesOf(f, "scopes", in.Scopes)
	if p.ID != "" && p.Home == o.Live {
		withinRights(f, "scopes", in.Scopes, p)
	}
	draft.networks = networksOf(f, "networks", in.Networks)
	bound(f, in.Networks, draft.scopes)
	draft.expiresAt = draft.createdAt.Add(lifetime(f, in.ExpiresIn, DefaultLifetime))
	if draft.versionPin == "" && len(c.Services.Versions) > 0 {
		draft.versionPin = c.Services.Versions[0]
	}
	input.OneOf(f, "versionPin", draft.versionPin, c.Services.Versions...)
	return draft, nil
}

// bound adds an error if a key may write and has no networks.
func bound(f *input.Faults, networks, scopes []string) {
	if len(networks) == 0 && slices.ContainsFunc(scopes, access.Writes) {
		f.Say("networks", fault.Required,
			"A key that may write must be bound to IP addresses or networks.")
	}
}

// bind returns the number of the organization in which a new key will work.
func bind(
	ctx context.Context, c *op.Call, f *input.Faults, o access.OrganizationInfo, environment string,
) (int64, error) {
	switch {
	case o.ID == "":
	case environment == access.Test && o.SandboxID != "":
		sandbox, err := access.OrganizationIn(ctx, c.Tx, o.SandboxID)
		return sandbox.Number, err
	case environment == access.Live && o.SandboxOf != "":
		f.Say("environment", fault.ForbiddenCombination,
			"A sandbox has test keys only.")
	case environment == access.Live && o.Level == access.Off:
		f.Say("environment", fault.ForbiddenCombination,
			"The API of this organization is off. An organization admin has to set its level to read or on first.")
	}
	return o.Number, nil
}

// withinRights adds an error for each scope that the principal's rights do not include.
func withinRights(f *input.Faults, field string, scopes []string, p access.PrincipalInfo) {
	for i, scope := range scopes {
		if access.ValidScope(scope) && !access.Allows(p.Role, p.Rights, scope) {
			f.Say(input.Indexed(field, i), fault.ForbiddenCombination,
				"This scope goes beyond the rights of the user or service account.")
		}
	}
}

func lifetime(f *input.Faults, d, unset time.Duration) time.Duration {
	if d == 0 {
		return unset
	}
	if d < minLifetime || d > MaxLifetime {
		f.Say("expiresIn", fault.OutOfRange,
			"A key lives for at least one second and at most 366 days (8784h).")
	}
	return d
}

// FindInput is the input of List.
type FindInput struct {
	op.Page
	// Principal is the id of a user or a service account. Empty means all.
	Principal string `json:"principalId,omitempty"`
}

// List is the operation that runs ReadList.
var List = op.New("keys.list", op.Read, ReadList, op.By(op.Self|op.Operator))

// ReadList returns a page of keys. For a live organization, the page also has the keys of its
// sandbox. Callers who do not administer the organization get their own keys.
func ReadList(ctx context.Context, c *op.Call, in FindInput) (op.Entries[Info], error) {
	organization, err := c.Within(ctx, in.Organization)
	if err != nil {
		return op.Entries[Info]{}, err
	}
	principal := c.Actor.PrincipalID()
	switch {
	case c.Administers():
		principal = in.Principal
	case in.Principal != "" && in.Principal != principal:
		return op.Entries[Info]{Data: []Info{}}, nil
	}
	page, err := op.ListPage(ctx, c.Tx, in.Page, func(row db.Row) (Info, error) { return scan(row, c.Now) },
		selectKeys, in.After, organization, principal)
	if err != nil {
		return page, err
	}
	return page, seeLocks(ctx, c, page.Data)
}

// seeLocks sets LockedUntil of each locked key.
func seeLocks(ctx context.Context, c *op.Call, keys []Info) error {
	for i := range keys {
		until, err := limit.LockedUntil(ctx, c.Tx, keys[i].organization, keys[i].ID)
		if err != nil {
			return err
		}
		if until > c.Now {
			keys[i].LockedUntil = until
		}
	}
	return nil
}

// Get is the operation that runs Read.
var Get = op.New("keys.get", op.Read, Read, op.By(op.Self|op.Operator))

// Read returns one key. It fails with NOT_FOUND if the caller does not administer the key.
func Read(ctx context.Context, c *op.Call, in op.ByID) (Info, error) {
	k, err := Find(ctx, c, in.ID)
	if err != nil {
		return Info{}, err
	}
	one := []Info{k}
	err = seeLocks(ctx, c, one)
	return one[0], err
}

// Pause is the operation that pauses a key until Resume. It does not change a paused key.
var Pause = op.New("keys.pause", op.Administer, pause, op.By(op.Self|op.Operator), op.Always, op.Audited("key.pause"))

func pause(ctx context.Context, c *op.Call, in op.ByID) (Info, error) {
	return change(ctx, c, in.ID, func(k *Info) { k.paused = true })
}

// Resume is the operation that ends the pause of a key. An expired key stays expired.
var Resume = op.New("keys.resume", op.Administer, resume, op.By(op.Self|op.Operator), op.Fresh, op.Gives,
	op.Audited("key.resume"))

func resume(ctx context.Context, c *op.Call, in op.ByID) (Info, error) {
	k, err := change(ctx, c, in.ID, func(k *Info) { k.paused = false })
	if err != nil {
		return k, err
	}
	return k, c.Gives(ctx, gainOf(op.KeyResumed, k.organization, k.ID, k.PrincipalID))
}

// Revoke revokes a key permanently. It does not change a revoked key. The operation
// webhook.RevokeKey calls it, and also handles the webhook endpoints that the key created.
func Revoke(ctx context.Context, c *op.Call, in op.ByID) (Info, error) {
	k, err := change(ctx, c, in.ID, func(k *Info) { k.RevokedAt = c.Now })
	if fault.Is(err, fault.ValidationFailed) { // the key is already revoked
		return Read(ctx, c, in)
	}
	return k, err
}

// change applies a change to a key that is not revoked, and stores it.
func change(ctx context.Context, c *op.Call, keyID string, change func(*Info)) (Info, error) {
	k, err := findToChange(ctx, c, keyID)
	if err != nil {
		return Info{}, err
	}
	before := k
	change(&k)
	k.Status = k.statusAt(c.Now)
	note(c, before, k)
	if _, err := c.Tx.Exec(ctx, updateKey, k.ID, k.paused, int64(k.RevokedAt)); err != nil || k.RevokedAt == 0 {
		return k, err
	}
	return k, replay.EraseSecrets(ctx, c.Tx, k.organization, k.ID)
}

// findToChange reads a key for a change. It fails if the key is revoked.
func findToChange(ctx context.Context, c *op.Call, keyID string) (Info, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return Info{}, err
	}
	k, err := Find(ctx, c, keyID)
	if err != nil {
		return Info{}, err
	}
	c.Audit.About(k.organization, k.ID)
	if k.RevokedAt != 0 {
		return Info{}, revokedForGood()
	}
	return k, nil
}

func revokedForGood() error {
	var f input.Faults
	f.Say("id", fault.ForbiddenCombination,
		"This key is revoked, which cannot be undone.")
	return f.Err()
}

// secretOf reports whether the caller may see the secret of a principal's key. A caller with the
// secret can act as the principal. So admins see only secrets of service accounts.
func secretOf(c *op.Call, principal string) bool {
	return c.IsOperator() || principal == c.Actor.PrincipalID() ||
		c.Administers() && id.Valid(id.ServiceAccount, principal)
}

var othersKey = i18n.Text("Only the person whose key it is gets its secret. You can pause it or revoke it.")

// Rotate is the operation that gives a key a new kid and a new secret. The id and the properties
// stay the same, so that the request log and the limits continue. The old secret is invalid at
// once.
//
// Without ExpiresIn, the expiry stays the same. An expired key needs ExpiresIn. A paused key stays
// paused.
var Rotate = op.New("keys.rotate", op.Administer, rotate, op.By(op.Self|op.Operator), op.Fresh, op.Gives,
	op.Audited("key.rotate"))

func rotate(ctx context.Context, c *op.Call, in Rotation) (WithSecret, error) {
	k, err := findToChange(ctx, c, in.ID)
	if err != nil {
		return WithSecret{}, err
	}
	if !secretOf(c, k.PrincipalID) {
		return WithSecret{}, &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: othersKey}
	}
	var f input.Faults
	before := k
	if in.ExpiresIn != 0 {
		k.ExpiresAt = c.Now.Add(lifetime(&f, in.ExpiresIn, 0))
	} else if k.ExpiresAt <= c.Now {
		f.Say("expiresIn", fault.Required,
			"This key has expired: name the lifetime of the new one.")
	}
	if err := f.Err(); err != nil {
		return WithSecret{}, err
	}
	note(c, before, k)
	secret := access.NewSecret(k.Environment)
	if _, err := c.Tx.Exec(ctx, updateSecret, k.ID, secret.Kid, secret.Hash, int64(k.ExpiresAt),
		c.Actor.PrincipalID()); err != nil {
		return WithSecret{}, err
	}
	if err := replay.EraseSecrets(ctx, c.Tx, k.organization, k.ID); err != nil {
		return WithSecret{}, err
	}
	err = c.Gives(ctx, gainOf(op.KeyRotated, k.organization, k.ID, k.PrincipalID))
	return WithSecret{ID: k.ID, Key: secret.Text, KidShort: secret.Short, ExpiresAt: k.ExpiresAt}, err
}

// Find returns the key with an id, or with the short form of its kid. Alerts, the request log and
// /me show the short form, such as oKdzvJ33. name may also be the form in lists:
// kart_test_oKdzvJ33...
//
// Find fails with NOT_FOUND for a key that the caller does not administer, and if several keys have
// the short form.
func Find(ctx context.Context, c *op.Call, name string) (Info, error) {
	missing := fault.Unknown("There is no key with this id.")
	if id.Valid(id.Key, name) {
		k, err := scan(c.Tx.QueryRow(ctx, selectKey, name), c.Now)
		if errors.Is(err, db.ErrNoRows) || err == nil && !k.of(c) {
			return Info{}, missing
		}
		return k, err
	}
	for _, environment := range []string{access.Test, access.Live} {
		name = strings.TrimPrefix(name, "kart_"+environment+"_")
	}
	if name = strings.TrimSuffix(name, "..."); len(name) != access.KidShortLength {
		return Info{}, missing
	}
	found, err := keysByKid(ctx, c, name)
	switch {
	case err != nil:
		return Info{}, err
	case len(found) == 0:
		return Info{}, missing
	case len(found) > 1:
		return Info{}, &fault.Fault{Code: fault.NotFound, Detail: "Several keys begin with this. Give the id (key_...)."}
	}
	return found[0], nil
}

// keysByKid returns at most two keys whose kid has this short form.
func keysByKid(ctx context.Context, c *op.Call, short string) ([]Info, error) {
	scan := func(row db.Row) (Info, error) { return scan(row, c.Now) }
	found, err := db.List(ctx, c.Tx, scan, selectKeysByKid, short, access.KidShortLength)
	return slices.DeleteFunc(found, func(k Info) bool { return !k.of(c) }), err
}

// of reports whether the caller may administer the key.
func (k *Info) of(c *op.Call) bool {
	return c.Reaches(k.organization, k.live) && c.Owns(k.PrincipalID)
}

// WithIDs returns the keys with these ids in all organizations.
func WithIDs(ctx context.Context, c *op.Call, ids []string) ([]Info, error) {
	return db.List(ctx, c.Tx, func(row db.Row) (Info, error) { return scan(row, c.Now) },
		keyColumns+` where k.id `+c.Tx.Dialect().In("$1"), db.Texts(ids))
}

// Number returns the number of the organization in which the key works.
func (k *Info) Number() int64 { return k.organization }

func scan(row db.Row, now clock.Micros) (Info, error) {
	var k Info
	var kid, scopes, networks string
	err := row.Scan(&k.ID, &kid, &k.Name, &k.OrganizationID, &k.PrincipalID, &k.Environment, &scopes, &networks,
		&k.VersionPin, &k.ExpiresAt, &k.paused, &k.RevokedAt, &k.CreatedAt, &k.LastUsedAt, &k.MadeBy, &k.organization,
		&k.live)
	if err != nil {
		return k, err
	}
	if err := errors.Join(json.Unmarshal([]byte(scopes), &k.Scopes),
		json.Unmarshal([]byte(networks), &k.Networks)); err != nil {
		return k, fmt.Errorf("key: %s: %w", k.ID, err)
	}
	if k.Networks == nil {
		k.Networks = []netip.Prefix{}
	}
	k.KidShort = kid[:access.KidShortLength]
	k.Status = k.statusAt(now)
	return k, nil
}

func (k *Info) statusAt(now clock.Micros) Status {
	switch {
	case k.RevokedAt != 0:
		return Revoked
	case k.ExpiresAt <= now:
		return Expired
	case k.paused:
		return Paused
	}
	return Active
}

// OwnCredentials returns ids of keys and grants. If name is empty, these are all keys and grants of
// the caller. Otherwise it is the named one, which may be a key that the caller administers.
func OwnCredentials(ctx context.Context, c *op.Call, name string) ([]string, error) {
	if name != "" && !id.Valid(id.Grant, name) {
		k, err := Find(ctx, c, name)
		return []string{k.ID}, err
	}
	own, err := CredentialIDs(ctx, c.Tx, c.Actor.PrincipalID())
	if name != "" {
		own = slices.DeleteFunc(own, func(s string) bool { return s != name })
	}
	return own, err
}

// CredentialIDs returns the ids of a principal's keys and grants. It includes expired and ended
// ones, because programs may still try to use them.
func CredentialIDs(ctx context.Context, tx db.Tx, principal string) ([]string, error) {
	return db.Values[string](ctx, tx, selectCredentialIDs, principal)
}

// EndNow revokes a key as part of another act. The caller of that act may revoke the key, and the
// act has called access.Changed. EndNow does not change a revoked key.
func EndNow(ctx context.Context, tx db.Tx, keyID string, now clock.Micros) error {
	_, err := tx.Exec(ctx, endKey, keyID, now)
	return err
}

// EraseOf revokes the keys of a person who is erased, and deletes their names and networks.
func EraseOf(ctx context.Context, tx db.Tx, principal string, now clock.Micros) error {
	_, err := tx.Exec(ctx, eraseKeys, principal, now)
	return err
}
