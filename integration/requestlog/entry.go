// Package requestlog owns the request log, with a row for each call, and the operations that read it.
package requestlog

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"kartei/kit/clock"
)

// Age is the time for which an entry is kept (see package retention).
const Age = 30 * 24 * time.Hour

// Nobody is the organization of calls without a known credential.
const Nobody int64 = 0

// Entry is one call. It has no path, no query and no body, so it does not reveal which record was
// called. The address is personal data. The request log keeps it, because the owner of a key must
// be able to see the key's use.
type Entry struct {
	// At is the arrival time of the call.
	At           clock.Micros
	RequestID    string
	Organization int64
	// KeyID is the id of the key, and empty if the key is unknown.
	KeyID string
	// KidShort is the first 8 characters of the kid. An unknown key has them too.
	KidShort    string
	PrincipalID string
	// Operation is the operationId. It is empty if no operation has the path of the call.
	Operation string
	Method    string
	Status    int
	// Code is the problem code, and empty if the call succeeded.
	Code     string
	Duration time.Duration
	Address  netip.Addr
	// Reason says why the credential was refused. Responses never contain it.
	Reason string
	// Version is the API version of the response. It is empty if the call ended before the version
	// was determined.
	Version string
	// Batch is the Request-Id of the batch that contained the call. It is empty for other calls.
	Batch string
	// Door is the entry point of the call, for example rest or web.
	Door string
	// Unpaid says that the call was refused before it was charged. The log keeps only a sample of
	// such calls. The flag is not stored.
	Unpaid bool
	// Points is the number of points that the call cost, and Records is the number of records that
	// it returned. The counts by hour include both, and the log does not store them.
	Points, Records int64
}

// Statuses is a range of HTTP statuses, including both ends. The zero value includes every status.
// The text of a range is one status (401) or a class (4xx).
type Statuses struct{ From, To int }

// UnmarshalText sets the range from its text. It fails if the text has another form.
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

// MarshalText returns the text of the range. It never fails.
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
