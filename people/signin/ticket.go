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

// Kind is what a ticket is for.
type Kind string

// The kinds of ticket.
const (
	// Second follows a correct password: a second factor is missing.
	Second Kind = "second"
	// Choose follows all factors: one of several persons is missing.
	Choose Kind = "choose"
	// Ceremony is a passkey that is asked for. Registration is one that is made for an
	// account, and Invited one for the account that an invitation makes.
	Ceremony     Kind = "ceremony"
	Registration Kind = "registration"
	Invited      Kind = "invited"
	// SSO is somebody on the way to the OpenID provider and back, to sign in. The others
	// accept an invitation, link an account, and confirm a sign-in.
	SSO        Kind = "sso"
	SSOInvited Kind = "ssoInvited"
	SSOLink    Kind = "ssoLink"
	SSOFresh   Kind = "ssoFresh"
	// Consent is an application that asks to act for a person.
	Consent Kind = "consent"
	// Generator is a generator of codes that is not confirmed yet.
	Generator Kind = "generator"
	// Reset is a mailed link that sets a password, Factors one that lifts second
	// factors, and Address one that confirms another address.
	Reset   Kind = "reset"
	Factors Kind = "factors"
	Address Kind = "address"
)

// The lifetimes of a page's tickets, and of tickets that are mailed.
const (
	PageLifetime  = 10 * time.Minute
	ResetLifetime = 30 * time.Minute
	EmailLifetime = 24 * time.Hour
)

const (
	insertTicket = `insert into sign_in_tickets (token_hash, kind, account_id, data, expires_at) values ($1, $2, $3, $4, $5)`
	selectTicket = `select coalesce(account_id, ''), data from sign_in_tickets where token_hash = $1 and kind = $2 and expires_at > $3`
	deleteTicket = `delete from sign_in_tickets where token_hash = $1`
	// Tickets are few, and each one that is made removes those that have expired.
	forgetTickets      = `delete from sign_in_tickets where token_hash in (select token_hash from sign_in_tickets where expires_at < $1 order by expires_at limit 100)`
	deleteTicketsOf    = `delete from sign_in_tickets where account_id = $1 and kind = $2`
	deleteAllTicketsOf = `delete from sign_in_tickets where account_id = $1`
)

// Issue stores a ticket with data, and returns its token. A ticket without an account
// serves nobody, or whom its data name.
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

// Read returns the account of a ticket, and decodes its data. An unknown or expired
// ticket is db.ErrNoRows.
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

// Take is Read, and ends the ticket. Of two calls at the same time one takes it.
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

// Missing reports whether an error says that there is no such ticket.
func Missing(err error) bool { return errors.Is(err, db.ErrNoRows) }

// EndTickets ends the tickets of a kind, or all tickets of an account.
func EndTickets(ctx context.Context, tx db.Tx, account string, kind Kind) (err error) {
	if kind == "" {
		_, err = tx.Exec(ctx, deleteAllTicketsOf, account)
	} else {
		_, err = tx.Exec(ctx, deleteTicketsOf, account, string(kind))
	}
	return err
}

// ceremony is the ticket of a passkey: what the browser was asked for. No row is stored
// for it, because the sign-in page asks for one whenever it is opened. It travels
// sealed, and a row is made when it is used, so that it serves once.
type ceremony struct {
	Kept  *CeremonyData `json:"kept"`
	Until clock.Micros  `json:"until"`
}

// SealCeremony returns the ticket of a ceremony that begins.
func (d *Desk) SealCeremony(now clock.Micros, kind Kind, kept *CeremonyData) (string, error) {
	text, err := json.Marshal(ceremony{kept, now.Add(PageLifetime)})
	return d.Secrets.Seal(text, string(kind)), err
}

// OpenCeremony returns what the browser was asked for. A ticket that is forged, that
// has expired or that is of another kind is db.ErrNoRows.
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

// UseCeremony ends a ceremony. Its challenge is what serves once: the text of a
// ticket could be written in another way. Of two calls at the same time one uses it.
func UseCeremony(ctx context.Context, tx db.Tx, now clock.Micros, kind Kind, kept *CeremonyData) error {
	return useOnce(ctx, tx, now, kind, kept.Challenge)
}

// useOnce notes a text that serves once, for as long as it could serve.
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
