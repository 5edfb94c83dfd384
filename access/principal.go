package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// PrincipalInfo is a user or a service account as administration shows it.
type PrincipalInfo struct {
	ID   string        `json:"id"`
	Type PrincipalType `json:"type"`
	// OrganizationID is always that of a live organization; its sandbox has
	// the same principals.
	OrganizationID string `json:"organizationId"`
	Name           string `json:"name"`
	// Email is empty for service accounts.
	Email string `json:"email,omitempty"`
	// Language is that of what is sent to a user: de or en.
	Language  string       `json:"language,omitempty"`
	Role      Role         `json:"role"`
	Rights    Rights       `json:"rights"`
	Disabled  bool         `json:"disabled"`
	CreatedAt clock.Micros `json:"createdAt"`

	organization int64
}

// The languages in which a user may be written to.
const (
	German  = "de"
	English = "en"
)

// NewPrincipal is what CreateUser and CreateServiceAccount take.
type NewPrincipal struct {
	Organization string `json:"organizationId"`
	Name         string `json:"name"`
	// Email is required for users, unique in the instance whatever its case,
	// and refused for service accounts.
	Email string `json:"email,omitempty"`
	// Language is de where it is empty; refused for service accounts.
	Language string `json:"language,omitempty"`
	// Role is member where it is empty.
	Role   Role   `json:"role,omitempty"`
	Rights Rights `json:"rights,omitempty"`
}

// PrincipalChange is what SetUser and SetServiceAccount take; nil leaves a
// value as it is. Rights are changed for the families named; to lift a
// restriction is to set write.
type PrincipalChange struct {
	ID       string  `json:"id"`
	Name     *string `json:"name,omitempty"`
	Email    *string `json:"email,omitempty"`
	Language *string `json:"language,omitempty"`
	Role     *Role   `json:"role,omitempty"`
	Rights   Rights  `json:"rights,omitempty"`
	Disabled *bool   `json:"disabled,omitempty"`
}

// CreateUser makes a user.
func (d *Directory) CreateUser(ctx context.Context, in NewPrincipal) (PrincipalInfo, error) {
	return d.createPrincipal(ctx, UserPrincipal, in)
}

// CreateServiceAccount makes a service account: a principal that no person
// signs in as, for what runs on its own.
func (d *Directory) CreateServiceAccount(ctx context.Context, in NewPrincipal) (PrincipalInfo, error) {
	return d.createPrincipal(ctx, ServiceAccountPrincipal, in)
}

// ListUsers lists users.
func (d *Directory) ListUsers(ctx context.Context, p Page) (List[PrincipalInfo], error) {
	return d.listPrincipals(ctx, UserPrincipal, p)
}

// ListServiceAccounts lists service accounts.
func (d *Directory) ListServiceAccounts(ctx context.Context, p Page) (List[PrincipalInfo], error) {
	return d.listPrincipals(ctx, ServiceAccountPrincipal, p)
}

// GetPrincipal returns a user or a service account.
func (d *Directory) GetPrincipal(ctx context.Context, in ByID) (PrincipalInfo, error) {
	var p PrincipalInfo
	err := d.db.Read(ctx, func(tx db.Tx) (err error) {
		p, err = principalByID(ctx, tx, "", in.ID)
		return err
	})
	return p, err
}

// SetUser changes a user. Who is disabled, or loses a right, loses it in all
// keys at once; the keys stay and work again when the right comes back.
func (d *Directory) SetUser(ctx context.Context, in PrincipalChange) (PrincipalInfo, error) {
	return d.setPrincipal(ctx, UserPrincipal, in)
}

// SetServiceAccount changes a service account, as SetUser does a user.
func (d *Directory) SetServiceAccount(ctx context.Context, in PrincipalChange) (PrincipalInfo, error) {
	return d.setPrincipal(ctx, ServiceAccountPrincipal, in)
}

func (d *Directory) createPrincipal(ctx context.Context, kind PrincipalType, in NewPrincipal) (PrincipalInfo, error) {
	if in.Role == "" {
		in.Role = Member
	}
	p := PrincipalInfo{ID: id.New(kind.prefix()), Type: kind, Language: German, Rights: Rights{}, CreatedAt: d.now()}
	err := d.act(ctx, func(tx db.Tx) error {
		var f faults
		o, err := organizationField(ctx, tx, &f, in.Organization)
		if err != nil {
			return err
		}
		change := PrincipalChange{Name: &in.Name, Role: &in.Role, Rights: in.Rights, Email: given(in.Email), Language: given(in.Language)}
		if kind == UserPrincipal {
			change.Email = &in.Email
		}
		p.set(&f, change)
		if err := f.err(); err != nil {
			return err
		}
		p.organization, p.OrganizationID = o.live, o.ID
		if o.SandboxOf != "" {
			p.OrganizationID = o.SandboxOf
		}
		_, err = tx.Exec(ctx, insertPrincipal, p.ID, string(kind), p.organization, p.Name,
			orNull(p.Email), orNull(foldEmail(p.Email)), string(p.Role), mustJSON(p.Rights), false, int64(p.CreatedAt), p.Language)
		return emailTaken(err)
	})
	if err != nil {
		return PrincipalInfo{}, err
	}
	return p, nil
}

func (d *Directory) listPrincipals(ctx context.Context, kind PrincipalType, p Page) (List[PrincipalInfo], error) {
	return list(ctx, d, p, scanPrincipal, selectPrincipals, string(kind), p.After, p.Organization)
}

func (d *Directory) setPrincipal(ctx context.Context, kind PrincipalType, in PrincipalChange) (PrincipalInfo, error) {
	var p PrincipalInfo
	err := d.act(ctx, func(tx db.Tx) (err error) {
		var f faults
		if p, err = principalByID(ctx, tx, kind, in.ID); err != nil {
			return err
		}
		p.set(&f, in)
		if err := f.err(); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, updatePrincipal, p.ID, p.Name, orNull(p.Email), orNull(foldEmail(p.Email)),
			string(p.Role), mustJSON(p.Rights), p.Disabled, p.Language)
		return emailTaken(err)
	})
	if err != nil {
		return PrincipalInfo{}, err
	}
	return p, nil
}

func (p *PrincipalInfo) set(f *faults, c PrincipalChange) {
	if c.Name != nil {
		p.Name = f.name("name", *c.Name)
	}
	switch {
	case c.Email == nil:
	case p.Type == UserPrincipal:
		p.Email = f.email("email", *c.Email)
	default:
		f.say("email", fault.ForbiddenCombination, "Ein Dienstkonto hat keine E-Mail-Adresse.", "A service account has no email address.")
	}
	switch {
	case c.Language == nil:
	case p.Type == UserPrincipal:
		oneOf(f, "language", *c.Language, German, English)
		p.Language = *c.Language
	default:
		f.say("language", fault.ForbiddenCombination, "Einem Dienstkonto wird nichts geschickt.", "Nothing is sent to a service account.")
	}
	if c.Role != nil {
		oneOf(f, "role", *c.Role, Admin, Member, Viewer)
		p.Role = *c.Role
	}
	f.rights("rights", c.Rights)
	for family, right := range c.Rights {
		p.Rights[family] = right
	}
	if c.Disabled != nil {
		p.Disabled = *c.Disabled
	}
}

func (t PrincipalType) prefix() string {
	if t == UserPrincipal {
		return id.User
	}
	return id.ServiceAccount
}

func emailTaken(err error) error {
	if errors.Is(err, db.ErrDuplicate) {
		return fault.Invalid(fault.Field{Name: "email", Code: fault.Duplicate})
	}
	return err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// principalByID reads a principal; with an empty kind, of either kind.
func principalByID(ctx context.Context, tx db.Tx, kind PrincipalType, principalID string) (PrincipalInfo, error) {
	missing := unknown("Einen Benutzer oder ein Dienstkonto", "user or service account")
	switch kind {
	case UserPrincipal:
		missing = unknown("Einen Benutzer", "user")
	case ServiceAccountPrincipal:
		missing = unknown("Ein Dienstkonto", "service account")
	}
	isUser, isService := id.Valid(id.User, principalID), id.Valid(id.ServiceAccount, principalID)
	if !isUser && !isService || isUser && kind == ServiceAccountPrincipal || isService && kind == UserPrincipal {
		return PrincipalInfo{}, missing
	}
	p, err := scanPrincipal(tx.QueryRow(ctx, selectPrincipal, principalID))
	if errors.Is(err, db.ErrNoRows) {
		return PrincipalInfo{}, missing
	}
	return p, err
}

func scanPrincipal(row db.Row) (PrincipalInfo, error) {
	var p PrincipalInfo
	var rights string
	err := row.Scan(&p.ID, &p.Type, &p.organization, &p.OrganizationID, &p.Name, &p.Email, &p.Role, &rights, &p.Disabled, &p.CreatedAt, &p.Language)
	if err != nil {
		return p, err
	}
	if p.Type == ServiceAccountPrincipal {
		p.Language = ""
	}
	p.Rights = Rights{}
	if err := json.Unmarshal([]byte(rights), &p.Rights); err != nil {
		return p, fmt.Errorf("access: principal %s: rights: %w", p.ID, err)
	}
	return p, nil
}

// PrincipalExists reports whether id is a user or service account of an
// organization; a sandbox has those of the organization that it stands beside.
// Disabled ones exist too: they stay owners of what they own.
func PrincipalExists(ctx context.Context, tx db.Tx, organization int64, id string) (bool, error) {
	var one int64
	err := tx.QueryRow(ctx, selectPrincipalExists, organization, id).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// PrincipalIDs returns all users and service accounts of an organization, as
// PrincipalExists has them.
func PrincipalIDs(ctx context.Context, tx db.Tx, organization int64) (ids []string, err error) {
	return db.Values[string](ctx, tx, selectPrincipalIDs, organization)
}
