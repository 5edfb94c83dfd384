package postgres

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPageNamesSettings checks that the line for PgBouncer in replicas.md has each setting that a
// connection sends. PgBouncer refuses the connection otherwise. It knows application_name itself.
func TestPageNamesSettings(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/replicas.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ignore_startup_parameters = (.*)$`).FindStringSubmatch(string(page))
	if line == nil {
		t.Fatal("replicas.md has no ignore_startup_parameters")
	}
	named := map[string]bool{"application_name": true}
	for name := range strings.SplitSeq(line[1], ",") {
		named[name] = true
	}
	sent := []string{"default_transaction_read_only"}
	for name := range limits {
		sent = append(sent, name)
	}
	for _, name := range sent {
		if !named[name] {
			t.Errorf("replicas.md does not name %s", name)
		}
	}
}
