// Package passkey owns the passkeys of accounts.
package passkey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/signin"
	"kartei/store/db"
)

// Passkey is a passkey in the list of its owner.
type Passkey struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	CreatedAt  clock.Micros `json:"createdAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt,omitzero"`
}

const (
	selectList     = `select id, name, created_at, last_used_at from passkeys where account_id = $1 order by id`
	insertPasskey  = `insert into passkeys (id, account_id, credential_id, credential, name, created_at, last_used_at) values ($1, $2, $3, $4, $5, $6, 0)`
	deletePasskey  = `delete from passkeys where id = $1 and account_id = $2`
	deletePasskeys = `delete from passkeys where account_id = $1`

	selectStored  = `select credential from passkeys where account_id = $1 order by id`
	updatePasskey = `update passkeys set credential = $3, last_used_at = $4 where credential_id = $2 and account_id = $1`
	countStored   = `select count(*) from passkeys where account_id = $1`

	// maxPasskeys is the maximum number of passkeys of an account. Nobody has more devices.
	maxPasskeys = 20
)

// Question is a request to the browser to make or to use a passkey.
type Question struct {
	Ticket string `json:"ticket"`
	// Options is the argument of the browser's parseRequestOptionsFromJSON or
	// parseCreationOptionsFromJSON.
	Options json.RawMessage `json:"options"`
}

// Secret implements op.Secret.
func (Question) Secret() {}

// CheckInstance returns a fault.NotFound if the address of the instance allows no passkeys.
func CheckInstance(c *op.Call) error {
	if signin.Service.In(c).Passkeys == nil {
		return &fault.Fault{Code: fault.NotFound, Detail: noPasskeys}
	}
	return nil
}

var noPasskeys = i18n.Text("The address of this instance allows no passkeys.")

// List returns the passkeys of an account, the oldest first.
func List(ctx context.Context, tx db.Tx, account string) ([]Passkey, error) {
	found, err := db.List(ctx, tx, func(row db.Row) (p Passkey, err error) {
		err = row.Scan(&p.ID, &p.Name, &p.CreatedAt, &p.LastUsedAt)
		return p, err
	}, selectList, account)
	return append([]Passkey{}, found...), err
}

// Count returns the number of passkeys of an account.
func Count(ctx context.Context, tx db.Tx, account string) (n int64, err error) {
	err = tx.QueryRow(ctx, countStored, account).Scan(&n)
	return n, err
}

// Remove removes a passkey of an account. It reports whether the passkey existed.
func Remove(ctx context.Context, tx db.Tx, account, passkey string) (bool, error) {
	n, err := tx.Exec(ctx, deletePasskey, passkey, account)
	return n > 0, err
}

// RemoveAll removes all passkeys of an account.
func RemoveAll(ctx context.Context, tx db.Tx, account string) error {
	_, err := tx.Exec(ctx, deletePasskeys, account)
	return err
}

// Ask returns a request to use a passkey. It stores nothing.
func Ask(c *op.Call) (q Question, err error) {
	if err := CheckInstance(c); err != nil {
		return q, err
	}
	options, kept, err := signin.Service.In(c).Passkeys.Ask()
	if err != nil {
		return q, err
	}
	q.Options = options
	q.Ticket, err = signin.Service.In(c).SealCeremony(c.Now, signin.Ceremony, kept)
	return q, err
}

// OwnerOf returns an account with its stored passkeys.
func OwnerOf(ctx context.Context, tx db.Tx, account, email string) (*signin.Owner, error) {
	o := &signin.Owner{Account: account, Email: email}
	var err error
	o.Stored, err = db.Values[string](ctx, tx, selectStored, account)
	return o, err
}

// Begin returns a request to make a new passkey. It fails if the account has 20 passkeys already.
func Begin(c *op.Call, kind signin.Kind, o *signin.Owner) (q Question, err error) {
	if err := CheckInstance(c); err != nil {
		return q, err
	}
	if len(o.Stored) >= maxPasskeys {
		return q, &fault.Fault{Code: fault.Forbidden, Detail: manyPasskeys}
	}
	options, kept, err := signin.Service.In(c).Passkeys.Register(o)
	if err != nil {
		return q, err
	}
	q.Options = options
	q.Ticket, err = signin.Service.In(c).SealCeremony(c.Now, kind, kept)
	return q, err
}

var manyPasskeys = i18n.Format("An account has at most %d passkeys. Remove one first.", maxPasskeys)

// New is the input that stores a new passkey: the ticket, a name, and the browser's response.
type New struct {
	Ticket   string          `json:"ticket"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

// Registration is a new passkey that is checked but not stored.
type Registration struct {
	Passkey
	account string
	made    signin.StoredPasskey
}

// Register checks the browser's response with a new passkey. If owner has no account yet, the
// account is the one from the ticket.
func Register(
	ctx context.Context, c *op.Call, kind signin.Kind, owner *signin.Owner, in New,
) (p Registration, err error) {
	if err := CheckInstance(c); err != nil {
		return p, err
	}
	var f input.Faults
	p.Passkey = Passkey{ID: id.New(id.Passkey), CreatedAt: c.Now}
	p.Name = f.Name("name", cmp.Or(input.TidyName(in.Name), "Passkey"))
	if err := f.Err(); err != nil {
		return p, err
	}
	kept, err := signin.Service.In(c).OpenCeremony(c.Now, kind, in.Ticket)
	if err != nil {
		return p, signin.Unknown(err)
	}
	if err = signin.UseCeremony(ctx, c.Tx, c.Now, kind, kept); err != nil {
		return p, signin.Unknown(err)
	}
	if owner.Account == "" {
		owner.Account = string(kept.UserID)
	}
	p.account = owner.Account
	if p.made, err = signin.Service.In(c).Passkeys.Registered(owner, kept, in.Response); err != nil {
		return p, notAPasskey()
	}
	return p, nil
}

// Store stores the passkey. It fails if another account has the passkey already, with the same
// error as for an invalid one.
func (p *Registration) Store(ctx context.Context, tx db.Tx) error {
	_, err := tx.Exec(ctx, insertPasskey, p.ID, p.account, p.made.ID, p.made.Stored, p.Name, p.CreatedAt)
	if errors.Is(err, db.ErrDuplicate) {
		return notAPasskey()
	}
	return err
}

func notAPasskey() error {
	return fault.Invalid(fault.Field{Name: "response", Code: fault.InvalidFormat, Text: wrongPasskey})
}
