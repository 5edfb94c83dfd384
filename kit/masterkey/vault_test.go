package masterkey

import (
	"strings"
	"testing"
)

// TestVault checks that Open decrypts a secret only for its own place, with any key of the ring.
// The encrypted text must not contain the secret.
func TestVault(t *testing.T) {
	before, now, other := New(), New(), New()
	old := Ring{Current: before}.Vault("secrets")
	both := Ring{Current: now, Previous: []*Key{before}}.Vault("secrets")
	sealed := old.Seal([]byte("whsec_abc"), "1|whe_1")
	if strings.Contains(sealed, "whsec") || sealed == old.Seal([]byte("whsec_abc"), "1|whe_1") {
		t.Fatalf("sealed as %s", sealed)
	}
	for name, test := range map[string]struct {
		v             Vault
		sealed, where string
		opens, first  bool
	}{
		"the same":          {old, sealed, "1|whe_1", true, true},
		"a replaced key":    {both, sealed, "1|whe_1", true, false},
		"sealed anew":       {both, both.Seal([]byte("whsec_abc"), "1|whe_1"), "1|whe_1", true, true},
		"another row":       {old, sealed, "2|whe_1", false, false},
		"another key":       {Ring{Current: other}.Vault("secrets"), sealed, "1|whe_1", false, false},
		"another purpose":   {Ring{Current: before}.Vault("answers"), sealed, "1|whe_1", false, false},
		"a changed byte":    {old, strings.ToUpper(sealed[:8]) + sealed[8:] + "AA", "1|whe_1", false, false},
		"cut short":         {old, sealed[:20], "1|whe_1", false, false},
		"nothing":           {old, "", "1|whe_1", false, false},
		"what is no base64": {old, "?" + sealed, "1|whe_1", false, false},
	} {
		secret, first, err := test.v.Open(test.sealed, test.where)
		if (err == nil) != test.opens || first != test.first || (err == nil) != (string(secret) == "whsec_abc") {
			t.Errorf("%s: %q, %v, %v", name, secret, first, err)
		}
	}
	if _, err := NewVault(); err == nil {
		t.Error("a vault without a key was made")
	}
	if _, err := NewVault(make([]byte, 31)); err == nil {
		t.Error("a short key was accepted")
	}
}
