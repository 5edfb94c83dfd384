// Package notify owns bell entries and their emails: recipients, language, and delivery without loss.
package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"kartei/access"
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

// Form says how notices of a kind are written. The package that posts them
// provides it. Texts in the bell may hold names that people chose; texts of
// emails never do.
type Form struct {
	// Words returns the text of a notice from its facts whenever it is read. It
	// reads the present names in the transaction.
	Words func(ctx context.Context, tx db.Tx, facts []byte) (Words, error)
	// Mail returns the text of an email from the facts alone, so that it holds no names.
	Mail func(facts []byte) (Words, error)
	// Page returns the page where the recipient acts on the notice.
	Page func(recipient string, facts []byte) (Page, error)
	// Farewell ends an email and says why the recipient gets it. FarewellPath is the page
	// that it leads to, empty for the start page.
	Farewell     i18n.Text
	FarewellPath string
}

// Page is a page of the web application: its path, and what somebody does there.
type Page struct {
	Path string
	Name i18n.Text
}

// Words are the texts of a notice.
type Words struct{ Title, Text i18n.Text }

// Age is how long notices are kept.
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
	// These conditions select the emails of a kind to a user.
	of      = ` where organization = $1 and principal = $2 and kind = $3`
	mailing = of + ` and mailing`
	// selectMailing counts the notices of the next email, and those for which
	// no email was begun.
	selectMailing = `select coalesce(min(id), ''), count(*), count(case when mail_at = 0 then 1 end) from notices` +
		mailing
	countFresh = `select count(*) from notices` + mailing + ` and mail_at = 0`
	// selectLastMails reads when the last emails were begun, latest first.
	selectLastMails = `select distinct mail_at from notices` + of +
		` and mail_at > 0 and mail_at > $4 order by mail_at desc limit $5`
	beginMail   = `update notices set mail_at = $4` + mailing + ` and mail_at = 0`
	selectFacts = `select data from notices` + mailing + ` order by id limit $4`
	// endMail ends an email that was begun. It was sent at $4, or not at all if
	// that is zero.
	endMail = `update notices set mailing = false, mailed_at = $4, mail_at = case when cast($4 as bigint) > 0 then $4 else mail_at end` + mailing + ` and mail_at > 0`
)

// Options configure a Center.
type Options struct {
	DB    db.DB
	Clock clock.Clock
	// Logger logs every email with the id of its notice, never with the
	// address.
	Logger *slog.Logger
	// Sender sends the emails; From is the sender's address.
	Sender Sender
	From   string
	// BaseURL is the address of the instance, for emails.
	BaseURL string
	// Vault seals messages. Only Send needs it.
	Vault masterkey.Vault
	// Host is the right-hand side of Message-IDs.
	Host string
	// PauseExhausted says to pause a key that has used its day quota of
	// deletes.
	PauseExhausted bool
	// Forms holds the kinds of notice. Those about limits may be missing.
	Forms map[Kind]Form
}

// Center posts notices and sends their emails.
type Center struct {
	Options
	forms map[Kind]Form
}

// New returns a Center. A job.Runner with its Handlers sends the emails.
func New(o Options) *Center {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Center{o, map[Kind]Form{}}
	maps.Copy(c.forms, Forms)
	maps.Copy(c.forms, o.Forms)
	return c
}

// Alert posts a notice about a limit, in the transaction that counts it. It
// goes to the user of the key or of the sessions, and to the organization's admins.
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

// Post adds a notice to the bells of users and enqueues its emails, which are
// sent after the commit. live is the organization of the users. facts becomes
// JSON with numbers and identifiers, no names. Post holds the organization's
// turn until the commit (job.Enqueue).
func (c *Center) Post(ctx context.Context, tx db.Tx, live int64, users []string, kind Kind, facts any) error {
	for _, user := range users {
		if err := c.Tell(ctx, tx, live, user, kind, facts, true); err != nil {
			return err
		}
	}
	return nil
}

// Tell is Post for one user, who may want no email about it.
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

// Amend changes the facts of the newest notice of a kind that a user has got since a time and has
// not read, and reports whether there was one. amended returns the new facts, or nil for a notice
// that stays. So one notice tells of an act that many calls make.
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

// maxAmended is how many notices Amend looks at.
const maxAmended = 20

// write fills in the texts of an entry. The title of a kind that only another release
// knows is its name.
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

// BellInput asks for entries of bells.
type BellInput struct {
	Organization string `json:"organizationId,omitempty"`
	// Principal is the id of a user; empty means all.
	Principal string `json:"principalId,omitempty"`
	// After is the id of the last entry of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero means 100.
	Limit int `json:"limit,omitempty"`
}

// Entry is an entry of a bell, in the language of its user.
type Entry struct {
	ID          string `json:"id"`
	PrincipalID string `json:"principalId"`
	Kind        Kind   `json:"kind"`
	Title       string `json:"title"`
	Text        string `json:"text"`
	// Page is the path of the page where the owner acts on the entry, PageName what one
	// does there. Both are empty for a kind that only another release knows.
	Page     string `json:"page,omitempty"`
	PageName string `json:"pageName,omitempty"`
	// Facts are the facts of its kind, for example QuotaFacts.
	Facts     json.RawMessage `json:"facts"`
	CreatedAt clock.Micros    `json:"createdAt"`
	ReadAt    clock.Micros    `json:"readAt"`
	// MailedAt is when the email was sent, null if it was not.
	MailedAt clock.Micros `json:"mailedAt"`
}

// Bell returns entries of the bells of an organization, newest first. live is
// the number of the organization that holds its people.
func (c *Center) Bell(ctx context.Context, tx db.Tx, live int64, in BellInput) (page access.List[Entry], err error) {
	limit, err := access.PageSize(in.Limit, 100)
	if err != nil {
		return page, err
	}
	found, err := c.entries(ctx, tx, live, in, limit+1)
	return access.PageOf(found, limit), err
}

// MarkRead marks entries of a user as read: the one with an id, or all if the
// id is empty. It returns how many were unread.
func (c *Center) MarkRead(
	ctx context.Context, tx db.Tx, live int64, user, entry string, now clock.Micros,
) (int64, error) {
	if entry == "" {
		return tx.Exec(ctx, markAllRead, live, user, int64(now))
	}
	return tx.Exec(ctx, markRead, live, user, int64(now), entry)
}

// EraseBell deletes the bell of a person who is erased. live is the number of the
// organization that holds its people.
func EraseBell(ctx context.Context, tx db.Tx, live int64, user string) error {
	_, err := tx.Exec(ctx, eraseBell, live, user)
	return err
}

// Has reports whether a user has an entry.
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
