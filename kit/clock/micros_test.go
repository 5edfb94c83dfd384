package clock

import (
	"testing"
	"time"

	"kartei/test/seed"
)

func TestTextIsRFC3339(t *testing.T) {
	random := seed.Rand(t)
	for range 10_000 {
		check(t, Micros(random.Int64N(253_402_300_800_000_000))) // up to the year 9999
	}
	for _, s := range []string{"0001-01-01T00:00:00Z", "0999-12-31T23:59:59.999999Z", "1000-01-01T00:00:00Z",
		"1969-12-31T23:59:59.999999Z",
		"2024-02-29T12:00:00.000001Z", "9999-12-31T23:59:59.999999Z"} {
		m, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		check(t, m)
	}
}

func check(t *testing.T, m Micros) {
	t.Helper()
	want := time.UnixMicro(int64(m)).UTC().Format("2006-01-02T15:04:05.000000Z")
	if got := m.String(); got != want {
		t.Errorf("%d: %s, want %s", m, got, want)
	}
	if back, err := Parse(m.String()); err != nil || back != m {
		t.Errorf("%s read as %d: %v", m, back, err)
	}
}

// TestParseLeniently checks that Parse accepts the forms of common clients, and no other form
// outside RFC 3339.
func TestParseLeniently(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-01t09:30:00z":           "2026-11-01T09:30:00.000000Z",
		"2026-11-01T09:30:00+0000":       "2026-11-01T09:30:00.000000Z",
		"2026-11-01T09:30:00.25-0130":    "2026-11-01T11:00:00.250000Z",
		"2026-11-01T09:30:00+01:00":      "2026-11-01T08:30:00.000000Z",
		"2016-12-31T23:59:60Z":           "2017-01-01T00:00:00.000000Z",
		"2016-12-31t23:59:60.5+0000":     "2017-01-01T00:00:00.500000Z",
		"1960-12-31T23:59:60Z":           "1961-01-01T00:00:00.000000Z",
		"2026-11-01T09:30:00.123456789Z": "2026-11-01T09:30:00.123456Z",
	} {
		if m, err := Parse(text); err != nil || m.String() != want {
			t.Errorf("%s read as %v, %v; want %s", text, m, err, want)
		}
	}
	for _, text := range []string{
		"", "2026-11-01", "2026-11-01T09:30:00", "2026-11-01T9:30:00Z", "2026-11-01T09:30:00,5Z", "2026-11-01T09:30:00.Z",
		"2026-11-01T09:30:61Z",
		"2026-11-01T09:30:00+24:00", "2026-11-01T09:30:00+2400", "2026-11-01T09:30:00+00:60", "2026-11-01T09:30:00+01",
		"2026-11-01 09:30:00Z",
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "2026-11-01T09:30:00ZZ", "2026-11-01T09:30:00.1.2Z",
		"2026-11-01T09:30:60+00:000",
	} {
		if m, err := Parse(text); err == nil {
			t.Errorf("%q read as %s", text, m)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	m, text := Micros(1_793_525_400_123_456), make([]byte, 0, 32)
	for b.Loop() {
		text = m.AppendJSON(text[:0])
	}
}

func BenchmarkAppendFormat(b *testing.B) {
	m, text := Micros(1_793_525_400_123_456), make([]byte, 0, 32)
	for b.Loop() {
		text = m.Time().AppendFormat(text[:0], layout)
	}
}
