package signin

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// A Limit bounds the attempts of one subject.
type Limit struct {
	// Subject identifies the counted attempts. The database stores its hash, so that the table has
	// no readable addresses. The hash has no key, so an attacker with the table can test addresses.
	Subject string
	// Window begins with the first attempt. If Sliding is set, each attempt begins it again.
	Window  time.Duration
	Sliding bool
	// Free is the number of attempts without a pause. After them, the pause doubles from a second
	// to a minute. Zero means that attempts have no pauses.
	Free int64
	// Most is the maximum number of attempts in a window. Zero means no maximum.
	Most int64
	// Keeps is true for a limit that a success does not clear.
	Keeps bool
}

// The bounds of guesses and mails.
const (
	freeGuesses    = 5
	guessesOfHour  = 50
	attemptsOfHost = 120
	attemptsOfSite = 2 * attemptsOfHost
	mailsOfAddress = 3
	mailsOfHost    = 60
	mailsOfSite    = 2 * mailsOfHost
	longestPause   = time.Minute
)

// Bounds are the limits on the guesses of one secret.
type Bounds struct {
	// Hour limits the guesses in an hour. Series limits consecutive guesses, and adds pauses
	// between them.
	Hour, Series Limit
	// Others limit the attempts of a network, no matter what it guesses.
	Others []Limit
}

// All returns all limits.
func (b Bounds) All() []Limit {
	all := slices.Clone(b.Others)
	if b.Hour.Subject != b.Series.Subject {
		all = append(all, b.Hour)
	}
	return append(all, b.Series)
}

// series returns the limit for a known origin, whose attempts are counted separately from all
// others.
func series(subject string) Bounds {
	l := Limit{Subject: subject, Window: time.Hour, Sliding: true, Free: freeGuesses, Most: guessesOfHour}
	return Bounds{Hour: l, Series: l}
}

// PasswordBounds returns the limits on guesses of the password of an address. A session, a known
// device and a known network have their own 50 guesses an hour, so strangers cannot lock them out.
//
// All strangers together have 50 guesses. Then the person can sign in by a passkey or a mailed
// link. The limits of a network are wide, because the people of an office share one.
func (o Origin) PasswordBounds(email string) Bounds {
	folded := access.FoldEmail(email)
	pair := "password|" + o.network() + "|" + folded
	switch {
	case o.mark() != "":
		return series("password|" + o.mark())
	case o.Known:
		b := series(pair)
		b.Others = o.NetworkLimits()
		return b
	}
	return Bounds{
		Hour:   Limit{Subject: "password|" + folded, Window: time.Hour, Most: guessesOfHour},
		Series: Limit{Subject: pair, Window: time.Hour, Sliding: true, Free: freeGuesses},
		Others: o.NetworkLimits(),
	}
}

// NetworkLimits returns the limits on all attempts from a network, at any account. Attempts with a
// session or a known device are counted separately from others in the network.
func (o Origin) NetworkLimits() []Limit {
	switch {
	case o.mark() != "":
		return []Limit{ofHost("network|" + o.mark())}
	case o.Known:
		return []Limit{ofHost("network|" + o.network())}
	}
	return []Limit{ofHost("network|" + o.network()), ofSite("network|", o.Address)}
}

func ofHost(subject string) Limit {
	return Limit{Subject: subject, Window: time.Minute, Most: attemptsOfHost, Keeps: true}
}

func ofSite(kind string, from netip.Addr) Limit {
	return Limit{
		Subject: kind + "site|" + access.Site(from).String(), Window: time.Minute, Most: attemptsOfSite,
		Keeps: true,
	}
}

// ClientLimits returns the limits on guesses from a network at the OAuth endpoints. They are
// separate from NetworkLimits, because a foreign page can make a browser call these endpoints. It
// must not block the sign-ins of an office.
func ClientLimits(from netip.Addr) []Limit {
	return []Limit{ofHost("client|" + access.Network(from).String()), ofSite("client|", from)}
}

// CodeBounds returns the limits on guesses of the second factor of an account. A client that
// guesses it already knows the password. Only networks of the same account count as known, because
// a code has only six digits.
func (o Origin) CodeBounds(account string) Bounds {
	subject := "code|" + account
	switch {
	case o.mark() != "":
		subject = "code|" + o.mark()
	case o.Own:
		subject = "code|" + o.network() + "|" + account
	}
	l := Limit{Subject: subject, Window: time.Hour, Free: freeGuesses, Most: guessesOfHour}
	return Bounds{Hour: l, Series: l}
}

// MailLimit returns the limit on mails of one kind to one person.
func MailLimit(kind, subject string) Limit {
	return Limit{Subject: "mail|" + kind + "|" + subject, Window: time.Hour, Most: mailsOfAddress, Keeps: true}
}

// ResetLimits returns the limits on mailed links for a new password, by address and by network. The
// window is the lifetime of a link. So if strangers have used up the mails to a person, the
// person's mailbox has a link that still works.
func (o Origin) ResetLimits(email string) []Limit {
	to := Limit{Window: ResetLifetime, Most: mailsOfAddress, Keeps: true}
	host := Limit{Subject: "mail|reset|" + o.network(), Window: time.Hour, Most: mailsOfHost, Keeps: true}
	site := Limit{
		Subject: "mail|reset|site|" + access.Site(o.Address).String(), Window: time.Hour, Most: mailsOfSite,
		Keeps: true,
	}
	folded := access.FoldEmail(email)
	switch {
	case o.mark() != "":
		to.Subject = "mail|reset|" + o.mark()
		return []Limit{to}
	case o.Known:
		to.Subject = "mail|reset|" + o.network() + "|" + folded
		return []Limit{to, host}
	}
	to.Subject = "mail|reset|" + folded
	return []Limit{to, host, site}
}

// WaitError is the error for an attempt that must wait. Left is the waiting time.
type WaitError struct{ Left time.Duration }

func (e *WaitError) Error() string { return "signin: wait " + e.Left.String() }

// Waits returns the waiting time of a *WaitError in err, or zero.
func Waits(err error) time.Duration {
	if e, is := errors.AsType[*WaitError](err); is {
		return e.Left
	}
	return 0
}

const (
	countAttempt = `insert into sign_in_attempts (subject, count, since, next_at, expires_at) values ($1, 1, $2, 0, $3)
		on conflict (subject) do update set
			count = case when sign_in_attempts.since <= $4 or sign_in_attempts.since > $2 then 1 else sign_in_attempts.count + 1 end,
			since = case when $5 or sign_in_attempts.since <= $4 or sign_in_attempts.since > $2 then $2 else sign_in_attempts.since end,
			expires_at = $3
		returning count, since, next_at`
	setNextAttempt  = `update sign_in_attempts set next_at = $2 where subject = $1`
	clearAttempts   = `delete from sign_in_attempts where subject = $1`
	forgetAttempts  = `delete from sign_in_attempts where subject in (select subject from sign_in_attempts where expires_at < $1 order by expires_at limit 100)`
	selectAttempted = `select count, since, next_at from sign_in_attempts where subject = $1`
)

// Attempt counts an attempt in its own transaction, because the transaction of a refused call is
// rolled back. It fails with a *WaitError if the attempt must wait, and then usually starts no
// write transaction.
func (d *Desk) Attempt(ctx context.Context, now clock.Micros, limits ...Limit) error {
	err := d.DB.Read(ctx, func(tx db.Tx) error {
		left, err := Blocked(ctx, tx, now, limits...)
		if err != nil {
			return err
		}
		if left > 0 {
			return &WaitError{left}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.DB.Write(ctx, func(tx db.Tx) error { return Attempt(ctx, tx, now, limits...) })
}

// CountAttempt counts an attempt of a call as Desk.Attempt does. It returns the error of Throttled.
func CountAttempt(ctx context.Context, c *op.Call, limits ...Limit) error {
	return Throttled(Service.In(c).Attempt(ctx, c.Now, limits...))
}

// Attempt counts an attempt before it is made, so that each of many concurrent attempts counts. It
// fails with a *WaitError if there were too many attempts. Then the caller must roll back the
// transaction.
func Attempt(ctx context.Context, tx db.Tx, now clock.Micros, limits ...Limit) error {
	limits = slices.Clone(limits)
	// rows are always locked in this order
	slices.SortFunc(limits, func(a, b Limit) int { return strings.Compare(a.key(), b.key()) })
	for _, l := range limits {
		var count int64
		var since, next clock.Micros
		err := tx.QueryRow(ctx, countAttempt, l.key(), now, now.Add(l.Window+longestPause), now.Add(-l.Window),
			l.Sliding).Scan(&count, &since, &next)
		if err != nil {
			return err
		}
		if left := l.left(count, since, next, now); left > 0 {
			return &WaitError{left}
		}
		if pause := l.pause(count); pause > 0 {
			if _, err := tx.Exec(ctx, setNextAttempt, l.key(), now.Add(pause)); err != nil {
				return err
			}
		}
	}
	_, err := tx.Exec(ctx, forgetAttempts, now)
	return err
}

// Blocked returns the time that an attempt must wait, without counting it. It saves the write
// transaction of an attempt that must wait.
func Blocked(ctx context.Context, tx db.Tx, now clock.Micros, limits ...Limit) (time.Duration, error) {
	longest := time.Duration(0)
	for _, l := range limits {
		var count int64
		var since, next clock.Micros
		err := tx.QueryRow(ctx, selectAttempted, l.key()).Scan(&count, &since, &next)
		if errors.Is(err, db.ErrNoRows) || err == nil && (now.Sub(since) >= l.Window || since > now) {
			continue
		}
		if err != nil {
			return 0, err
		}
		longest = max(longest, l.left(count+1, since, next, now))
	}
	return longest, nil
}

// Count returns the number of attempts of a subject.
func Count(ctx context.Context, tx db.Tx, l Limit) (count int64, err error) {
	var since, next clock.Micros
	err = tx.QueryRow(ctx, selectAttempted, l.key()).Scan(&count, &since, &next)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return count, err
}

// left returns the time that attempt number count must wait.
func (l *Limit) left(count int64, since, next, now clock.Micros) time.Duration {
	if left := next.Sub(now); l.Free > 0 && count > 1 && left > 0 && left <= longestPause {
		return left
	}
	if l.Most > 0 && count > l.Most {
		return max(since.Add(l.Window).Sub(now), time.Second)
	}
	return 0
}

// pause returns the pause after attempt number count.
func (l *Limit) pause(count int64) time.Duration {
	if l.Free == 0 || count < l.Free {
		return 0
	}
	return min(time.Second<<min(count-l.Free, 10), longestPause)
}

func (l *Limit) key() string { return access.HashToken(l.Subject) }

// Cleared deletes the counts of the limits after a success, except for limits with Keeps.
func Cleared(ctx context.Context, tx db.Tx, limits ...Limit) error {
	for _, l := range limits {
		if l.Keeps {
			continue
		}
		if _, err := tx.Exec(ctx, clearAttempts, l.key()); err != nil {
			return err
		}
	}
	return nil
}
