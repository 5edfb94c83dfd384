// Package notify owns bell entries and their emails: recipients, language, and delivery without loss.
package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/limit"
	"kartei/store/db"
	"kartei/work/job"
)

// Kind says what a notice is about.
type Kind string

// Form is how the notices of a kind are written. Whoever posts them gives it.
// The texts of the bell may hold names that people gave, those of emails do not.
type Form struct {
	// Words makes a notice's words from its facts, whenever it is read or sent: the
	// names in them are those of that moment, which it asks the transaction for.
	Words func(ctx context.Context, tx db.Tx, facts []byte) (Words, error)
	// Mail makes the words of an email from the facts and the instance's address
	// alone, so that no names get into it.
	Mail func(base string, facts []byte) (Words, error)
	// Farewell says below an email why it was sent, and to whom.
	Farewell fault.Text
}

// Words are what a notice says.
type Words struct{ Title, Text fault.Text }

// Age is how long a notice is kept.
const Age = 90 * 24 * time.Hour

const (
	insertNotice = `insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at)
		values ($1, $2, $3, $4, $5, $6, 0, true, 0, 0)`
	selectNotices = `select n.principal, n.id, n.created_at, n.kind, n.data, n.read_at, n.mailed_at
		from notices n where n.organization = $1 and ($2 = '' or n.principal = $2) and ($3 = '' or n.id < $3)
		order by n.id desc limit $4`
	markAllRead = `update notices set read_at = $3 where organization = $1 and principal = $2 and read_at = 0`
	markRead    = markAllRead + ` and id = $4`
	countNotice = `select count(*) from notices where organization = $1 and principal = $2 and id = $3`
	// The emails of a kind to a user.
	of      = ` where organization = $1 and principal = $2 and kind = $3`
	mailing = of + ` and mailing`
	// selectMailing counts the notices of the next email, and those of them that no
	// email was begun for yet.
	selectMailing = `select coalesce(min(id), ''), count(*), count(case when mail_at = 0 then 1 end) from notices` + mailing
	countFresh    = `select count(*) from notices` + mailing + ` and mail_at = 0`
	// selectLastMails returns when the last emails were begun, the last one first.
	selectLastMails = `select distinct mail_at from notices` + of + ` and mail_at > 0 and mail_at > $4 order by mail_at desc limit $5`
	beginMail       = `update notices set mail_at = $4` + mailing + ` and mail_at = 0`
	selectFacts     = `select data from notices` + mailing + ` order by id limit $4`
	// endMail ends the email that was begun: sent at $4, or never if that is zero.
	endMail = `update notices set mailing = false, mailed_at = $4, mail_at = case when cast($4 as bigint) > 0 then $4 else mail_at end` + mailing + ` and mail_at > 0`
)

// Options are what a Center is made of.
type Options struct {
	DB    db.DB
	Clock clock.Clock
	// Logger is told of every email by the notice's id, never by its address.
	Logger *slog.Logger
	// Sender takes the emails, From is their sender's address.
	Sender Sender
	From   string
	// BaseURL is where the instance is reached. It stands in emails.
	BaseURL string
	// Vault seals messages; needed by Send alone.
	Vault masterkey.Vault
	// Host is the right-hand side of the emails' Message-ID.
	Host string
	// PauseExhausted pauses a key whose day quota of deletes is used up.
	PauseExhausted bool
	// Forms are the kinds of notice beside those of limits.
	Forms map[Kind]Form
}

// Center posts notices and sends their emails.
type Center struct {
	Options
	forms map[Kind]Form
}

// New returns a Center. A job.Runner sends its emails, by its Handlers.
func New(o Options) *Center {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Center{o, map[Kind]Form{}}
	maps.Copy(c.forms, limitForms)
	maps.Copy(c.forms, o.Forms)
	return c
}

// Alert posts what a limit has to say, inside the transaction that counts it:
// to the user whose key it is, and to the organization's admins.
func (c *Center) Alert(ctx context.Context, tx db.Tx, a limit.Alert) error {
	kind := QuotaLow
	if a.Exhausted {
		if !c.PauseExhausted {
			return nil
		}
		kind = KeyPaused
		if err := access.PauseKeyIn(ctx, tx, a.Key); err != nil {
			return err
		}
	}
	live, users, err := access.Audience(ctx, tx, a.Organization, a.Principal)
	if err != nil {
		return err
	}
	label, err := access.KeyLabelIn(ctx, tx, a.Key)
	if err != nil {
		return err
	}
	return c.Post(ctx, tx, live, users, kind, QuotaFacts{a.Key, label.KidShort, a.Policy, a.Used, a.Quota, clock.Micros(a.At)})
}

// Post puts a notice into the bells of users, whose organization is live, and
// enqueues its emails, which go after the commit. facts becomes JSON: numbers and
// identifiers, no names. It holds the organization's turn until the commit
// (job.Enqueue).
func (c *Center) Post(ctx context.Context, tx db.Tx, live int64, users []string, kind Kind, facts any) error {
	data, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	now := clock.Now(c.Clock)
	for _, user := range users {
		if err := job.Enqueue(ctx, tx, live, now, recipient{user, kind}.spec()); err != nil {
			return err
		}
		tx.Queue(insertNotice, live, user, id.New(id.Notice), now, string(kind), string(data))
	}
	return nil
}

// words makes the words of a notice; known is false for a kind of which another
// release knows.
func (c *Center) words(ctx context.Context, tx db.Tx, kind Kind, facts []byte) (w Words, known bool, err error) {
	form, known := c.forms[kind]
	if !known {
		return Words{Title: fault.Text{DE: string(kind), EN: string(kind)}}, false, nil
	}
	w, err = form.Words(ctx, tx, facts)
	return w, true, err
}

// BellInput asks for entries of bells.
type BellInput struct {
	Organization string `json:"organizationId,omitempty"`
	// Principal is one user; empty for all.
	Principal string `json:"principalId,omitempty"`
	// After is the id of the last entry already seen.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero is 100.
	Limit int `json:"limit,omitempty"`
}

// Entry is one entry of a bell, in the language of its user.
type Entry struct {
	ID          string `json:"id"`
	PrincipalID string `json:"principalId"`
	Kind        Kind   `json:"kind"`
	Title       string `json:"title"`
	Text        string `json:"text"`
	// Facts are those of its kind, such as QuotaFacts.
	Facts     json.RawMessage `json:"facts"`
	CreatedAt clock.Micros    `json:"createdAt"`
	ReadAt    clock.Micros    `json:"readAt"`
	// MailedAt is when the email was handed over; null where it was not yet.
	MailedAt clock.Micros `json:"mailedAt"`
}

// Bell returns entries of the bells of an organization, the newest first. live is
// the number of the organization that holds its people.
func (c *Center) Bell(ctx context.Context, tx db.Tx, live int64, in BellInput) (page access.List[Entry], err error) {
	if in.Limit <= 0 || in.Limit > 1000 {
		in.Limit = 100
	}
	page.Data, err = c.entries(ctx, tx, live, in)
	if len(page.Data) > in.Limit {
		page.Data, page.HasMore = page.Data[:in.Limit], true
	}
	return page, err
}

// MarkRead notes that a user has read entries: the one with an id, or, if the id is
// empty, all of them. It returns how many were not read before.
func (c *Center) MarkRead(ctx context.Context, tx db.Tx, live int64, user, entry string, now clock.Micros) (int64, error) {
	if entry == "" {
		return tx.Exec(ctx, markAllRead, live, user, int64(now))
	}
	return tx.Exec(ctx, markRead, live, user, int64(now), entry)
}

// Has reports whether a user has an entry.
func (c *Center) Has(ctx context.Context, tx db.Tx, live int64, user, entry string) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, countNotice, live, user, entry).Scan(&n)
	return n > 0, err
}

func (c *Center) entries(ctx context.Context, tx db.Tx, live int64, in BellInput) ([]Entry, error) {
	rows, err := tx.Query(ctx, selectNotices, live, in.Principal, in.After, int64(in.Limit)+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	entries := []Entry{}
	for rows.Next() {
		var e Entry
		var data string
		if err := rows.Scan(&e.PrincipalID, &e.ID, &e.CreatedAt, &e.Kind, &data, &e.ReadAt, &e.MailedAt); err != nil {
			return nil, err
		}
		e.Facts = json.RawMessage(data)
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	for i := range entries {
		e := &entries[i]
		user, err := access.UserIn(ctx, tx, e.PrincipalID)
		if err != nil {
			return nil, err
		}
		words, _, err := c.words(ctx, tx, e.Kind, e.Facts)
		if err != nil {
			return nil, err
		}
		e.Title, e.Text = words.Title.In(language(user)), words.Text.In(language(user))
	}
	return entries, nil
}
