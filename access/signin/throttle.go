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
	longestPause   = time.Minute
)

// PasswordLimits bound the guesses of the password of an address from a network.
// The pause concerns the pair, so a stranger does not slow the person down. All
// networks together have 50 guesses an hour; then the person signs in by passkey,
// or by a link that is mailed. Offices share a network, so its own bound is wide.
func PasswordLimits(email string, from netip.Addr) []Limit {
	folded, network := access.FoldEmail(email), access.Network(from).String()
	return []Limit{
		{Subject: "password|" + folded, Window: time.Hour, Most: guessesOfHour},
		{Subject: "password|" + network + "|" + folded, Window: time.Hour, Sliding: true, Free: freeGuesses},
		NetworkLimit(from),
	}
}

// NetworkLimit bounds the attempts of a network.
func NetworkLimit(from netip.Addr) Limit {
	return Limit{Subject: "network|" + access.Network(from).String(), Window: time.Minute, Most: attemptsOfHost, Keeps: true}
}

// ClientLimit bounds the guesses of a network at the endpoints for applications. It is
// apart from NetworkLimit: a page of somebody else can make a browser call these, and must
// not keep an office from signing in.
func ClientLimit(from netip.Addr) Limit {
	return Limit{Subject: "client|" + access.Network(from).String(), Window: time.Minute, Most: attemptsOfHost, Keeps: true}
}

// CodeLimits bound the guesses of the second factor of an account. Whoever makes
// them knows the password, so the network does not matter.
func CodeLimits(account string) []Limit {
	return []Limit{{Subject: "code|" + account, Window: time.Hour, Free: freeGuesses, Most: guessesOfHour}}
}

// MailLimits bound the mails to an address that strangers cause, and those that a
// network causes.
func MailLimits(kind, email string, from netip.Addr) []Limit {
	return []Limit{
		{Subject: "mail|" + kind + "|" + access.FoldEmail(email), Window: time.Hour, Most: 3, Keeps: true},
		{Subject: "mail|" + kind + "|" + access.Network(from).String(), Window: time.Hour, Most: 60, Keeps: true},
	}
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

// Attempt counts an attempt before it is made, so that many at the same time count
// each. With too many it is a *WaitError, and the transaction must be rolled back.
func Attempt(ctx context.Context, tx db.Tx, now clock.Micros, limits ...Limit) error {
	limits = slices.Clone(limits)
	slices.SortFunc(limits, func(a, b Limit) int { return strings.Compare(a.key(), b.key()) }) // rows are locked in one order
	for _, l := range limits {
		var count int64
		var since, next clock.Micros
		err := tx.QueryRow(ctx, countAttempt, l.key(), now, now.Add(l.Window+longestPause), now.Add(-l.Window), l.Sliding).Scan(&count, &since, &next)
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
