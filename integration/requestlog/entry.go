// Package requestlog owns the request log: one row for each call, written in batches off the path.
package requestlog

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"kartei/kit/clock"
)

// Age is how long an entry is kept (see package retention).
const Age = 30 * 24 * time.Hour

// Nobody is the organization of calls whose credential belongs to no organization:
// none was sent, or it is unknown.
const Nobody int64 = 0

// Entry is one call. It has no path, no query and no body, so it does not say which
// record was called. The address is personal data. Only the request log keeps it,
// because the owner of a key must be able to see its use.
type Entry struct {
	// At is when the call arrived.
	At           clock.Micros
	RequestID    string
	Organization int64
	// KeyID is empty if the key is unknown.
	KeyID string
	// KidShort is the first 8 characters of the kid, also of an unknown key.
	KidShort    string
	PrincipalID string
	// Operation is the operationId; empty if the table has no such path.
	Operation string
	Method    string
	Status    int
	// Code is the problem code; empty if the call succeeded.
	Code     string
	Duration time.Duration
	Address  netip.Addr
	// Reason says why the credential was refused; it is never sent.
	Reason string
	// Version is the API version of the response; empty if the call ended
	// before a version was known.
	Version string
	// Batch is the Request-Id of the batch that contained the call; empty for
	// others.
	Batch string
	// Door is the way in, for example rest or web.
	Door string
	// Unpaid says that the call was refused before it was charged. Such calls are
	// sampled. The flag is not stored.
	Unpaid bool
	// Points were charged for the call, which returned Records. Both are counted by
	// the hour, and not stored here.
	Points, Records int64
}

// Statuses is a range of HTTP statuses, both ends included. The zero value is
// every status. As text it is one status (401) or a class (4xx).
type Statuses struct{ From, To int }

// UnmarshalText reads the text form.
func (s *Statuses) UnmarshalText(text []byte) error {
	t := string(text)
	class, isClass := strings.CutSuffix(strings.ToLower(t), "xx")
	switch {
	case isClass && len(class) == 1 && class[0] >= '1' && class[0] <= '5':
		from := int(class[0]-'0') * 100
		*s = Statuses{from, from + 99}
		return nil
	case len(t) == 3 && t[0] >= '1' && t[0] <= '5' && isDigit(t[1]) && isDigit(t[2]):
		status := int(t[0]-'0')*100 + int(t[1]-'0')*10 + int(t[2]-'0')
		*s = Statuses{status, status}
		return nil
	}
	return fmt.Errorf("requestlog: %q is neither a status such as 401 nor a class such as 4xx", t)
}

// MarshalText writes the text form.
func (s Statuses) MarshalText() ([]byte, error) {
	switch {
	case s == Statuses{}:
		return nil, nil
	case s.From == s.To:
		return fmt.Appendf(nil, "%d", s.From), nil
	}
	return fmt.Appendf(nil, "%dxx", s.From/100), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
