package clock

import (
	"fmt"
	"time"
)

// Micros is a point in time as the data base keeps it: microseconds since
// 1970-01-01T00:00:00Z. Zero means 'never' and is written as JSON null.
type Micros int64

// In the lengths that the product reckons with.
const (
	Second Micros = 1_000_000
	Minute        = 60 * Second
	Hour          = 60 * Minute
	Day           = 24 * Hour
)

// layout is RFC 3339 in UTC with exactly six digits after the point, so that
// the texts sort like the times.
const layout = "2006-01-02T15:04:05.000000Z"

// FromTime cuts t to whole microseconds.
func FromTime(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Now reads c.
func Now(c Clock) Micros { return FromTime(c.Now()) }

// Time returns m in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Add moves m by d, cut to whole microseconds.
func (m Micros) Add(d time.Duration) Micros { return m + Micros(d/time.Microsecond) }

// Sub returns the time between two points.
func (m Micros) Sub(o Micros) time.Duration { return time.Duration(m-o) * time.Microsecond }

// String returns m as RFC 3339 text, for example 2026-11-01T09:30:00.000000Z.
func (m Micros) String() string { return string(m.appendTo(nil)) }

// AppendText appends what String returns.
func (m Micros) AppendText(b []byte) ([]byte, error) {
	return m.appendTo(b), nil
}

// AppendJSON appends m as a JSON string, or null for zero.
func (m Micros) AppendJSON(b []byte) []byte {
	if m == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = m.appendTo(b)
	return append(b, '"')
}

// appendTo is Time.AppendFormat with layout, in a third of the time: a page of
// records has fifty of them. Years that do not have four digits are left to it.
func (m Micros) appendTo(b []byte) []byte {
	t := m.Time()
	year, month, day := t.Date()
	if year < 1000 || year > 9999 {
		return t.AppendFormat(b, layout)
	}
	hour, minute, second := t.Clock()
	micros := t.Nanosecond() / 1000
	b = appendTwo(appendTwo(b, year/100), year%100)
	b = appendTwo(append(b, '-'), int(month))
	b = appendTwo(append(b, '-'), day)
	b = appendTwo(append(b, 'T'), hour)
	b = appendTwo(append(b, ':'), minute)
	b = appendTwo(append(b, ':'), second)
	b = appendTwo(append(b, '.'), micros/10_000)
	b = appendTwo(appendTwo(b, micros/100%100), micros%100)
	return append(b, 'Z')
}

func appendTwo(b []byte, n int) []byte { return append(b, '0'+byte(n/10), '0'+byte(n%10)) }

// MarshalJSON returns what AppendJSON appends.
func (m Micros) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Micros) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = 0
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("clock: %q is not a JSON string", b)
	}
	v, err := Parse(string(b[1 : len(b)-1]))
	*m = v
	return err
}

// Parse reads an RFC 3339 date-time with any offset. Finer parts than a
// microsecond are cut. Years outside 1 to 9999 and leap seconds are refused:
// no engine keeps them.
func Parse(s string) (Micros, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, fmt.Errorf("clock: not an RFC 3339 date-time: %w", err)
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return 0, fmt.Errorf("clock: year %d is out of range", y)
	}
	return FromTime(t), nil
}
