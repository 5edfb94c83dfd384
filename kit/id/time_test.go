package id

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	at := Time(New(Request))
	if after := time.Now(); at.Before(before) || at.After(after) {
		t.Errorf("%v is not between %v and %v", at, before, after)
	}
	var last [16]byte
	for i := range 6 {
		last[i] = 0xff
	}
	if at := Time(Encode(Request, last)).UnixMilli(); at != 1<<48-1 {
		t.Errorf("%d", at)
	}
}
