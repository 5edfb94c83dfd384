package exports

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/store/db"
)

// principalStages are the stages of an export about a person of the office or a service account.
// Some stages write nothing unless the caller is that person or the operator.
var principalStages = []stage{
	readMe, aboutPrincipal, keys, endpoints, principalSessions, principalAccount, principalBell, principalRecents,
	principalImports, actsOfPrincipal, actsOnPrincipal, callsOfPrincipal, callsOfKeys,
}

// profile is a principal with their preferences.
type profile struct {
	access.PrincipalInfo
	Preferences json.RawMessage `json:"preferences"`
}

const selectPreferences = `select preferences from principals where id = $1`

func aboutPrincipal(ctx context.Context, r *partsReader) ([]document.File, error) {
	p, err := principal.FindOwn(ctx, &r.Call, r.ID)
	if err != nil {
		return nil, err
	}
	one := profile{PrincipalInfo: p}
	var preferences string
	if err := r.Tx.QueryRow(ctx, selectPreferences, r.ID).Scan(&preferences); err != nil {
		return nil, err
	}
	one.Preferences = json.RawMessage(preferences)
	return nil, r.addJSON("person.json", one)
}

// keys writes the API keys, without their secrets.
func keys(ctx context.Context, r *partsReader) ([]document.File, error) {
	list, err := r.readKeys(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return nil, addLines(r, "keys.jsonl", list)
}

// readKeys returns the API keys of the principal, or all keys of the organization.
func (r *partsReader) readKeys(ctx context.Context) (list []key.Info, err error) {
	o, err := access.OrganizationID(ctx, r.Tx, r.Organization)
	if err != nil {
		return nil, err
	}
	in := key.FindInput{Page: op.Page{Organization: o, Limit: op.MaxPage}}
	if r.Subject != anOrganization {
		in.Principal = r.ID
	}
	for {
		found, err := key.ReadList(ctx, &r.Call, in)
		if err != nil {
			return nil, err
		}
		list = append(list, found.Data...)
		if !found.HasMore {
			return list, nil
		}
		in.After = found.Data[len(found.Data)-1].ID
	}
}

// endpoint is a webhook endpoint. It has no address, which may contain a secret, and no signing
// secrets.
type endpoint struct {
	ID          string          `json:"id"`
	PrincipalID string          `json:"principalId"`
	Name        string          `json:"name"`
	EventTypes  json.RawMessage `json:"eventTypes"`
	Status      string          `json:"status"`
	CreatedAt   clock.Micros    `json:"createdAt"`
	UpdatedAt   clock.Micros    `json:"updatedAt"`
}

const selectEndpoints = `select id, principal, name, event_types, status, created_at, updated_at from webhook_endpoints
	where organization = $1 and ($2 = '' or principal = $2) and id > $3 order by id limit $4`

// endpoints writes the webhook endpoints of a principal or of an organization.
func endpoints(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, addEach(ctx, r, "webhook-endpoints.jsonl", func(e endpoint) string { return e.ID },
		func(row db.Row) (e endpoint, err error) {
			var types string
			err = row.Scan(&e.ID, &e.PrincipalID, &e.Name, &types, &e.Status, &e.CreatedAt, &e.UpdatedAt)
			e.EventTypes = json.RawMessage(types)
			return e, err
		}, selectEndpoints)
}

// session is a sign-in with a browser.
type session struct {
	ID         string       `json:"id"`
	CreatedAt  clock.Micros `json:"createdAt"`
	LastSeenAt clock.Micros `json:"lastSeenAt"`
	ExpiresAt  clock.Micros `json:"expiresAt"`
	EndedAt    clock.Micros `json:"endedAt"`
	// Method is password, passkey or sso.
	Method  string `json:"method"`
	Address string `json:"address"`
	Agent   string `json:"agent"`
}

const selectSessions = `select id, created_at, last_seen_at, expires_at, ended_at, method, address, agent from sessions
	where principal_id = $1 and id > $2 order by id limit $3`

// principalSessions writes the sign-ins of the person in this organization.
func principalSessions(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.isUser() {
		return nil, nil
	}
	list, err := db.List(ctx, r.Tx, func(row db.Row) (s session, err error) {
		return s, row.Scan(&s.ID, &s.CreatedAt, &s.LastSeenAt, &s.ExpiresAt, &s.EndedAt, &s.Method, &s.Address, &s.Agent)
	}, selectSessions, r.ID, r.After, logPage)
	if err != nil {
		return nil, err
	}
	return nil, addPage(r, "sessions.jsonl", list, func(s session) string { return s.ID })
}

// account describes the account of a person. It has no passwords, secrets or keys.
type account struct {
	Email             string       `json:"email"`
	PasswordChangedAt clock.Micros `json:"passwordChangedAt"`
	// TOTPSince is the time since which the account has a TOTP secret, or null without one.
	TOTPSince clock.Micros `json:"totpSince"`
	CreatedAt clock.Micros `json:"createdAt"`
	Passkeys  []passkey    `json:"passkeys"`
	// Identities are the account's identities of single sign-on.
	Identities []identity `json:"identities"`
	// Devices are the known browsers of the account, one entry for each browser and network.
	Devices []device `json:"devices"`
	// Organizations are all organizations that the account belongs to.
	Organizations []membership `json:"organizations"`
}

type passkey struct {
	Name       string       `json:"name"`
	CreatedAt  clock.Micros `json:"createdAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt"`
}

// identity is an identity of the account at an OpenID provider.
type identity struct {
	Issuer     string       `json:"issuer"`
	Subject    string       `json:"subject"`
	Label      string       `json:"label"`
	CreatedAt  clock.Micros `json:"createdAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt"`
}

// device is a known browser. Only hashes of the browser and of its network are stored, so they
// are left out.
type device struct {
	CreatedAt  clock.Micros `json:"createdAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt"`
}

type membership struct {
	OrganizationID string `json:"organizationId"`
	Name           string `json:"name"`
	PrincipalID    string `json:"principalId"`
}

const (
	selectAccount = `select a.id, a.email, a.password_changed_at, a.totp_since, a.created_at from accounts a
		join principals p on p.account_id = a.id where p.id = $1`
	selectPasskeys    = `select name, created_at, last_used_at from passkeys where account_id = $1 order by id`
	selectIdentities  = `select issuer, subject, label, created_at, last_used_at from identities where account_id = $1 order by id`
	selectDevices     = `select created_at, seen_at from devices where account_id = $1 order by created_at, token_hash, network`
	selectMemberships = `select o.id, o.name, p.id from principals p join organizations o on o.number = p.organization where p.account_id = $1 order by o.number`
)

// principalAccount writes the account. It may belong to several organizations, so their admins
// must not see it.
func principalAccount(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.isPersonal() {
		return nil, nil
	}
	type row struct {
		id string
		account
	}
	found, err := db.List(ctx, r.Tx, func(from db.Row) (a row, err error) {
		return a, from.Scan(&a.id, &a.Email, &a.PasswordChangedAt, &a.TOTPSince, &a.CreatedAt)
	}, selectAccount, r.ID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	a := found[0].account
	a.Passkeys, err = db.List(ctx, r.Tx, func(from db.Row) (p passkey, err error) {
		return p, from.Scan(&p.Name, &p.CreatedAt, &p.LastUsedAt)
	}, selectPasskeys, found[0].id)
	if err != nil {
		return nil, err
	}
	a.Identities, err = db.List(ctx, r.Tx, func(from db.Row) (i identity, err error) {
		return i, from.Scan(&i.Issuer, &i.Subject, &i.Label, &i.CreatedAt, &i.LastUsedAt)
	}, selectIdentities, found[0].id)
	if err != nil {
		return nil, err
	}
	a.Devices, err = db.List(ctx, r.Tx, func(from db.Row) (d device, err error) {
		return d, from.Scan(&d.CreatedAt, &d.LastUsedAt)
	}, selectDevices, found[0].id)
	if err != nil {
		return nil, err
	}
	a.Organizations, err = db.List(ctx, r.Tx, func(from db.Row) (m membership, err error) {
		return m, from.Scan(&m.OrganizationID, &m.Name, &m.PrincipalID)
	}, selectMemberships, found[0].id)
	if err != nil {
		return nil, err
	}
	return nil, r.addJSON("account.json", a)
}

// isPersonal reports whether the caller may see the data that only the person and the operator
// may see.
func (r *partsReader) isPersonal() bool { return r.isUser() && (r.own(&r.Call) || r.IsOperator()) }

// recent has the records that a person opened recently in one organization.
type recent struct {
	OrganizationID string `json:"organizationId"`
	lookup.OpenedIDs
}

// principalRecents writes the records that the person opened recently.
func principalRecents(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.isPersonal() {
		return nil, nil
	}
	organizations, err := r.organizations(ctx)
	if err != nil {
		return nil, err
	}
	var list []recent
	for _, number := range slices.Sorted(maps.Keys(organizations)) {
		opened, err := lookup.OpenedBy(ctx, r.Tx, number, r.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, recent{organizations[number], opened})
	}
	return nil, addLines(r, "recents.jsonl", list)
}

// principalBell writes the notices in the person's bell.
func principalBell(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.isPersonal() {
		return nil, nil
	}
	list, err := notify.Service.Of(r.Services).Bell(ctx, r.Tx, r.Live, notify.BellInput{
		Principal: r.ID, After: r.After, Limit: logPage,
	})
	if err != nil {
		return nil, err
	}
	if list.HasMore {
		r.more, r.After = true, list.Data[len(list.Data)-1].ID
	}
	return nil, addLines(r, "bell.jsonl", list.Data)
}

// begunImport is an import that a person began.
type begunImport struct {
	ID        string       `json:"id"`
	State     string       `json:"state"`
	CreatedAt clock.Micros `json:"createdAt"`
}

const selectImports = `select id, state, created_at from imports where organization = $1 and principal = $2 and id > $3 order by id limit $4`

func principalImports(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, addEach(ctx, r, "imports.jsonl", func(i begunImport) string { return i.ID },
		func(row db.Row) (i begunImport, err error) {
			return i, row.Scan(&i.ID, &i.State, &i.CreatedAt)
		}, selectImports)
}

// actsOfPrincipal writes the acts of the principal, from the audit log.
func actsOfPrincipal(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, r.addAudit(ctx, "audit-acts.jsonl", audit.Filter{Who: r.ID})
}

// actsOnPrincipal writes the acts of others that concern the principal, from the audit log.
func actsOnPrincipal(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, r.addAudit(ctx, "audit-about.jsonl", audit.Filter{Target: r.ID})
}

// callsOfPrincipal writes the calls of the person's sessions, from the request log.
func callsOfPrincipal(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.isUser() {
		return nil, nil
	}
	return nil, r.addCalls(ctx, "calls-sessions.jsonl", r.ID)
}

// callsOfKeys writes the calls of the principal's API keys, from the request log.
func callsOfKeys(ctx context.Context, r *partsReader) ([]document.File, error) {
	ids, err := key.CredentialIDs(ctx, r.Tx, r.ID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return nil, r.addCalls(ctx, "calls-keys.jsonl", ids...)
}

// addCalls adds the calls with some credentials, the newest first. Without credentials, it adds
// all calls.
func (r *partsReader) addCalls(ctx context.Context, name string, keys ...string) error {
	organizations, err := r.organizations(ctx)
	if err != nil {
		return err
	}
	in := requestlog.QueryInput{Limit: logPage}
	if r.After != "" {
		in.Before = &requestlog.Entry{At: r.Ended, RequestID: r.After}
	}
	found, err := in.Find(ctx, r.Tx, organizations, keys...)
	if err != nil {
		return err
	}
	if found.HasMore {
		last := found.Data[len(found.Data)-1]
		r.more, r.Ended, r.After = true, last.Time, last.RequestID
	}
	return addLines(r, name, found.Data)
}
