package access

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/limit"
	"kartei/store/db"
)

// How long a key lives: 30 days unless said otherwise (contract,
// 'Authentication', point 3), and at most a year and a day, so that a key that
// is renewed every year never lapses.
const (
	DefaultLifetime = 30 * 24 * time.Hour
	MaxLifetime     = 366 * 24 * time.Hour
	minLifetime     = time.Second
)

// KeyStatus says whether a key works. Where several apply the first counts:
// revoked, expired, paused.
type KeyStatus string

// The statuses of a key.
const (
	KeyActive  KeyStatus = "active"
	KeyPaused  KeyStatus = "paused"
	KeyExpired KeyStatus = "expired"
	KeyRevoked KeyStatus = "revoked"
)

// KeyInfo is an API key as administration shows it; never the secret.
type KeyInfo struct {
	ID       string `json:"id"`
	KidShort string `json:"kidShort"`
	Name     string `json:"name"`
	// OrganizationID is the organization that the key is bound to: for test
	// keys a sandbox.
	OrganizationID string         `json:"organizationId"`
	PrincipalID    string         `json:"principalId"`
	Environment    string         `json:"environment"`
	Scopes         []string       `json:"scopes"`
	Networks       []netip.Prefix `json:"networks"`
	VersionPin     string         `json:"versionPin"`
	Status         KeyStatus      `json:"status"`
	ExpiresAt      clock.Micros   `json:"expiresAt"`
	RevokedAt      clock.Micros   `json:"revokedAt"`
	CreatedAt      clock.Micros   `json:"createdAt"`
	// LastUsedAt is exact to a minute.
	LastUsedAt clock.Micros `json:"lastUsedAt"`
	// LockedUntil is when the lock ends of a key that got too many 429 answers;
	// 0 where there is none. Acts that change a key do not look.
	LockedUntil clock.Micros `json:"lockedUntil"`

	paused       bool
	organization int64
}

// NewKey is what CreateKey takes.
type NewKey struct {
	// Organization is a live organization, also for test keys, which are then
	// bound to its sandbox; or, for test keys, the sandbox itself.
	Organization string `json:"organizationId"`
	// Principal is the user or service account for whom the key speaks.
	Principal string `json:"principalId"`
	// Environment is test or live. A live key needs an organization whose
	// level is not off.
	Environment string `json:"environment"`
	// Name is for people and may be empty.
	Name string `json:"name,omitempty"`
	// Scopes are one or more, all within the principal's rights.
	Scopes []string `json:"scopes"`
	// Networks are IPv4 or IPv6 addresses and CIDR networks from which the key
	// may be used; required where a scope writes.
	Networks []string `json:"networks,omitempty"`
	// ExpiresIn is the key's lifetime, one second to 366 days; zero is 30 days.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
	// VersionPin is a version of the API; empty is the current one.
	VersionPin string `json:"versionPin,omitempty"`
}

// CreatedKey is a key on the one occasion on which it is shown.
type CreatedKey struct {
	ID        string       `json:"id"`
	Key       string       `json:"key"`
	KidShort  string       `json:"kidShort"`
	ExpiresAt clock.Micros `json:"expiresAt"`
}

// Rotation is what RotateKey takes.
type Rotation struct {
	ID string `json:"id"`
	// ExpiresIn is the lifetime of the new key, from now; zero leaves the
	// expiry as it is.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
}

// CreateKey makes a key. It is the only time that the secret is shown.
func (d *Directory) CreateKey(ctx context.Context, in NewKey) (CreatedKey, error) {
	var created CreatedKey
	err := d.act(ctx, func(tx db.Tx) error {
		var f faults
		draft, err := d.draftKey(ctx, tx, &f, in)
		if err != nil {
			return err
		}
		if err := f.err(); err != nil {
			return err
		}
		presented, t := newToken(in.Environment)
		created = CreatedKey{ID: id.New(id.Key), Key: presented, KidShort: t.kid[:kidShortLength], ExpiresAt: draft.expiresAt}
		hash := t.hash()
		_, err = tx.Exec(ctx, insertKey, t.kid, created.ID, draft.organization, in.Principal, draft.name, in.Environment,
			hex.EncodeToString(hash[:]), mustJSON(draft.scopes), mustJSON(draft.networks), draft.versionPin,
			int64(draft.expiresAt), int64(draft.createdAt))
		return err
	})
	if err != nil {
		return CreatedKey{}, err
	}
	return created, nil
}

type keyDraft struct {
	organization         int64
	name, versionPin     string
	scopes               []string
	networks             []netip.Prefix
	expiresAt, createdAt clock.Micros
}

// draftKey applies every rule for keys and gathers what is wrong.
func (d *Directory) draftKey(ctx context.Context, tx db.Tx, f *faults, in NewKey) (keyDraft, error) {
	draft := keyDraft{createdAt: d.now(), versionPin: in.VersionPin}
	o, err := organizationField(ctx, tx, f, in.Organization)
	if err != nil {
		return draft, err
	}
	if in.Principal == "" {
		f.add("principalId", fault.Required, nil)
	}
	p, err := principalByID(ctx, tx, "", in.Principal)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return draft, err
	}
	switch {
	case in.Principal == "" || o.ID == "":
	case err != nil || p.organization != o.live:
		f.say("principalId", fault.FieldNotFound,
			"Einen solchen Benutzer oder ein solches Dienstkonto gibt es in dieser Organisation nicht.",
			"There is no such user or service account in this organization.")
	case p.Disabled:
		f.say("principalId", fault.ForbiddenCombination,
			"Dieser Benutzer oder dieses Dienstkonto ist gesperrt.", "This user or service account is disabled.")
	}

	oneOf(f, "environment", in.Environment, Test, Live)
	if draft.organization, err = d.bindKey(ctx, tx, f, o, in.Environment); err != nil {
		return draft, err
	}
	if in.Name != "" {
		draft.name = f.name("name", in.Name)
	}
	draft.scopes = f.scopes("scopes", in.Scopes)
	if p.ID != "" && p.organization == o.live {
		f.withinRights("scopes", in.Scopes, p)
	}
	draft.networks = f.networks("networks", in.Networks)
	if len(in.Networks) == 0 && slices.ContainsFunc(draft.scopes, writes) {
		f.say("networks", fault.Required,
			"Ein Schlüssel, der schreiben darf, muss an IP-Adressen oder Netze gebunden sein.",
			"A key that may write must be bound to IP addresses or networks.")
	}
	draft.expiresAt = draft.createdAt.Add(f.lifetime(in.ExpiresIn, DefaultLifetime))
	if draft.versionPin == "" && len(d.options.Versions) > 0 {
		draft.versionPin = d.options.Versions[0]
	}
	oneOf(f, "versionPin", draft.versionPin, d.options.Versions...)
	return draft, nil
}

// bindKey returns the number of the organization that a key is bound to.
func (d *Directory) bindKey(ctx context.Context, tx db.Tx, f *faults, o OrganizationInfo, environment string) (int64, error) {
	switch {
	case o.ID == "":
	case environment == Test && o.SandboxID != "":
		sandbox, err := organizationByID(ctx, tx, o.SandboxID)
		return sandbox.number, err
	case environment == Live && o.SandboxOf != "":
		f.say("environment", fault.ForbiddenCombination,
			"In der Sandbox gibt es nur Schlüssel der Umgebung test.", "A sandbox has test keys only.")
	case environment == Live && o.Level == Off:
		f.say("environment", fault.ForbiddenCombination,
			"Für diese Organisation ist die API ausgeschaltet. Eine Administratorin oder ein Administrator muss zuerst die Stufe read oder on einstellen.",
			"The API of this organization is off. An organization admin has to set its level to read or on first.")
	}
	return o.number, nil
}

// withinRights refuses scopes that the principal does not hold.
func (f *faults) withinRights(field string, scopes []string, p PrincipalInfo) {
	for i, scope := range scopes {
		if validScope(scope) && !allows(p.Role, p.Rights, scope) {
			f.say(indexed(field, i), fault.ForbiddenCombination,
				"Dieser Scope geht über die Rechte des Benutzers oder Dienstkontos hinaus.",
				"This scope goes beyond the rights of the user or service account.")
		}
	}
}

func (f *faults) lifetime(d, unset time.Duration) time.Duration {
	if d == 0 {
		return unset
	}
	if d < minLifetime || d > MaxLifetime {
		f.say("expiresIn", fault.OutOfRange,
			"Ein Schlüssel gilt mindestens eine Sekunde und höchstens 366 Tage (8784h).",
			"A key lives for at least one second and at most 366 days (8784h).")
	}
	return d
}

// ListKeys lists keys; with a live organization, those of its sandbox too.
func (d *Directory) ListKeys(ctx context.Context, p Page) (List[KeyInfo], error) {
	page, err := list(ctx, d, p, d.scanKey, selectKeys, p.After, p.Organization)
	if err == nil {
		err = d.db.Read(ctx, func(tx db.Tx) error { return d.seeLocks(ctx, tx, page.Data) })
	}
	return page, err
}

// seeLocks tells of the locks that are in force.
func (d *Directory) seeLocks(ctx context.Context, tx db.Tx, keys []KeyInfo) error {
	for i := range keys {
		until, err := limit.LockedUntil(ctx, tx, keys[i].organization, keys[i].ID)
		if err != nil {
			return err
		}
		if until > d.now() {
			keys[i].LockedUntil = until
		}
	}
	return nil
}

// GetKey returns one key.
func (d *Directory) GetKey(ctx context.Context, in ByID) (KeyInfo, error) {
	var k KeyInfo
	err := d.db.Read(ctx, func(tx db.Tx) (err error) {
		if k, err = d.keyByID(ctx, tx, in.ID); err != nil {
			return err
		}
		one := []KeyInfo{k}
		err = d.seeLocks(ctx, tx, one)
		k = one[0]
		return err
	})
	return k, err
}

// PauseKey lets a key rest until ResumeKey. To pause a paused key changes nothing.
func (d *Directory) PauseKey(ctx context.Context, in ByID) (KeyInfo, error) {
	return d.changeKey(ctx, in.ID, func(k *KeyInfo) { k.paused = true })
}

// ResumeKey ends a pause. It does not revive an expired key.
func (d *Directory) ResumeKey(ctx context.Context, in ByID) (KeyInfo, error) {
	return d.changeKey(ctx, in.ID, func(k *KeyInfo) { k.paused = false })
}

// RevokeKey ends a key for ever. To revoke a revoked key changes nothing.
func (d *Directory) RevokeKey(ctx context.Context, in ByID) (KeyInfo, error) {
	k, err := d.changeKey(ctx, in.ID, func(k *KeyInfo) { k.RevokedAt = d.now() })
	if fault.Is(err, fault.ValidationFailed) { // it is revoked already
		return d.GetKey(ctx, in)
	}
	return k, err
}

// changeKey changes what may change of a key that is not revoked.
func (d *Directory) changeKey(ctx context.Context, keyID string, change func(*KeyInfo)) (KeyInfo, error) {
	var k KeyInfo
	err := d.act(ctx, func(tx db.Tx) (err error) {
		if k, err = d.keyByID(ctx, tx, keyID); err != nil {
			return err
		}
		if k.RevokedAt != 0 {
			return revokedForGood()
		}
		change(&k)
		k.Status = k.statusAt(d.now())
		_, err = tx.Exec(ctx, updateKey, k.ID, k.paused, int64(k.RevokedAt))
		return err
	})
	if err != nil {
		return KeyInfo{}, err
	}
	return k, nil
}

func revokedForGood() error {
	var f faults
	f.say("id", fault.ForbiddenCombination,
		"Dieser Schlüssel ist widerrufen; das lässt sich nicht zurücknehmen.", "This key is revoked, which cannot be undone.")
	return f.err()
}

// RotateKey gives a key a new kid and a new secret under the same id, with
// the same properties, so that request log and limits go on under one name.
// The old secret ends at once. The expiry stays unless a lifetime is named;
// an expired key needs one, and a paused key stays paused.
func (d *Directory) RotateKey(ctx context.Context, in Rotation) (CreatedKey, error) {
	var created CreatedKey
	err := d.act(ctx, func(tx db.Tx) error {
		var f faults
		k, err := d.keyByID(ctx, tx, in.ID)
		if err != nil {
			return err
		}
		if k.RevokedAt != 0 {
			return revokedForGood()
		}
		if in.ExpiresIn != 0 {
			k.ExpiresAt = d.now().Add(f.lifetime(in.ExpiresIn, 0))
		} else if k.ExpiresAt <= d.now() {
			f.say("expiresIn", fault.Required,
				"Dieser Schlüssel ist abgelaufen; nennen Sie die Laufzeit des neuen.",
				"This key has expired: name the lifetime of the new one.")
		}
		if err := f.err(); err != nil {
			return err
		}
		presented, t := newToken(k.Environment)
		hash := t.hash()
		created = CreatedKey{ID: k.ID, Key: presented, KidShort: t.kid[:kidShortLength], ExpiresAt: k.ExpiresAt}
		_, err = tx.Exec(ctx, updateSecret, k.ID, t.kid, hex.EncodeToString(hash[:]), int64(k.ExpiresAt))
		return err
	})
	if err != nil {
		return CreatedKey{}, err
	}
	return created, nil
}

// keyByID finds a key by its id, or by the short form of its kid under which
// alerts, the request log and /me tell of it: oKdzvJ33, or with what stands
// before and behind it in lists, kart_test_oKdzvJ33...
func (d *Directory) keyByID(ctx context.Context, tx db.Tx, name string) (KeyInfo, error) {
	missing := unknown("Einen Schlüssel", "key")
	if id.Valid(id.Key, name) {
		k, err := d.scanKey(tx.QueryRow(ctx, selectKey, name))
		if errors.Is(err, db.ErrNoRows) {
			return KeyInfo{}, missing
		}
		return k, err
	}
	for _, environment := range []string{Test, Live} {
		name = strings.TrimPrefix(name, "kart_"+environment+"_")
	}
	if name = strings.TrimSuffix(name, "..."); len(name) != kidShortLength {
		return KeyInfo{}, missing
	}
	rows, err := tx.Query(ctx, selectKeysByKid, name, kidShortLength)
	if err != nil {
		return KeyInfo{}, err
	}
	defer rows.Close()
	var found []KeyInfo
	for rows.Next() {
		k, err := d.scanKey(rows)
		if err != nil {
			return KeyInfo{}, err
		}
		found = append(found, k)
	}
	switch {
	case rows.Err() != nil:
		return KeyInfo{}, rows.Err()
	case len(found) == 0:
		return KeyInfo{}, missing
	case len(found) > 1:
		return KeyInfo{}, &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
			DE: "Mehrere Schlüssel beginnen so. Nennen Sie die Kennung (key_...).",
			EN: "Several keys begin with this. Name the id (key_...).",
		}}
	}
	return found[0], nil
}

func (d *Directory) scanKey(row db.Row) (KeyInfo, error) {
	var k KeyInfo
	var kid, scopes, networks string
	err := row.Scan(&k.ID, &kid, &k.Name, &k.OrganizationID, &k.PrincipalID, &k.Environment, &scopes, &networks,
		&k.VersionPin, &k.ExpiresAt, &k.paused, &k.RevokedAt, &k.CreatedAt, &k.LastUsedAt, &k.organization)
	if err != nil {
		return k, err
	}
	if err := errors.Join(json.Unmarshal([]byte(scopes), &k.Scopes), json.Unmarshal([]byte(networks), &k.Networks)); err != nil {
		return k, fmt.Errorf("access: key %s: %w", k.ID, err)
	}
	if k.Networks == nil {
		k.Networks = []netip.Prefix{}
	}
	k.KidShort = kid[:kidShortLength]
	k.Status = k.statusAt(d.now())
	return k, nil
}

func (k *KeyInfo) statusAt(now clock.Micros) KeyStatus {
	switch {
	case k.RevokedAt != 0:
		return KeyRevoked
	case k.ExpiresAt <= now:
		return KeyExpired
	case k.paused:
		return KeyPaused
	}
	return KeyActive
}
