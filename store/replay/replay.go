// Package replay owns stored answers for an Idempotency-Key: sealed, kept for a day, erased with their record.
package replay

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
)

// Lifetime is the retention of an answer (open points, 'Preconditions and
// idempotency').
const Lifetime = 24 * time.Hour

// SecretLifetime is how long the session that got a secret sees it again. It covers a lost
// answer, and somebody who goes back in the browser.
const SecretLifetime = 10 * time.Minute

// Purpose is the purpose of the derived keys that seal answers.
const Purpose = "answers"

// Key identifies a call. Keys of different principals and organizations are
// independent.
type Key struct {
	Organization int64
	Principal    string
	// Name is the client's Idempotency-Key.
	Name string
}

// String returns an identifier of the key within the instance.
func (k Key) String() string { return fmt.Sprintf("%d|%s|%s", k.Organization, k.Principal, k.Name) }

// Answer is the response to a call.
type Answer struct {
	// Fingerprint is equal for calls with equal content.
	Fingerprint string
	// Record is the id of the record that the answer contains or names.
	Record string
	// Erased is true if this record was deleted since; the fields below are
	// empty then.
	Erased bool
	Status int
	// ETag is without quotes.
	ETag, Location string
	Body           []byte
}

const (
	// store replaces an expired answer that was not removed yet. It divides by
	// zero if there is a younger one.
	store = `insert into idempotency (organization, principal, key, created_at, fingerprint, record, erased, status, etag, location, body)
		values ($1, $2, $3, $4, $5, $6, false, $7, $8, $9, $10)
		on conflict (organization, principal, key) do update set
		created_at = excluded.created_at / (case when idempotency.created_at <= $11 then 1 else 0 end),
		fingerprint = excluded.fingerprint, record = excluded.record, erased = false, status = excluded.status,
		etag = excluded.etag, location = excluded.location, body = excluded.body`
	find = `select fingerprint, record, erased, status, etag, location, body from idempotency
		where organization = $1 and principal = $2 and key = $3 and created_at > $4`
	erase = `update idempotency set erased = true, etag = '', location = '', body = ''
		where organization = $1 and record = $2 and erased = false`
	name   = `update idempotency set record = $3 where organization = $1 and record = $2`
	page   = `select principal, key, body from idempotency where organization = $1 and (principal, key) > ($2, $3) order by principal, key limit $4`
	reseal = `update idempotency set body = $5 where organization = $1 and principal = $2 and key = $3 and body = $4`
)

const (
	restrict    = `update idempotency set holder = $4 where organization = $1 and principal = $2 and key = $3`
	restriction = `select holder, created_at from idempotency where organization = $1 and principal = $2 and key = $3`
	places      = `select o.number from organizations h join organizations o on o.number = h.number or o.number = h.sandbox_of or o.sandbox_of = h.number where h.number = $1`
	blank       = `update idempotency set erased = true, etag = '', location = '', body = ''
		where organization = $1 and record = $2 and erased = false and holder <> ''`
	blankable = `from idempotency where organization = $1 and holder <> '' and erased = false and created_at < $2 order by created_at limit `
	blankDue  = `update idempotency set erased = true, etag = '', location = '', body = ''
		where organization = $1 and (principal, key) in (select principal, key ` + blankable + `$3)`
)

// Secrets is the retention of answers with secrets: their rows stay, so that a form that is
// sent again makes nothing twice.
var Secrets = struct{ Due, Erase string }{"select 1 " + blankable + "1", blankDue}

// Restrict lets only a session see the answer again that Store just stored.
func Restrict(tx db.Tx, k Key, holder string) {
	tx.Queue(restrict, k.Organization, k.Principal, k.Name, holder)
}

// Restriction returns who sees an answer with a secret again, and since when it is stored.
func Restriction(ctx context.Context, tx db.Tx, k Key) (holder string, stored clock.Micros, err error) {
	err = tx.QueryRow(ctx, restriction, k.Organization, k.Principal, k.Name).Scan(&holder, &stored)
	return holder, stored, err
}

// EraseSecrets erases the answers with secrets about a record of an organization, in which the
// record works. They may belong to its sandbox, or to the live organization.
func EraseSecrets(ctx context.Context, tx db.Tx, organization int64, record string) error {
	numbers, err := db.Values[int64](ctx, tx, places, organization)
	for _, number := range numbers {
		tx.Queue(blank, number, record)
	}
	return err
}

// sealedMark begins an encrypted body; JSON never begins so. Rows of a release
// that sealed only secrets may lack it for a day.
const sealedMark = "sealed:"

// Vault seals answers under the master key, each bound to its row.
type Vault struct{ masterkey.Vault }

// Store stores an answer in the transaction of the change, after Find found
// none. It fails the commit if there is one all the same.
func (v Vault) Store(tx db.Tx, k Key, now clock.Micros, a *Answer) {
	tx.Queue(store, k.Organization, k.Principal, k.Name, now, a.Fingerprint, a.Record, a.Status, a.ETag, a.Location,
		sealedMark+v.Seal(a.Body, k.String()), now.Add(-Lifetime))
}

// Find returns the answer to an earlier call with that key, or db.ErrNoRows. A
// speculative transaction assumes that there is none, and Store checks that.
func (v Vault) Find(ctx context.Context, tx db.Tx, k Key, now clock.Micros) (a Answer, err error) {
	var body string
	err = tx.AssumeNone(ctx, find, k.Organization, k.Principal, k.Name, now.Add(-Lifetime)).
		Scan(&a.Fingerprint, &a.Record, &a.Erased, &a.Status, &a.ETag, &a.Location, &body)
	if err != nil || a.Erased {
		return a, err
	}
	a.Body, _, err = v.open(body, k)
	return a, err
}

// open returns the plain body. current reports whether it is stored in the form
// of this release and under the current master key.
func (v Vault) open(stored string, k Key) (body []byte, current bool, err error) {
	sealed, is := strings.CutPrefix(stored, sealedMark)
	if !is {
		return []byte(stored), false, nil
	}
	return v.Open(sealed, k.String())
}

// Erase erases all answers that contain or name a record, in the transaction of
// its deletion. A tombstone remains, so that the calls do not run again. Erase
// must follow the statement that deletes the record, so that it sees an answer
// that was stored while that statement waited.
func Erase(tx db.Tx, organization int64, record string) { tx.Queue(erase, organization, record) }

// Name makes the answers that name one record follow the fate of another one
// that was made from it.
func Name(tx db.Tx, organization int64, record, made string) {
	tx.Queue(name, organization, record, made)
}

// resealPiece is the number of answers that are read at once.
const resealPiece = 500

// Reseal seals all answers under the current master key, and returns the number
// of those it changed. An answer that no key opens stays until it expires.
// Reseal may be interrupted at any time.
func (v Vault) Reseal(ctx context.Context, d db.DB) (changed int, err error) {
	var organizations []int64
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		organizations, err = db.Organizations(ctx, tx)
		return err
	})
	for _, organization := range organizations {
		last := Key{Organization: organization}
		for more := true; more && err == nil; {
			var n int
			n, last, more, err = v.resealPage(ctx, d, last)
			changed += n
		}
	}
	return changed, err
}

// answerRow is a row that may need resealing.
type answerRow struct {
	Key
	body string
}

// resealPage seals the page of answers behind a key.
func (v Vault) resealPage(ctx context.Context, d db.DB, after Key) (changed int, last Key, more bool, err error) {
	rows, err := next(ctx, d, after)
	if err != nil || len(rows) == 0 {
		return 0, after, false, err
	}
	for _, row := range rows {
		body, current, err := v.open(row.body, row.Key)
		if row.body == "" || current || err != nil {
			continue
		}
		err = d.WriteIn(ctx, row.Organization, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, reseal, row.Organization, row.Principal, row.Name, row.body,
				sealedMark+v.Seal(body, row.String()))
			return err
		})
		if err != nil {
			return changed, after, false, err
		}
		changed++
	}
	return changed, rows[len(rows)-1].Key, len(rows) == resealPiece, nil
}

// next reads the page of answers behind a key.
func next(ctx context.Context, d db.DB, after Key) (list []answerRow, err error) {
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		list, err = db.List(ctx, tx, func(row db.Row) (answerRow, error) {
			s := answerRow{Key: Key{Organization: after.Organization}}
			err := row.Scan(&s.Principal, &s.Name, &s.body)
			return s, err
		}, page, after.Organization, after.Principal, after.Name, resealPiece)
		return err
	})
	return list, err
}
