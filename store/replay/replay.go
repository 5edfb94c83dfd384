// Package replay owns the stored responses for an Idempotency-Key, encrypted for a day and erased with their record.
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

// Lifetime is the time for which an answer is stored (open points, 'Preconditions and
// idempotency').
const Lifetime = 24 * time.Hour

// SecretLifetime is the time for which a session can get an answer with a secret again. It is
// enough for a lost response and for the back button of a browser.
const SecretLifetime = 10 * time.Minute

// Purpose is the purpose from which the keys that encrypt answers are derived.
const Purpose = "answers"

// Key identifies a call. The same name of another principal or organization is another key.
type Key struct {
	Organization int64
	Principal    string
	// Name is the client's Idempotency-Key.
	Name string
}

// String returns a text that is unique for the key within the instance.
func (k Key) String() string { return fmt.Sprintf("%d|%s|%s", k.Organization, k.Principal, k.Name) }

// Answer is a stored response to a call.
type Answer struct {
	// Fingerprint identifies the content of the call. It is equal for calls with equal content.
	Fingerprint string
	// Record is the id of the record in the response, or of the record to which the response
	// refers.
	Record string
	// Erased says that this record was deleted since. ETag, Location and Body are then empty.
	Erased bool
	Status int
	// ETag has no quotes.
	ETag, Location string
	Body           []byte
}

const (
	// store replaces an answer that has expired but was not yet removed. If there is a younger
	// answer, it fails with a division by zero.
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

// Secrets are the statements of the retention rule for answers with secrets. Due finds an expired
// answer. Erase removes the content of expired answers and keeps their rows, so that a repeated
// form does not create an object twice.
var Secrets = struct{ Due, Erase string }{"select 1 " + blankable + "1", blankDue}

// Restrict restricts the answer that Store has just stored. Only the session holder may get it
// again.
func Restrict(tx db.Tx, k Key, holder string) {
	tx.Queue(restrict, k.Organization, k.Principal, k.Name, holder)
}

// Restriction returns the session that may get an answer with a secret again, and the time at which
// the answer was stored. It returns db.ErrNoRows if there is no answer.
func Restriction(ctx context.Context, tx db.Tx, k Key) (holder string, stored clock.Micros, err error) {
	err = tx.QueryRow(ctx, restriction, k.Organization, k.Principal, k.Name).Scan(&holder, &stored)
	return holder, stored, err
}

// EraseSecrets erases the answers with secrets about a record. organization is the organization in
// which the record is used. The answers may belong to this organization, to its sandbox, or to the
// organization of the sandbox.
func EraseSecrets(ctx context.Context, tx db.Tx, organization int64, record string) error {
	numbers, err := db.Values[int64](ctx, tx, places, organization)
	for _, number := range numbers {
		tx.Queue(blank, number, record)
	}
	return err
}

// sealedMark is the prefix of an encrypted body. JSON does not begin so. Rows of an earlier
// release, which encrypted only secrets, may lack it for a day.
const sealedMark = "sealed:"

// Vault encrypts answers under the master key. Each encrypted answer is bound to its row.
type Vault struct{ masterkey.Vault }

// Store stores an answer in the transaction of the change. Find must have returned db.ErrNoRows
// before. If there is an answer nevertheless, the commit fails.
func (v Vault) Store(tx db.Tx, k Key, now clock.Micros, a *Answer) {
	tx.Queue(store, k.Organization, k.Principal, k.Name, now, a.Fingerprint, a.Record, a.Status, a.ETag, a.Location,
		sealedMark+v.Seal(a.Body, k.String()), now.Add(-Lifetime))
}

// Find returns the answer to an earlier call with this key. It returns db.ErrNoRows if there is
// none. A speculative transaction assumes that there is none, and Store checks this assumption.
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

// open returns the decrypted body. current says that it is stored in the form of this release and
// under the current master key.
func (v Vault) open(stored string, k Key) (body []byte, current bool, err error) {
	sealed, is := strings.CutPrefix(stored, sealedMark)
	if !is {
		return []byte(stored), false, nil
	}
	return v.Open(sealed, k.String())
}

// Erase erases all answers with a record, in the transaction that deletes the record. Their rows
// remain, so that the calls do not run again. Erase must follow the statement that deletes the
// record. It then also erases an answer that was stored while this statement waited.
func Erase(tx db.Tx, organization int64, record string) { tx.Queue(erase, organization, record) }

// Name replaces the id record by the id made in answers. The record made was created from the other
// record. The answers are then erased together with made.
func Name(tx db.Tx, organization int64, record, made string) {
	tx.Queue(name, organization, record, made)
}

// resealPiece is the maximum number of answers that are read at once.
const resealPiece = 500

// Reseal encrypts all answers under the current master key, and returns the number of changed
// answers. It leaves an answer that no key decrypts, until the answer expires. Reseal may be
// interrupted at any time.
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

// answerRow is a row that may need a new encryption.
type answerRow struct {
	Key
	body string
}

// resealPage encrypts the answers of one page, after a key. It returns the last key of the page,
// and whether more answers may follow.
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

// next returns one page of answers, after a key.
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
