package keys

import (
	"os"
	"regexp"
	"testing"
)

// Each reason of access has words, and no other word is there.
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
