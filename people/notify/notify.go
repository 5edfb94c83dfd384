// Package notify owns bell entries and their emails: recipients, language, and delivery without loss.
package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/store/job"
)

// Kind is the kind of a notice.
type Kind string

// Form defines the texts of a kind of notice. The package that posts the notices provides the form.
// Texts in the bell may contain names that people chose. Texts of emails must not.
type Form struct {
	// Words returns the text of a notice from its facts, each time when it is read. It reads the
	// present names in the transaction.
	Words func(ctx context.Context, tx db.Tx, facts []byte) (Words, error)
	// Mail returns the text of an email from the facts only, so that it contains no names.
	Mail func(facts []byte) (Words, error)
	// Page returns the page on which the recipient can react to the notice.
	Page func(recipient string, facts []byte) (Page, error)
	// Farewell is the end of an email and says why the recipient gets it. FarewellPath is the path
	// of the page that it links to. Empty means the start page.
	Farewell     i18n.Text
	FarewellPath string
}

// Page is a link to a page of the web application. Name says what a person can do there.
type Page struct {
	Path string
	Name i18n.Text
}

// Words are the title and the text of a notice.
type Words struct{ Title, Text i18n.Text }

// Age is the time for which notices are kept.
const Age = 90 * 24 * time.Hour

const (
	insertNotice = `insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at)
		values ($1, $2, $3, $4, $5, $6, 0, $7, 0, 0)`
	selectNotices = `select n.principal, n.id, n.created_at, n.kind, n.data, n.read_at, n.mailed_at
		from notices n where n.organization = $1 and ($2 = '' or n.principal = $2) and ($3 = '' or n.id < $3)
		order by n.id desc limit $4`
	selectUnread = `select id, data from notices where organization = $1 and principal = $2 and kind = $3 and created_at >= $4 and read_at = 0 order by id desc limit $5`
	amendNotice  = `update notices set data = $4 where organization = $1 and principal = $2 and id = $3`
	markAllRead  = `update notices set read_at = $3 where organization = $1 and principal = $2 and read_at = 0`
	markRead     = markAllRead + ` and id = $4`
	eraseBell    = `delete from notices where organization = $1 and principal = $2`
	countNotice  = `select count(*) from notices where organization = $1 and principal = $2 and id = $3`
	// of selects the notices of a kind for a user. mailing selects the notices among them that wait
	// for an email.
	of      = ` where organization = $1 and principal = $2 and kind = $3`
	mailing = of + ` and mailing`
	// selectMailing reads the oldest notice of the next email and the number of its notices. The
	// third column is the number of notices for which no email was begun.
	selectMailing = `select coalesce(min(id), ''), count(*), count(case when mail_at = 0 then 1 end) from notices` +
		mailing
	countFresh = `select count(*) from notices` + mailing + ` and mail_at = 0`
	// selectLastMails reads the times when the last emails were begun, the latest first.
	selectLastMails = `select distinct mail_at from notices` + of +
		` and mail_at > 0 and mail_at > $4 order by mail_at desc limit $5`
	beginMail   = `update notices set mail_at = $4` + mailing + ` and mail_at = 0`
	selectFacts = `select data from notices` + mailing + ` order by id limit $4`
	// endMail marks the end of an attempt to send an email. $4 is the time at which it was sent, or
	// zero if it was not sent.
	endMail = `update notices set mailing = false, mailed_at = $4, mail_at = case when cast($4 as bigint) > 0 then $4 else mail_at end` + mailing + ` and mail_at > 0`
)

// Options are the dependencies and the settings of a Center.
type Options struct {
	DB    db.DB
	Clock clock.Clock
	// Logger logs every email with the id of its notice, and without the address.
	Logger *slog.Logger
	// Sender sends the emails. From is the sender's address.
	Sender Sender
	From   string
	// BaseURL is the address of the instance in emails.
	BaseURL string
	// Vault encrypts messages. Only Send needs it.
	Vault masterkey.Vault
	// Host is the part of a Message-ID after the @.
	Host string
	// PauseExhausted makes Alert pause a key that has used its day quota of deletes.
	PauseExhausted bool
	// Forms has the forms of all kinds of notices. The kinds about limits need not be in it.
	Forms map[Kind]Form
}

// Center posts notices and sends their emails.
type Center struct {
	Options
	forms map[Kind]Form
}

// New returns a Center. A job.Runner must run its Handlers, which send the emails.
func New(o Options) *Center {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Center{o, map[Kind]Form{}}
	maps.Copy(c.forms, Forms)
	maps.Copy(c.forms, o.Forms)
	return c
}

// Alert posts a notice about a limit within the transaction that stores the count. The notice goes
// to the user of the key or the sessions, and to the admins of the organization.
func (c *Center) Alert(ctx context.Context, tx db.Tx, a limit.Alert) error {
	kind := QuotaLow
	if a.Exhausted {
		if !c.PauseExhausted {
			return nil
		}
		kind = KeyPaused
		if err := access.PauseIn(ctx, tx, a.Key); err != nil {
			return err
		}
	}
	live, users, err := access.Audience(ctx, tx, a.Organization, a.Principal)
	if err != nil {
		return err
	}
	if a.Session {
		return c.Post(ctx, tx, live, users, SessionQuotaLow, QuotaFacts{
			PrincipalID: a.Principal, Policy: a.Policy, Used: a.Used, Quota: a.Quota, At: clock.Micros(a.At),
		})
	}
	label, err := access.LabelIn(ctx, tx, a.Key)
	if err != nil {
		return err
	}
	return c.Post(ctx, tx, live, users, kind, QuotaFacts{
		Key: a.Key, KidShort: label.KidShort, Policy: a.Policy, Used: a.Used, Quota: a.Quota,
		At: clock.Micros(a.At),
	})
}

// Post adds a notice to the bells of users and enqueues its emails. live is the number of the
// users' live organization. The JSON of facts must contain only numbers and ids, and no names. Post
// holds the lock that orders the organization's jobs until the commit (job.Enqueue).
func (c *Center) Post(ctx context.Context, tx db.Tx, live int64, users []string, kind Kind, facts any) error {
	for _, user := range users {
		if err := c.Tell(ctx, tx, live, user, kind, facts, true); err != nil {
			return err
		}
	}
	return nil
}

// Tell does the same as Post for one user. If mailed is false, no email is sent.
func (c *Center) Tell(ctx context.Context, tx db.Tx, live int64, user string, kind Kind, facts any, mailed bool) error {
	data, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	now := clock.Now(c.Clock)
	if mailed {
		if err := job.Enqueue(ctx, tx, live, now, recipient{user, kind}.spec()); err != nil {
			return err
		}
	}
	tx.Queue(insertNotice, live, user, id.New(id.Notice), now, string(kind), string(data), mailed)
	return nil
}

// Amend changes the facts of one unread notice of a kind that a user got after since. It tries the
// newest notices first, up to maxAmended. amended returns the new facts, or nil if the notice does
// not match. Amend reports whether it has changed a notice. So one notice can describe an act of
// many calls.
func (c *Center) Amend(
	ctx context.Context, tx db.Tx, live int64, user string, kind Kind, since clock.Micros,
	amended func(facts []byte) (any, error),
) (bool, error) {
	type candidate struct{ id, facts string }
	list, err := db.List(ctx, tx, func(row db.Row) (u candidate, err error) { return u, row.Scan(&u.id, &u.facts) },
		selectUnread, live, user, string(kind), since, maxAmended)
	if err != nil {
		return false, err
	}
	for _, u := range list {
		facts, err := amended([]byte(u.facts))
		if err != nil {
			return false, err
		}
		if facts == nil {
			continue
		}
		data, err := json.Marshal(facts)
		if err != nil {
			return false, err
		}
		_, err = tx.Exec(ctx, amendNotice, live, user, u.id, string(data))
		return true, err
	}
	return false, nil
}

// maxAmended is the maximum number of notices that Amend tries.
const maxAmended = 20

// write sets the texts of an entry. If this release does not know the kind, the title is the name
// of the kind.
func (c *Center) write(ctx context.Context, tx db.Tx, e *Entry, in i18n.Language) error {
	form, known := c.forms[e.Kind]
	if !known {
		e.Title = string(e.Kind)
		return nil
	}
	words, err := form.Words(ctx, tx, e.Facts)
	if err != nil {
		return err
	}
	page, err := form.Page(e.PrincipalID, e.Facts)
	e.Title, e.Text, e.Page, e.PageName = words.Title.In(in), words.Text.In(in), page.Path, page.Name.In(in)
	return err
}

// BellInput selects entries of bells.
type BellInput struct {
	Organization string `json:"organizationId,omitempty"`
	// Principal is the id of a user. Empty means all users.
	Principal string `json:"principalId,omitempty"`
	// After is the id of the last entry of the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of entries, from 1 to 1,000. Zero means 100.
	Limit int `json:"limit,omitempty"`
}

// Entry is an entry of a bell, in the language of its user.
type Entry struct {
	ID          string `json:"id"`
	PrincipalID string `json:"principalId"`
	Kind        Kind   `json:"kind"`
	Title       string `json:"title"`
	Text        string `json:"text"`
	// Page is the path of the page on which the owner can react to the entry, and PageName says
	// what they can do there. Both are empty for a kind that this release does not know.
	Page     string `json:"page,omitempty"`
	PageName string `json:"pageName,omitempty"`
	// Facts are the facts of the notice, for example QuotaFacts.
	Facts     json.RawMessage `json:"facts"`
	CreatedAt clock.Micros    `json:"createdAt"`
	ReadAt    clock.Micros    `json:"readAt"`
	// MailedAt is the time when the email was sent. It is null if no email was sent.
	MailedAt clock.Micros `json:"mailedAt"`
}

// Bell returns entries of the bells of an organization, the newest first. live is the number of the
// live organization.
func (c *Center) Bell(ctx context.Context, tx db.Tx, live int64, in BellInput) (page op.Entries[Entry], err error) {
	limit, err := op.PageSize(in.Limit, 100)
	if err != nil {
		return page, err
	}
	found, err := c.entries(ctx, tx, live, in, limit+1)
	return op.PageOf(found, limit), err
}

// MarkRead marks an entry of a user as read, or all entries if entry is empty. It returns the
// number of entries that were unread.
func (c *Center) MarkRead(
	ctx context.Context, tx db.Tx, live int64, user, entry string, now clock.Micros,
) (int64, error) {
	if entry == "" {
		return tx.Exec(ctx, markAllRead, live, user, int64(now))
	}
	return tx.Exec(ctx, markRead, live, user, int64(now), entry)
}

// EraseBell deletes the bell of a person who is erased. live is the number of the person's live
// organization.
func EraseBell(ctx context.Context, tx db.Tx, live int64, user string) error {
	_, err := tx.Exec(ctx, eraseBell, live, user)
	return err
}

// Has reports whether the bell of a user has an entry.
func (c *Center) Has(ctx context.Context, tx db.Tx, live int64, user, entry string) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, countNotice, live, user, entry).Scan(&n)
	return n > 0, err
}

func (c *Center) entries(ctx context.Context, tx db.Tx, live int64, in BellInput, n int) ([]Entry, error) {
	rows, err := tx.Query(ctx, selectNotices, live, in.Principal, in.After, int64(n))
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
		if err := c.write(ctx, tx, e, language(user)); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
