package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"time"

	"kartei/access"
	"kartei/clock"
	"kartei/db"
	"kartei/fault"

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

// letter is one email that is due.
type letter struct {
	organization  int64
	principal, id string
	kind          Kind
	facts         []byte
	due           int64
	tries         int
}

// Run sends emails until ctx ends.
func (c *Center) Run(ctx context.Context) {
	defer c.DB.Hear(Topic, func(string) { c.awake() })()
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
	var due []letter
	err = c.DB.Read(ctx, func(tx db.Tx) error {
		due = due[:0]
		rows, err := tx.Query(ctx, selectDue, int64(clock.Now(c.Clock)), int64(piece))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var l letter
			if err := rows.Scan(&l.organization, &l.principal, &l.id, &l.kind, &l.facts, &l.due, &l.tries); err != nil {
				return err
			}
			due = append(due, l)
		}
		return rows.Err()
	})
	if err != nil {
		return false, err
	}
	for i := range due {
		if err := c.deliver(ctx, &due[i]); err != nil {
			return false, err
		}
	}
	return len(due) == piece, nil
}

// deliver sends one email, unless another replica is at it.
func (c *Center) deliver(ctx context.Context, l *letter) error {
	until := int64(clock.Now(c.Clock).Add(lease))
	mine := false
	err := c.DB.Write(ctx, func(tx db.Tx) error {
		n, err := tx.Exec(ctx, claim, l.organization, l.principal, l.id, l.due, until)
		mine = n == 1
		return err
	})
	if err != nil || !mine {
		return err
	}
	log := c.Logger.With(slog.String("notice", l.id), slog.String("kind", string(l.kind)), slog.Int("try", l.tries+1))
	next, mailed := int64(0), int64(0)
	switch err := c.attempt(ctx, l); {
	case err == nil:
		mailed = int64(clock.Now(c.Clock))
		log.Info("email sent")
	case errors.Is(err, errNobody), errors.Is(err, errEnough):
		log.Info("email dropped", "reason", err)
	case l.tries >= len(backoff):
		log.Error("email given up", "reason", reason(err))
	default:
		next = int64(clock.Now(c.Clock).Add(backoff[l.tries]))
		log.Warn("email not sent", "reason", reason(err), "again", backoff[l.tries].String())
	}
	return c.DB.Write(context.WithoutCancel(ctx), func(tx db.Tx) error {
		_, err := tx.Exec(ctx, settle, l.organization, l.principal, l.id, until, next, mailed)
		return err
	})
}

// errNobody is returned for somebody who is not to be written to any more.
var errNobody = errors.New("the user is disabled or gone")

// mostAnHour is how many emails of one kind go to one user about what happened
// within an hour. Who has a key can bring about a notice for each endpoint, and
// make ever new ones; further notices are in the bell alone. A service account
// with all its endpoints has 16.
const mostAnHour = 100

// errEnough is returned for an email of which there are too many.
var errEnough = fmt.Errorf("%d of its kind went to the user within an hour; the bell has it", mostAnHour)

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
		var sent int
		err = tx.QueryRow(ctx, `select count(*) from notices`+tx.Dialect().Along("notices_age")+`
			where organization = $1 and created_at > $2 and principal = $3 and kind = $4 and mailed_at > 0`,
			l.organization, int64(clock.Now(c.Clock).Add(-time.Hour)), l.principal, string(l.kind)).Scan(&sent)
		if err != nil {
			return err
		}
		if sent >= mostAnHour {
			return errEnough
		}
		words, known, err := c.words(ctx, tx, l.kind, l.facts)
		switch {
		case err != nil:
			return err
		case !known:
			return errUnknown
		}
		m, err = c.compose(l, user, words)
		return err
	})
	if err != nil {
		return err
	}
	return c.Sender.Send(ctx, l.id, m)
}

// compose writes an email.
func (c *Center) compose(l *letter, user access.PrincipalInfo, w Words) (*mail.Msg, error) {
	in := language(user)
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := m.FromFormat("Kartei", c.From); err != nil {
		return nil, err
	}
	if err := m.AddToFormat(user.Name, user.Email); err != nil {
		return nil, err
	}
	m.Subject("Kartei: " + w.Title.In(in))
	m.SetMessageIDWithValue(l.id + "@" + c.Host)
	m.SetDateWithValue(c.Clock.Now())
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence answers
	m.SetGenHeader("Content-Language", string(in))
	m.SetBodyString(mail.TypeTextPlain, fmt.Sprintf(greeting.In(in), user.Name)+"\n\n"+w.Text.In(in)+"\n\n-- \n"+c.forms[l.kind].Farewell.In(in)+"\n")
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
