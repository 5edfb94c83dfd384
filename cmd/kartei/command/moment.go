package command

import (
	"fmt"
	"time"

	"kartei/kit/clock"
)

// minuteForm is the format of times in tables, in UTC.
const minuteForm = "2006-01-02 15:04Z"

// Minute formats a time for tables, in UTC. 0 becomes "never".
func Minute(t clock.Micros) string {
	if t == 0 {
		return "never"
	}
	return t.Time().Format(minuteForm)
}

// Moment is a flag with a point in time. Its forms are RFC 3339, the format of tables (2026-11-01
// 09:00Z), and a duration before now.
type Moment struct{ clock.Micros }

// UnmarshalText parses the value of the flag.
func (m *Moment) UnmarshalText(text []byte) error {
	if ago, err := time.ParseDuration(string(text)); err == nil && ago >= 0 {
		m.Micros = clock.Now(clock.System).Add(-ago)
		return nil
	}
	if at, err := time.Parse(minuteForm, string(text)); err == nil {
		m.Micros = clock.FromTime(at)
		return nil
	}
	at, err := clock.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a time such as 2026-11-01T09:00:00Z nor a duration such as 24h", text)
	}
	m.Micros = at
	return nil
}
