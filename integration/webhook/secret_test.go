package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func secret(t *testing.T) Secret {
	t.Helper()
	s, err := NewSecret(rand.Reader)
	if err != nil || len(s) != 32 {
		t.Fatal(len(s), err)
	}
	return s
}

func TestSecretsAreBounded(t *testing.T) {
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for text, want := range map[string]bool{
		of(0): false, of(23): false, of(24): true, of(32): true, of(64): true, of(65): false,
		"": false, "whsec_": false, strings.TrimPrefix(of(32), "whsec_"): false,
		strings.TrimRight(of(32), "="): false, strings.ReplaceAll(of(32), "A", "-"): false,
		of(32) + "\n": false, " " + of(32): false, "whsec_whsec_" + of(32): false,
	} {
		s, err := ParseSecret(text)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrSecret) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
		if err == nil && s.Reveal() != text {
			t.Errorf("%q came back as %q", text, s.Reveal())
		}
	}
}

func TestSecretsStayOutOfLogs(t *testing.T) {
	s := secret(t)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "secret", s, "in", []any{s})
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(encoded), log.String(), fmt.Sprint(s),
		fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s),
		fmt.Sprintf("%v", struct{ Secrets []Secret }{[]Secret{s}}),
	} {
		if strings.Contains(text, s.Reveal()[6:]) || strings.Contains(text, fmt.Sprintf("%x", []byte(s))) ||
			strings.Contains(text, fmt.Sprint([]byte(s))) {
			t.Error("a secret can be read in", text)
		}
	}
}
