package loopback_test

import (
	"testing"

	"kartei/kit/loopback"
)

func TestHost(t *testing.T) {
	for name, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"[::1]": true,
		"":      false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "0.0.0.0": false,
		"10.0.0.1": false, "::ffff:10.0.0.1": false, "127.1": false,
	} {
		if got := loopback.Host(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
