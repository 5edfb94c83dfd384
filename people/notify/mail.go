package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"strconv"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
	"kartei/store/job"

	"github.com/wneessen/go-mail"
)

// MailKind is the kind of job that sends an email about notices. Each job is for one user and one
// kind of notice. Its email is about all pending notices of that kind.
const MailKind = "notices.mail"

const (
	// mailLease is the time after the death of a process until another process sends its email. The
	// email then has the same Message-ID.
	mailLease = 2 * time.Minute
	// mailLimit is the maximum duration of one attempt. Sending takes at most smtpTime of it.
	mailLimit = 2 * time.Minute
	// window is the time in which a user gets at most windowEmails emails of a kind. The bound is
	// needed because the holder of a key can cause many notices, for example by creating endpoints.
	window, windowEmails = 10 * time.Minute, 3
	// shorter is the number of pauses in backoff that are shorter than window.
	shorter = 3
	// titled is the maximum number of further notices whose titles an email lists.
	titled = 10
)

// backoff has the pauses after failed attempts. They allow 13 attempts in about two and a half
// days. After the last one, the job fails for good, and the bell keeps its entries.
var backoff = [...]time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// pause returns the pause after failed attempt number attempt.
func pause(attempt int) time.Duration { return backoff[min(attempt, len(backoff))-1] }

// recipient selects the pending notices of one kind for one user.
type recipient struct {
	Principal string `json:"principal"`
	Kind      Kind   `json:"kind"`
}

// spec returns the job that sends the email. If earlier attempts failed, a new notice waits for the
// next attempt, but at most for window. So it is sent soon after the mail server works again, and a
// dead server gets few attempts.
//
// The short pauses are not repeated. At least ten attempts remain, which take almost as long as all
// thirteen.
func (r recipient) spec() job.Spec {
	return job.Spec{
		Kind: MailKind, Key: r.Principal + " " + string(r.Kind), Payload: r,
		Soon: true, Attempts: shorter, Rest: window,
	}
}

// letter is one email about all pending notices of a recipient.
type letter struct {
	recipient
	organization int64
	// id is the id of the oldest notice, and count is the number of notices.
	id    string
	count int64
	// facts are the facts of the first titled + 1 notices.
	facts [][]byte
	// at is the time when this attempt began.
	at clock.Micros
}

// messageID returns the Message-ID. It is the same if the same letter is sent again, so that a mail
// server can drop the copy. It differs if the letter has more notices.
func (l *letter) messageID() string {
	if l.count == 1 {
		return l.id
	}
	return l.id + "." + strconv.FormatInt(l.count, 10)
}

// Handlers returns the handlers of the jobs that send emails.
func (c *Center) Handlers() []job.Handler {
	return []job.Handler{
		{
			Kind: MailKind, Attempts: len(backoff) + 1, Lease: mailLease, Limit: mailLimit, Backoff: pause,
			Run: c.mail, PutBack: c.putBack, GaveUp: c.gaveUp, GivenUp: c.givenUp,
		},
		{
			Kind: MessageKind, Attempts: len(backoff) + 1, Lease: mailLease, Limit: mailLimit, Backoff: pause,
			Run: c.sendMessage, GivenUp: c.givenUp, Secret: true,
		},
	}
}

// mail runs a job: it sends one email about the pending notices of a recipient.
func (c *Center) mail(ctx context.Context, j *job.Job) error {
	l := &letter{organization: j.Organization}
	if err := j.Decode(&l.recipient); err != nil {
		return err
	}
	if err := c.take(ctx, j, l); err != nil {
		return err
	}
	if l.count == 0 {
		return c.finish(ctx, j, l, 0)
	}
	log := c.Logger.With(slog.String("notice", l.id), slog.String("kind", string(l.Kind)),
		slog.Int64("notices", l.count), slog.Int("try", j.Attempt))
	switch err := c.attempt(ctx, l); {
	case err == nil:
		c.logSent(log, l.messageID())
		return c.finish(ctx, j, l, l.at)
	case errors.Is(err, errNobody):
		log.Info("email dropped", "reason", err)
		return c.finish(ctx, j, l, 0)
	default:
		log.Warn("email not sent", "reason", reason(err))
		return errors.New("email not sent: " + reason(err))
	}
}

// logSent logs that a mail server has taken an email, or the path of its file.
func (c *Center) logSent(log *slog.Logger, id string) {
	if files, are := c.Sender.(Files); are {
		log.Info("email written to a file, because there is no mail server (--smtp-url)", "file", files.path(id))
		return
	}
	log.Info("email sent")
}

// take reads the pending notices and marks them. The job's transaction holds the lock that orders
// the organization's jobs, so no notice is added meanwhile. If the user already got windowEmails
// emails in the window, the job waits until the window ends.
func (c *Center) take(ctx context.Context, j *job.Job, l *letter) error {
	wait := time.Duration(0)
	err := j.Update(ctx, func(tx db.Tx) error {
		wait, l.facts, l.at = 0, nil, clock.Now(c.Clock)
		var fresh int64
		if err := tx.QueryRow(ctx, selectMailing, l.organization, l.Principal, l.Kind).Scan(&l.id, &l.count,
			&fresh); err != nil || l.count == 0 {
			return err
		}
		if fresh > 0 {
			open, err := c.opens(ctx, tx, l)
			if err != nil {
				return err
			}
			if wait = open.Sub(l.at); wait > 0 {
				return nil
			}
			tx.Queue(beginMail, l.organization, l.Principal, l.Kind, l.at)
		}
		return l.readFacts(ctx, tx)
	})
	if err != nil {
		return err
	}
	if wait > 0 {
		return job.Later(wait)
	}
	return nil
}

// opens returns the time from which the user may get the next email of a kind. A past time or zero
// means now.
func (c *Center) opens(ctx context.Context, tx db.Tx, l *letter) (clock.Micros, error) {
	last, err := db.Values[clock.Micros](ctx, tx, selectLastMails, l.organization, l.Principal, l.Kind,
		l.at.Add(-window), windowEmails)
	if err != nil || len(last) < windowEmails {
		return 0, err
	}
	return last[windowEmails-1].Add(window), nil
}

// readFacts reads the facts of the first notices of a letter.
func (l *letter) readFacts(ctx context.Context, tx db.Tx) (err error) {
	l.facts, err = db.Values[[]byte](ctx, tx, selectFacts, l.organization, l.Principal, l.Kind, titled+1)
	return err
}

// finish ends the job of a letter, and stores in the notices when the email was sent. A zero sent
// means that no email was sent. If notices were added meanwhile, it enqueues the next job. Even a
// stopping process stores that an email was sent.
func (c *Center) finish(ctx context.Context, j *job.Job, l *letter, sent clock.Micros) error {
	ctx = context.WithoutCancel(ctx)
	return j.Finish(ctx, func(tx db.Tx) error {
		tx.Queue(endMail, l.organization, l.Principal, l.Kind, sent)
		return c.goOn(ctx, tx, l)
	})
}

// goOn enqueues a job for notices that were added after a letter was begun. Their transactions did
// not enqueue one, because the running job had the same key. So each transaction that ends an
// attempt calls goOn. It holds the lock that orders the organization's jobs, so no notice is added
// meanwhile.
func (c *Center) goOn(ctx context.Context, tx db.Tx, l *letter) error {
	var n int64
	err := tx.QueryRow(ctx, countFresh, l.organization, l.Principal, l.Kind).Scan(&n)
	if err != nil || n == 0 {
		return err
	}
	return job.Enqueue(ctx, tx, l.organization, clock.Now(c.Clock), l.spec())
}

// putBack makes a failed job due earlier if notices were added meanwhile.
func (c *Center) putBack(ctx context.Context, tx db.Tx, j *job.Job) error {
	l := &letter{organization: j.Organization}
	if err := j.Decode(&l.recipient); err != nil {
		return nil //nolint:nilerr // the job fails because its payload cannot be decoded
	}
	return c.goOn(ctx, tx, l)
}

// gaveUp leaves the notices of a failed job pending. A retry of the job or the next notice sends
// them. If notices were added during the last attempt, gaveUp enqueues a job for them.
func (c *Center) gaveUp(ctx context.Context, tx db.Tx, j *job.Job, _ error) error {
	return c.putBack(ctx, tx, j)
}

func (c *Center) givenUp(j *job.Job) {
	c.Logger.Error("email given up", "job", j.ID, "kind", j.Kind, "tries", j.Attempt)
}

// errNobody is the error for a user who must not get emails any more.
var errNobody = errors.New("the user is disabled or erased")

// errUnknown is the error for a kind of notice that only another release knows. A process with a
// newer release may succeed when the job is retried.
var errUnknown = errors.New("only a newer release knows this kind of notice")

// attempt writes the email with the present texts and sends it.
func (c *Center) attempt(ctx context.Context, l *letter) error {
	var m *mail.Msg
	err := c.DB.Read(ctx, func(tx db.Tx) error {
		user, err := access.UserIn(ctx, tx, l.Principal)
		if fault.Is(err, fault.NotFound) || err == nil && (user.Disabled || user.Email == "") {
			return errNobody
		}
		if err != nil {
			return err
		}
		form, known := c.forms[l.Kind]
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

// compose writes an email. It contains numbers, ids and the address of the instance, and no text
// that a user wrote. Otherwise users could write emails to others in the name of the instance.
func (c *Center) compose(l *letter, user access.PrincipalInfo, form Form) (*mail.Msg, error) {
	in := language(user)
	heading, text := "", ""
	for i, data := range l.facts {
		words, err := form.Mail(data)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			page, err := form.Page(user.ID, data)
			if err != nil {
				return nil, err
			}
			heading = words.Title.In(in)
			text = words.Text.In(in) + "\n\n" + page.Name.In(in) + ":\n" + c.BaseURL + page.Path
		case i == 1:
			text += fmt.Sprintf("\n\n"+further.In(in)+"\n", l.count-1, c.BaseURL+"/bell")
			fallthrough
		default:
			text += "\n- " + words.Title.In(in)
		}
	}
	if l.count > 1 {
		heading = in.Say(andMore, heading, l.count-1)
	}
	if rest := l.count - int64(len(l.facts)); rest > 0 {
		text += fmt.Sprintf("\n- "+unnamed.In(in), rest)
	}
	return c.envelope(user.Email, in, l.messageID(), heading,
		text+"\n\n-- \n"+form.Farewell.In(in)+"\n"+c.BaseURL+form.FarewellPath)
}

// envelope returns an email with a greeting and the headers.
func (c *Center) envelope(to string, in i18n.Language, id, heading, text string) (*mail.Msg, error) {
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := m.FromFormat("Kartei", c.From); err != nil {
		return nil, err
	}
	if err := m.AddTo(to); err != nil {
		return nil, err
	}
	m.Subject("Kartei: " + heading)
	m.SetMessageIDWithValue(id + "@" + c.Host)
	m.SetDateWithValue(c.Clock.Now())
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: prevents automatic replies
	m.SetGenHeader("Content-Language", string(in))
	m.SetBodyString(mail.TypeTextPlain, greeting.In(in)+"\n\n"+text+"\n")
	return m, nil
}

// reason returns why an email was not accepted. It leaves out the text of the server, which may
// contain the recipient's address.
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
