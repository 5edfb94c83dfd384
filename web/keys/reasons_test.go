package keys

import (
	"os"
	"regexp"
	"testing"
)

// TestReasons checks that reasons has a text for each reason of package access, and no others.
func TestReasons(t *testing.T) {
	source, err := os.ReadFile("../../access/refusal.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`Reason\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		known[m[1]] = true
		if reasons[m[1]] == "" {
			t.Errorf("the reason %s has no words", m[1])
		}
	}
	for reason := range reasons {
		if !known[reason] {
			t.Errorf("there is no reason %s", reason)
		}
	}
}
