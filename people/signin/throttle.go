package signin

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
)

// A Limit bounds the attempts of one subject.
type Limit struct {
	// Subject is hashed, so that nobody reads addresses in the table at a glance. The
	// hash has no key: whoever has the table and a list of addresses can compare.
	Subject string
	// Window begins with the first attempt. With Sliding it begins anew with each.
	Window  time.Duration
	Sliding bool
	// Free attempts are not slowed down. After them the pause doubles from a second
	// to a minute. Zero means that none is slowed down.
	Free int64
	// Most attempts of a window are made. Zero means no bound.
	Most int64
	// Keeps is true for a limit that a success does not clear.
	Keeps bool
}

// The bounds of guesses.
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

// Bounds are the limits of the guesses of one secret.
type Bounds struct {
	// Hour bounds the guesses of an hour. Series counts those in a row, and slows them
	// down.
	Hour, Series Limit
	// Others bound a network, whatever it guesses.
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

// series is the limit of those who are known: nobody else counts for it.
func series(subject string) Bounds {
	l := Limit{Subject: subject, Window: time.Hour, Sliding: true, Free: freeGuesses, Most: guessesOfHour}
	return Bounds{Hour: l, Series: l}
}

// PasswordBounds bound the guesses of the password of an address. A session, a known
// device and a known network have their own 50 an hour, so no stranger keeps them out.
// All strangers together have 50; then the person signs in by passkey, or by a link that
// is mailed. The bounds of a network are wide, because offices share one.
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

// NetworkLimits bound what a network tries, whomever it concerns. A session and a known
// device do not wait for others in their network.
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

// ClientLimits bound the guesses of a network at the endpoints for applications. They are
// apart from NetworkLimits: a page of somebody else can make a browser call these, and must
// not keep an office from signing in.
func ClientLimits(from netip.Addr) []Limit {
	return []Limit{ofHost("client|" + access.Network(from).String()), ofSite("client|", from)}
}

// CodeBounds bound the guesses of the second factor of an account. Whoever makes them
// knows the password. The networks of others do not count as known: a code has six digits
// only.
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

// MailLimit bounds the mails of a kind to one person.
func MailLimit(kind, subject string) Limit {
	return Limit{Subject: "mail|" + kind + "|" + subject, Window: time.Hour, Most: mailsOfAddress, Keeps: true}
}

// ResetLimits bound the mailed links for a new password: to an address, and of a network.
// The window is the lifetime of a link. So while strangers have used up the mails to a
// person, the mailbox of the person has a link that works.
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

// WaitError says how long a subject must wait.
type WaitError struct{ Left time.Duration }

func (e *WaitError) Error() string { return "signin: wait " + e.Left.String() }

// Waits returns the wait inside err, or zero.
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

// Attempt counts an attempt in a transaction of its own: the transaction of a refused
// call is rolled back. An attempt that has to wait is a *WaitError, and begins no transaction.
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

// Attempt counts an attempt before it is made, so that many at the same time count
// each. With too many it is a *WaitError, and the transaction must be rolled back.
func Attempt(ctx context.Context, tx db.Tx, now clock.Micros, limits ...Limit) error {
	limits = slices.Clone(limits)
	// rows are locked in one order
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

// Blocked returns how long subjects must wait, without counting an attempt. It
// spares a transaction for those who do not wait.
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

// left returns how long the count-th attempt must wait.
func (l *Limit) left(count int64, since, next, now clock.Micros) time.Duration {
	if left := next.Sub(now); l.Free > 0 && count > 1 && left > 0 && left <= longestPause {
		return left
	}
	if l.Most > 0 && count > l.Most {
		return max(since.Add(l.Window).Sub(now), time.Second)
	}
	return 0
}

// pause returns the pause after the count-th attempt.
func (l *Limit) pause(count int64) time.Duration {
	if l.Free == 0 || count < l.Free {
		return 0
	}
	return min(time.Second<<min(count-l.Free, 10), longestPause)
}

func (l *Limit) key() string { return access.HashToken(l.Subject) }

// Cleared forgets the attempts of subjects after a success.
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
