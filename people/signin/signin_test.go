package signin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
)

// TestTOTP checks the vectors of RFC 6238, appendix B, for SHA-1 and with six digits.
func TestTOTP(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		now := time.Unix(at, 0)
		if got := TOTP(secret, now); got != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
		step, ok := CheckTOTP(secret, want, clock.FromTime(now), 0)
		if !ok || step != at/30 {
			t.Errorf("%d: %d %t", at, step, ok)
		}
		if _, ok := CheckTOTP(secret, want, clock.FromTime(now), step); ok {
			t.Errorf("%d: a code serves twice", at)
		}
		for _, away := range []time.Duration{-30 * time.Second, 30 * time.Second} {
			if _, ok := CheckTOTP(secret, want, clock.FromTime(now.Add(away)), 0); !ok {
				t.Errorf("%d: a clock that is wrong by %s", at, away)
			}
			if _, ok := CheckTOTP(secret, want, clock.FromTime(now.Add(2*away+away/30)), 0); ok && at > 60 {
				t.Errorf("%d: a code of %s", at, 2*away)
			}
		}
	}
}

// TestHasher checks the stored text and the verification of passwords. A hash with older costs is
// outdated.
func TestHasher(t *testing.T) {
	h, ctx := NewHasher(), t.Context()
	stored, err := h.Hash(ctx, "Grüße aus Köln")
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%s %v", stored, err)
	}
	turn, err := h.Reserve(Origin{Device: "d"})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	for password, want := range map[string]bool{
		"Grüße aus Köln": true, "Gru\u0308ße aus Ko\u0308ln": true, "grüße aus Köln": false, "": false,
	} {
		if same, outdated, err := turn.Verify(ctx, stored, password); same != want || outdated || err != nil {
			t.Errorf("%q: %t %t %v", password, same, outdated, err)
		}
	}
	if same, _, err := turn.Verify(ctx, "", "x"); same || err != nil {
		t.Errorf("nothing stored: %t %v", same, err)
	}
	h.costs.time = 3
	if same, outdated, err := turn.Verify(ctx, stored, "Grüße aus Köln"); !same || !outdated || err != nil {
		t.Errorf("other costs: %t %t %v", same, outdated, err)
	}
	for _, broken := range []string{
		"x", "$argon2id$v=19$m=99999999,t=2,p=1$AAAA$AAAA", strings.Replace(stored, "argon2id", "argon2i", 1),
		stored + "A",
	} {
		if same, _, err := turn.Verify(ctx, broken, "x"); same || err == nil {
			t.Errorf("%s: %t %v", broken, same, err)
		}
	}
}

// TestPlaces checks that each class has its own places when another class has none left. One
// network, link or device does not get all places of its class.
func TestPlaces(t *testing.T) {
	h := NewHasher()
	from := func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:1::1", n)) }
	for name, origin := range map[string]func(n int) Origin{
		"strangers":      func(n int) Origin { return Origin{Address: from(n)} },
		"known networks": func(n int) Origin { return Origin{Address: from(n), Known: true} },
		"devices":        func(n int) Origin { return Origin{Address: from(0), Device: fmt.Sprint(n)} },
	} {
		take := func(n int) (turns []*Turn) {
			for i := range 1000 {
				who := n
				if n == 0 {
					who = 1 + i
				}
				turn, err := h.Reserve(origin(who))
				if err != nil {
					return turns
				}
				turns = append(turns, turn)
			}
			t.Fatalf("%s have no bound", name)
			return nil
		}
		one := take(1)
		if len(one) == 0 || len(one) > h.places/2 {
			t.Errorf("%s: one has %d of %d places", name, len(one), h.places)
		}
		for _, turn := range one {
			turn.End()
		}
		for range 2 {
			all := take(0)
			if len(all) != h.places {
				t.Errorf("%s: %d of %d places", name, len(all), h.places)
			}
			for _, turn := range all {
				turn.End()
			}
		}
		defer func(all []*Turn) {
			for _, turn := range all {
				turn.End()
			}
		}(take(0))
	}
	if _, err := h.Hash(t.Context(), "x"); err != ErrBusy {
		t.Errorf("all places are taken: %v", err)
	}
}

// TestStrangersLeaveAProcessor checks that strangers cannot use all processors. With two
// processors, a known device computes while strangers use all of their processors.
func TestStrangersLeaveAProcessor(t *testing.T) {
	h := NewHasher()
	h.slots, h.strangers = make(chan struct{}, 2), make(chan struct{}, 1)
	turn := func(o Origin) *Turn {
		turn, err := h.Reserve(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(turn.End)
		return turn
	}
	end, err := turn(Origin{}).processor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn(Origin{}).processor(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a second stranger: %v", err)
	}
	if _, err := turn(Origin{Device: "d"}).Hash(t.Context(), "x"); err != nil {
		t.Errorf("a known device: %v", err)
	}
	end()
	if len(h.slots) != 0 || len(h.strangers) != 0 {
		t.Error("a processor is not given back")
	}
}

func TestGuessable(t *testing.T) {
	for password, want := range map[string]bool{
		"aaaaaaaaaaaaaa": true, "abcabcabcabc": true, "Passwort2026!!": true, "123456789012": true, "qwertzuiop123": true,
		"ida.berg@kanzlei.example": true, "Kanzlei-Sommer-2026": true,
		"vier Woerter aus dem Sack": false, "correct horse battery staple": false, "Xk7#pq!mZ02ab": false,
	} {
		if got := Guessable(password, "ida.berg@kanzlei.example"); got != want {
			t.Errorf("%q: %t", password, got)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	for _, code := range NewRecoveryCodes() {
		if len(code) != 19 || HashRecoveryCode(code) != HashRecoveryCode(" "+
			strings.ToUpper(strings.ReplaceAll(code, "-", " "))) {
			t.Error(code)
		}
	}
	if HashRecoveryCode("0123-4567-89ab-cdef") != HashRecoveryCode("oi23-4567-89ab-cdef") {
		t.Error("letters that look like digits")
	}
}
