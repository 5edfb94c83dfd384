package shell

import (
	"strings"
	"testing"
	"time"
)

func TestFormTokens(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	tokens := formTokens{key: []byte("0123456789abcdef0123456789abcdef"), now: func() time.Time { return now }}
	token := tokens.Mint("usr_ida")
	if tokens.Mint("usr_ida") == token {
		t.Error("two forms have the same token")
	}
	if !tokens.Valid(token, "usr_ida") {
		t.Error("a token is refused to its person")
	}
	for what, refused := range map[string]bool{
		"another person":    tokens.Valid(token, "usr_jan"),
		"nobody":            tokens.Valid(token, ""),
		"another key":       formTokens{key: []byte("another"), now: tokens.now}.Valid(token, "usr_ida"),
		"a changed token":   tokens.Valid("A"+token[1:], "usr_ida") && !strings.HasPrefix(token, "A"),
		"a truncated token": tokens.Valid(token[:20], "usr_ida"),
		"no token":          tokens.Valid("", "usr_ida"),
	} {
		if refused {
			t.Errorf("a token is accepted from %s", what)
		}
	}
	now = now.Add(tokenLifetime + time.Minute)
	if tokens.Valid(token, "usr_ida") {
		t.Error("an old token is accepted")
	}
}
