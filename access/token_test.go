package access

import (
	"encoding/hex"
	"hash/crc32"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		for _, environment := range []string{Test, Live, AccessTokenForm} {
			s := NewSecret(environment)
			read, reason := parseToken(s.Text)
			if hash := read.hash(); reason != "" || read.form != environment || read.kid != s.Kid ||
				hex.EncodeToString(hash[:]) != s.Hash {
				t.Fatalf("%s is read as %+v, %q", s.Text, read, reason)
			}
			if seen[read.kid] || seen[read.secret] {
				t.Fatal("drawn twice")
			}
			seen[read.kid], seen[read.secret] = true, true
		}
	}
}

// TestChecksumIsCRC32 checks that checksum equals CRC-32 of the standard library. The checksum of
// a known text must not change, because issued keys would be refused.
func TestChecksumIsCRC32(t *testing.T) {
	for _, s := range []string{"", "123456789", "kart_test_0123456789abcdef_0123456789abcdefghijklmnopqr"} {
		want, digits := crc32.ChecksumIEEE([]byte(s)), checksum(s)
		var got uint32
		for _, d := range digits {
			got = got*62 + uint32(strings.IndexByte(base62, d))
		}
		if got != want {
			t.Errorf("%q: %s is %08x, want %08x", s, digits, got, want)
		}
	}
	const known = "kart_test_0123456789abcdef_0123456789abcdefghijklmnopqr"
	sum := checksum(known)
	if string(sum[:]) != "471Lk6" {
		t.Errorf("checksum of the known key: %s", sum)
	}
}

// TestMistypedTokens checks that each single mistyped character and each swap of neighbours is
// detected.
func TestMistypedTokens(t *testing.T) {
	s := NewSecret(Live).Text
	for i := range len(s) {
		for _, c := range "0aZ_ \x00\xff" {
			if wrong := s[:i] + string(c) + s[i+1:]; wrong != s {
				if _, reason := parseToken(wrong); reason == "" {
					t.Errorf("%q at %d is not found", c, i)
				}
			}
		}
		if i > 0 && s[i] != s[i-1] {
			if _, reason := parseToken(s[:i-1] + s[i:i+1] + s[i-1:i] + s[i+1:]); reason == "" {
				t.Errorf("swap at %d is not found", i)
			}
		}
		if _, reason := parseToken(s[:i]); reason != Malformed && i > 0 {
			t.Errorf("cut to %d: %q", i, reason)
		}
	}
}

// TestDeriveSecret checks that a derived secret is the same for the same key and purpose, and
// differs otherwise. It has the form of a random secret, and can be parsed only with that form.
func TestDeriveSecret(t *testing.T) {
	s := DeriveSecret(RefreshTokenForm, []byte("key"), "purpose")
	if again := DeriveSecret(RefreshTokenForm, []byte("key"), "purpose"); again != s {
		t.Errorf("derived twice: %+v, %+v", s, again)
	}
	for _, other := range []Secret{
		DeriveSecret(RefreshTokenForm, []byte("kez"), "purpose"),
		DeriveSecret(RefreshTokenForm, []byte("key"), "purpose2"),
	} {
		if other.Kid == s.Kid || other.Hash == s.Hash {
			t.Errorf("%+v is that of another key or purpose", other)
		}
	}
	read, ok := ParseSecret(RefreshTokenForm, s.Text)
	if !ok || read.Kid != s.Kid || !read.Is(s.Hash) || read.Is(NewSecret(RefreshTokenForm).Hash) {
		t.Errorf("%s is read as %+v, %t", s.Text, read, ok)
	}
	if _, ok := ParseSecret(CodeForm, s.Text); ok {
		t.Error("a refresh token is read as a code")
	}
	if _, reason := parseToken(s.Text); reason != Malformed {
		t.Errorf("a refresh token is a credential: %q", reason)
	}
}

func TestTokensDoNotAllocate(t *testing.T) {
	s := NewSecret(Test).Text
	if n := testing.AllocsPerRun(100, func() {
		read, _ := parseToken(s)
		read.hash()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseToken(f *testing.F) {
	s := NewSecret(Test).Text
	for _, seed := range []string{
		"", s, s[1:], s[:len(s)-1], s + s, strings.ToUpper(s), "Bearer " + s, "kart_test_",
		"kart_live_" + strings.Repeat("0", 51),
		strings.Repeat("\x00", tokenLength), strings.Repeat("ü", tokenLength/2) + "x", "kart_prod" + s[9:],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		read, reason := parseToken(s)
		if reason != "" {
			if reason != Missing && reason != Malformed && reason != WrongChecksum || read.kid != "" && reason != WrongChecksum {
				t.Errorf("%q: %+v, %s", s, read, reason)
			}
			return
		}
		back := "kart_" + read.form + "_" + read.kid + "_" + read.secret
		sum := checksum(back)
		if back+string(sum[:]) != s {
			t.Errorf("%q is read as %+v, which is another key", s, read)
		}
	})
}
