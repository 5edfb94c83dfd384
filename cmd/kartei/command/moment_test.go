package command

import (
	"testing"
	"time"

	"kartei/kit/clock"
)

func TestMoment(t *testing.T) {
	var m Moment
	if err := m.UnmarshalText([]byte("2026-11-01T10:00:00+01:00")); err != nil ||
		m.String() != "2026-11-01T09:00:00.000000Z" {
		t.Errorf("%v, %v", m, err)
	}
	before := clock.Now(clock.System).Add(-24 * time.Hour)
	if err := m.UnmarshalText([]byte("24h")); err != nil || m.Micros < before || m.Micros > before.Add(time.Minute) {
		t.Errorf("%v, %v", m, err)
	}
	parsed := m.Micros
	if err := m.UnmarshalText([]byte(Minute(parsed))); err != nil || m.Micros > parsed ||
		m.Micros < parsed.Add(-time.Minute) {
		t.Errorf("as tables print it: %v, %v", m, err)
	}
	for _, text := range []string{"", "yesterday", "-1h", "2026-11-01", "2026-11-01T09:00:00"} {
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
