package clock

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTextIsRFC3339(t *testing.T) {
	for range 10_000 {
		check(t, Micros(rand.Int64N(253_402_300_800_000_000))) // up to the year 9999
	}
	for _, s := range []string{"0001-01-01T00:00:00Z", "0999-12-31T23:59:59.999999Z", "1000-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z",
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
