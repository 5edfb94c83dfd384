package clock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Micros is a point in time as the database stores it: microseconds since 1970-01-01T00:00:00Z.
// Zero means 'never'. Its JSON is null.
type Micros int64

// The durations that Kartei uses, in microseconds.
const (
	Second Micros = 1_000_000
	Minute        = 60 * Second
	Hour          = 60 * Minute
	Day           = 24 * Hour
)

// layout is RFC 3339 in UTC with exactly six decimals. Texts of this layout sort in the order of
// the times.
const layout = "2006-01-02T15:04:05.000000Z"

// FromTime returns t, truncated to whole microseconds.
func FromTime(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Now returns the current time of c.
func Now(c Clock) Micros { return FromTime(c.Now()) }

// Time returns m in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Add returns m plus d. It truncates d to whole microseconds.
func (m Micros) Add(d time.Duration) Micros { return m + Micros(d/time.Microsecond) }

// Sub returns the duration m-o.
func (m Micros) Sub(o Micros) time.Duration { return time.Duration(m-o) * time.Microsecond }

// String returns m as RFC 3339 text, for example 2026-11-01T09:30:00.000000Z.
func (m Micros) String() string { return string(m.appendTo(nil)) }

// AppendText appends the text of String.
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

// appendTo does the same as Time.AppendFormat with layout, in a third of the time. The speed
// counts, because a page of records has fifty times. Years without four digits are left to
// AppendFormat.
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

// MarshalJSON returns the bytes of AppendJSON.
func (m Micros) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads a JSON string that Parse accepts, or null for zero.
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

// Parse parses an RFC 3339 date-time with any offset. It truncates the time to microseconds.
//
// Package time also accepts an hour of one digit, a comma and an offset of +24:60. Parse returns an
// error for these, and for years outside 1 to 9999 in the text or in UTC. The databases cannot
// store such years.
//
// Parse accepts three more forms that common clients write. RFC 3339 allows t and z in lower case
// (section 5.6). The function strftime writes an offset without a colon. Second 60 becomes the
// first second of the next minute, because the databases cannot store leap seconds.
func Parse(s string) (Micros, error) {
	text, leap := regular(s)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !wellFormed(text) {
		return 0, errors.New("clock: not an RFC 3339 date-time")
	}
	if leap {
		t = t.Add(time.Second)
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return 0, fmt.Errorf("clock: year %d is out of range", y)
	}
	return FromTime(t), nil
}

const (
	dateAndTime = "0000-00-00T00:00:00"
	// longest is a length that no date-time with nine decimals reaches.
	longest = 64
)

// regular converts a date-time to the usual form: upper case, and a colon in the offset. If the
// second is 60, regular replaces it by 59 and returns true for leap.
func regular(s string) (text string, leap bool) {
	if len(s) <= len(dateAndTime) || len(s) > longest {
		return s, false
	}
	b := []byte(s)
	if b[len("0000-00-00")] == 't' {
		b[len("0000-00-00")] = 'T'
	}
	if last := len(b) - 1; b[last] == 'z' {
		b[last] = 'Z'
	}
	if sign := len(b) - len("+0000"); sign >= len(dateAndTime) && (b[sign] == '+' || b[sign] == '-') {
		b = slices.Insert(b, sign+len("+00"), ':')
	}
	if seconds := b[len("0000-00-00T00:00:"):len(dateAndTime)]; string(seconds) == "60" {
		copy(seconds, "59")
		leap = true
	}
	return string(b), leap
}

// wellFormed reports whether s keeps two rules that package time does not check. Each part has the
// digits that RFC 3339 demands, and an offset is at most 23:59.
func wellFormed(s string) bool {
	if len(s) > longest || !shaped(s[:len(dateAndTime)], dateAndTime) || s[:4] == "0000" {
		return false
	}
	offset := strings.TrimLeft(s[len(dateAndTime):], ".0123456789")
	decimals := s[len(dateAndTime) : len(s)-len(offset)]
	if decimals != "" && (decimals[0] != '.' || len(decimals) == 1 || strings.Count(decimals, ".") > 1) {
		return false
	}
	if offset == "Z" {
		return true
	}
	return (shaped(offset, "+00:00") || shaped(offset, "-00:00")) && offset[1:3] <= "23" && offset[4:6] <= "59"
}

// shaped reports whether s has the form of shape. A 0 in shape stands for any digit, and all other
// bytes must be equal.
func shaped(s, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := range len(s) {
		if shape[i] == '0' && (s[i] < '0' || s[i] > '9') || shape[i] != '0' && s[i] != shape[i] {
			return false
		}
	}
	return true
}
