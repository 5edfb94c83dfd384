package signin

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Kind says what a ticket is for.
type Kind string

// The kinds of tickets.
const (
	// Second follows the correct password of an account that needs a second factor.
	Second Kind = "second"
	// Choose follows all factors of an account that belongs to several persons. One must be chosen.
	Choose Kind = "choose"
	// Ceremony is for a sign-in with a passkey. Registration is for a new passkey of an account.
	// Invited is for a new passkey of an account that an invitation creates.
	Ceremony     Kind = "ceremony"
	Registration Kind = "registration"
	Invited      Kind = "invited"
	// These are for a person who is redirected to the OpenID provider and back. SSO is for a
	// sign-in, SSOInvited for accepting an invitation, SSOLink for linking an account, and SSOFresh
	// for confirming a sign-in.
	SSO        Kind = "sso"
	SSOInvited Kind = "ssoInvited"
	SSOLink    Kind = "ssoLink"
	SSOFresh   Kind = "ssoFresh"
	// Consent is for an application that asks a person for access.
	Consent Kind = "consent"
	// Generator is for a TOTP secret that is not confirmed yet.
	Generator Kind = "generator"
	// Reset is for a mailed link that sets a password. Factors is for a mailed link that removes
	// second factors. Address is for a mailed link that confirms another address.
	Reset   Kind = "reset"
	Factors Kind = "factors"
	Address Kind = "address"
)

// PageLifetime is the lifetime of a ticket on a page. ResetLifetime and EmailLifetime are the
// lifetimes of tickets in mails.
const (
	PageLifetime  = 10 * time.Minute
	ResetLifetime = 30 * time.Minute
	EmailLifetime = 24 * time.Hour
)

const (
	insertTicket = `insert into sign_in_tickets (token_hash, kind, account_id, data, expires_at) values ($1, $2, $3, $4, $5)`
	selectTicket = `select coalesce(account_id, ''), data from sign_in_tickets where token_hash = $1 and kind = $2 and expires_at > $3`
	deleteTicket = `delete from sign_in_tickets where token_hash = $1`
	// forgetTickets deletes expired tickets. It runs whenever a ticket is issued, which is rare.
	forgetTickets      = `delete from sign_in_tickets where token_hash in (select token_hash from sign_in_tickets where expires_at < $1 order by expires_at limit 100)`
	deleteTicketsOf    = `delete from sign_in_tickets where account_id = $1 and kind = $2`
	deleteAllTicketsOf = `delete from sign_in_tickets where account_id = $1`
)

// Issue stores a ticket with data, and returns its token. account may be empty if no account exists
// yet, or if the data identify it.
func Issue(
	ctx context.Context, tx db.Tx, now clock.Micros, lifetime time.Duration, kind Kind, account string, data any,
) (string, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return "", err
	}
	var of *string
	if account != "" {
		of = &account
	}
	token := access.NewToken()
	if _, err = tx.Exec(ctx, forgetTickets, now); err != nil {
		return token, err
	}
	_, err = tx.Exec(ctx, insertTicket, access.HashToken(token), string(kind), of, string(text), now.Add(lifetime))
	return token, err
}

// Read returns the account of a ticket, and decodes its data into data. It fails with db.ErrNoRows
// if the ticket is unknown or has expired.
func Read(
	ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, token string, data any,
) (account string, err error) {
	var text string
	err = tx.QueryRow(ctx, selectTicket, access.HashToken(token), string(kind), now).Scan(&account, &text)
	if err != nil {
		return account, err
	}
	if data != nil {
		err = json.Unmarshal([]byte(text), data)
	}
	return account, err
}

// Take does the same as Read and deletes the ticket. Only one of two concurrent calls succeeds.
func Take(
	ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, token string, data any,
) (account string, err error) {
	account, err = Read(ctx, tx, now, kind, token, data)
	if err != nil {
		return "", err
	}
	n, err := tx.Exec(ctx, deleteTicket, access.HashToken(token))
	if err != nil {
		return account, err
	}
	if n == 0 {
		return account, db.ErrNoRows
	}
	return account, nil
}

// Missing reports whether err means that the ticket does not exist.
func Missing(err error) bool { return errors.Is(err, db.ErrNoRows) }

// EndTickets deletes the tickets of an account of one kind. An empty kind means all kinds.
func EndTickets(ctx context.Context, tx db.Tx, account string, kind Kind) (err error) {
	if kind == "" {
		_, err = tx.Exec(ctx, deleteAllTicketsOf, account)
	} else {
		_, err = tx.Exec(ctx, deleteTicketsOf, account, string(kind))
	}
	return err
}

// ceremony is the content of a passkey ticket. It is not stored when it is issued, because the
// sign-in page asks for one whenever it is opened. It is sent to the browser encrypted. A row is
// stored when it is used, so that it can be used only once.
type ceremony struct {
	Kept  *CeremonyData `json:"kept"`
	Until clock.Micros  `json:"until"`
}

// SealCeremony returns the ticket of a new ceremony, encrypted.
func (d *Desk) SealCeremony(now clock.Micros, kind Kind, kept *CeremonyData) (string, error) {
	text, err := json.Marshal(ceremony{kept, now.Add(PageLifetime)})
	return d.Secrets.Seal(text, string(kind)), err
}

// OpenCeremony decrypts a ticket and returns its data. It fails with db.ErrNoRows for a ticket that
// is forged, has expired or has another kind.
func (d *Desk) OpenCeremony(now clock.Micros, kind Kind, token string) (*CeremonyData, error) {
	var c ceremony
	text, _, err := d.Secrets.Open(token, string(kind))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Kept == nil || now >= c.Until {
		return nil, db.ErrNoRows
	}
	return c.Kept, nil
}

const insertUsed = insertTicket + ` on conflict (token_hash) do nothing`

// UseCeremony marks the challenge of a ceremony as used. It fails with db.ErrNoRows if the
// challenge was already used. It does not mark the ticket, because one ticket could be encoded in
// several ways.
func UseCeremony(ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, kept *CeremonyData) error {
	return useOnce(ctx, tx, now, kind, kept.Challenge)
}

// useOnce stores the hash of a text that can be used once, until its ticket expires. It fails with
// db.ErrNoRows if the hash is already stored.
func useOnce(ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, text string) error {
	if _, err := tx.Exec(ctx, forgetTickets, now); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, insertUsed, access.HashToken(text), string(kind), nil, "{}", now.Add(PageLifetime))
	if err != nil {
		return err
	}
	if n == 0 {
		return db.ErrNoRows
	}
	return nil
}
