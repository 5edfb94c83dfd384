package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"slices"
	"strconv"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"

	"github.com/wneessen/go-mail"
)

const (
	// poll is how often the line is looked through without being woken: for
	// emails that are due again, and those that another replica left behind.
	poll = 10 * time.Second
	// lease is how long an email is one replica's to send. If that dies, it is
	// sent again; its Message-ID is the same.
	lease = 2 * time.Minute
	// piece is the most emails that are looked up at a time.
	piece = 50
)

// backoff is how long after each failed try the next one comes: 13 tries
// within two and a half days. Then the email is given up; its entry in the
// bell stays.
var backoff = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

const (
	// window is a time in which a user gets three emails of a kind at most. Whoever
	// has a key can bring about a notice for each endpoint, and make ever new ones.
	window = 10 * time.Minute
	// titled is how many notices beside the first an email names one by one.
	titled = 10
)

// queue is the notices of a kind that wait to be mailed to a user.
type queue struct {
	organization int64
	principal    string
	kind         Kind
}

// letter is one email: it is about all notices of a queue that are due.
type letter struct {
	queue
	// id is that of its oldest notice, count is how many there are.
	id    string
	count int64
	// facts are those of the first titled + 1 notices.
	facts [][]byte
	// tries is how often the one that was tried least was tried before.
	tries int
	until clock.Micros
}

// messageID is the same if the same letter is sent again, and another one if
// there is more in it: a mail server may drop what it has had before.
func (l *letter) messageID() string {
	if l.count == 1 {
		return l.id
	}
	return l.id + "." + strconv.FormatInt(l.count, 10)
}

// Run sends emails until ctx ends.
func (c *Center) Run(ctx context.Context) {
	defer c.DB.SubscribeLocal(Topic, func(string) { c.awake() })()
	for ctx.Err() == nil {
		more, err := c.send(ctx)
		if err != nil && ctx.Err() == nil {
			c.Logger.Warn("emails cannot be looked up", "error", err)
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-c.Clock.After(poll):
		}
	}
}

// send sends what is due and reports whether there may be more.
func (c *Center) send(ctx context.Context) (more bool, err error) {
	var due []queue
	found := 0
	err = c.DB.Read(ctx, func(tx db.Tx) error {
		due, found = due[:0], 0
		rows, err := tx.Query(ctx, selectDue, clock.Now(c.Clock), int64(piece))
		if err != nil {
			return err
		}
		defer rows.Close()
		for ; rows.Next(); found++ {
			var q queue
			if err := rows.Scan(&q.organization, &q.principal, &q.kind); err != nil {
				return err
			}
			if !slices.Contains(due, q) {
				due = append(due, q)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return false, err
	}
	for _, q := range due {
		if err := c.deliver(ctx, q); err != nil {
			return false, err
		}
	}
	return found == piece, nil
}

// take takes what is due in a queue, which is one replica's then until the lease
// ends. It is nil if there is nothing, or if the user had enough for now: what is
// due waits for the end of the window.
func (c *Center) take(ctx context.Context, q queue) (l *letter, err error) {
	err = c.DB.Write(ctx, func(tx db.Tx) error {
		l = nil
		now := clock.Now(c.Clock)
		next := letter{queue: q, until: now.Add(lease)}
		var first, second, third clock.Micros // of the last three emails
		if err := tx.QueryRow(ctx, keepTurn, q.organization, q.principal, q.kind).Scan(&first, &second, &third); err != nil {
			return err
		}
		if open := first.Add(window); first > 0 && now < open {
			tx.Queue(putOff, q.organization, q.principal, q.kind, now, open)
			return nil
		}
		if err := tx.QueryRow(ctx, selectOldest, q.organization, q.principal, q.kind, now).Scan(&next.id, &next.count, &next.tries); err != nil || next.count == 0 {
			return err
		}
		tx.Queue(claim, q.organization, q.principal, q.kind, now, next.until, next.id)
		tx.Queue(setTurn, q.organization, q.principal, q.kind, second, third, now)
		if next.facts, err = facts(ctx, tx, &next); err == nil {
			l = &next
		}
		return err
	})
	return l, err
}

// facts reads those of the first notices of a letter that was taken.
func facts(ctx context.Context, tx db.Tx, l *letter) (list [][]byte, err error) {
	rows, err := tx.Query(ctx, selectFacts, l.organization, l.principal, l.kind, l.until, l.id, int64(titled+1))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		list = append(list, data)
	}
	return list, rows.Err()
}

// deliver sends one email about what is due in a queue, unless another replica
// is at it.
func (c *Center) deliver(ctx context.Context, q queue) error {
	l, err := c.take(ctx, q)
	if err != nil || l == nil {
		return err
	}
	log := c.Logger.With(slog.String("notice", l.id), slog.String("kind", string(l.kind)), slog.Int64("notices", l.count), slog.Int("try", l.tries+1))
	next, mailed := clock.Micros(0), clock.Micros(0)
	switch err := c.attempt(ctx, l); {
	case err == nil:
		mailed = clock.Now(c.Clock)
		log.Info("email sent")
	case errors.Is(err, errNobody):
		log.Info("email dropped", "reason", err)
	case l.tries >= len(backoff):
		log.Error("email given up", "reason", reason(err))
	default:
		next = clock.Now(c.Clock).Add(backoff[l.tries])
		log.Warn("email not sent", "reason", reason(err), "again", backoff[l.tries].String())
	}
	return c.DB.Write(context.WithoutCancel(ctx), func(tx db.Tx) error {
		_, err := tx.Exec(ctx, settle, l.organization, l.principal, l.kind, l.until, l.id, next, mailed)
		return err
	})
}

// errNobody is returned for somebody who is not to be written to any more.
var errNobody = errors.New("the user is disabled or gone")

// errUnknown is returned for a kind of notice that this release does not know:
// it is tried again, by a newer one.
var errUnknown = errors.New("a newer release posted it")

// attempt writes the email in the words of today and hands it over.
func (c *Center) attempt(ctx context.Context, l *letter) error {
	var m *mail.Msg
	err := c.DB.Read(ctx, func(tx db.Tx) error {
		user, err := access.UserIn(ctx, tx, l.principal)
		if fault.Is(err, fault.NotFound) || err == nil && (user.Disabled || user.Email == "") {
			return errNobody
		}
		if err != nil {
			return err
		}
		form, known := c.forms[l.kind]
		if !known {
			return errUnknown
		}
		m, err = c.compose(l, user, form)
		return err
	})
	if err != nil {
		return err
	}
	return c.Sender.Send(ctx, l.messageID(), m)
}

// compose writes an email. Nothing in it is anybody's text: it holds numbers,
// identifiers and the instance's own address, and no names. Whoever names a record
// would else write to others in the name of the instance.
func (c *Center) compose(l *letter, user access.PrincipalInfo, form Form) (*mail.Msg, error) {
	in := language(user)
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := m.FromFormat("Kartei", c.From); err != nil {
		return nil, err
	}
	if err := m.AddTo(user.Email); err != nil {
		return nil, err
	}
	heading, text := "", ""
	for i, data := range l.facts {
		words, err := form.Mail(c.BaseURL, data)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			heading, text = words.Title.In(in), words.Text.In(in)
		case i == 1:
			text += fmt.Sprintf("\n\n"+further.In(in)+"\n", l.count-1)
			fallthrough
		default:
			text += "\n- " + words.Title.In(in)
		}
	}
	if l.count > 1 {
		heading += fmt.Sprintf(andMore.In(in), l.count-1)
	}
	if rest := l.count - int64(len(l.facts)); rest > 0 {
		text += fmt.Sprintf("\n- "+unnamed.In(in), rest)
	}
	m.Subject("Kartei: " + heading)
	m.SetMessageIDWithValue(l.messageID() + "@" + c.Host)
	m.SetDateWithValue(c.Clock.Now())
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence answers
	m.SetGenHeader("Content-Language", string(in))
	m.SetBodyString(mail.TypeTextPlain, greeting.In(in)+"\n\n"+text+"\n\n-- \n"+form.Farewell.In(in)+"\n"+c.BaseURL+"\n")
	return m, nil
}

// reason says why an email was not taken without the server's words, in which
// the address may stand.
func reason(err error) string {
	var sent *mail.SendError
	if errors.As(err, &sent) && sent.ErrorCode() != 0 {
		return fmt.Sprintf("the server answered %d %s", sent.ErrorCode(), sent.EnhancedStatusCode())
	}
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return fmt.Sprintf("the server answered %d", answer.Code)
	}
	if errors.Is(err, errUnknown) {
		return err.Error()
	}
	var file *fileError
	if errors.As(err, &file) {
		return file.Error()
	}
	return "the server cannot be reached or broke off"
}
