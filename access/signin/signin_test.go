package signin

import (
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
)

// TestTOTP has the vectors of RFC 6238, appendix B, for SHA-1, with six digits.
func TestTOTP(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
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

// TestHasher checks what is stored, and that an old hash is recognized.
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
	for password, want := range map[string]bool{"Grüße aus Köln": true, "Gru\u0308ße aus Ko\u0308ln": true, "grüße aus Köln": false, "": false} {
		if same, outdated, err := turn.Verify(ctx, stored, password); same != want || outdated || err != nil {
			t.Errorf("%q: %t %t %v", password, same, outdated, err)
		}
	}
	if same, _, err := turn.Verify(ctx, "", "x"); same || err != nil {
		t.Errorf("nothing stored: %t %v", same, err)
	}
	defer func(p params) { current = p }(current)
	current.time = 3
	if same, outdated, err := turn.Verify(ctx, stored, "Grüße aus Köln"); !same || !outdated || err != nil {
		t.Errorf("other costs: %t %t %v", same, outdated, err)
	}
	for _, broken := range []string{"x", "$argon2id$v=19$m=99999999,t=2,p=1$AAAA$AAAA", strings.Replace(stored, "argon2id", "argon2i", 1), stored + "A"} {
		if same, _, err := turn.Verify(ctx, broken, "x"); same || err == nil {
			t.Errorf("%s: %t %v", broken, same, err)
		}
	}
}

func TestGuessable(t *testing.T) {
	for password, want := range map[string]bool{
		"aaaaaaaaaaaaaa": true, "abcabcabcabc": true, "Passwort2026!!": true, "123456789012": true, "qwertzuiop123": true, "ida.berg@kanzlei.example": true, "Kanzlei-Sommer-2026": true,
		"vier Woerter aus dem Sack": false, "correct horse battery staple": false, "Xk7#pq!mZ02ab": false,
	} {
		if got := Guessable(password, "ida.berg@kanzlei.example"); got != want {
			t.Errorf("%q: %t", password, got)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	for _, code := range NewRecoveryCodes() {
		if len(code) != 19 || HashRecoveryCode(code) != HashRecoveryCode(" "+strings.ToUpper(strings.ReplaceAll(code, "-", " "))) {
			t.Error(code)
		}
	}
	if HashRecoveryCode("0123-4567-89ab-cdef") != HashRecoveryCode("oi23-4567-89ab-cdef") {
		t.Error("letters that look like digits")
	}
}
