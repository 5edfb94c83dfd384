package requestlog

import "testing"

func TestStatuses(t *testing.T) {
	for text, want := range map[string]Statuses{
		"401": {401, 401}, "200": {200, 200}, "4xx": {400, 499}, "5XX": {500, 599}, "2xx": {200, 299},
	} {
		var s Statuses
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %v, %v", text, s, err)
		}
		var again Statuses
		written, _ := s.MarshalText()
		if err := again.UnmarshalText(written); err != nil || again != s {
			t.Errorf("%s is written as %s", text, written)
		}
	}
	for _, text := range []string{"", "xx", "0xx", "6xx", "44xx", "4x", "40", "4010", "600", "-01", "4 1", "4x1"} {
		if err := new(Statuses).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
