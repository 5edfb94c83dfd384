package server

import (
	"os"
	"strings"
	"testing"
)

// TestBeginningOfPages checks that all pages show the commands in beginning.
func TestBeginningOfPages(t *testing.T) {
	for _, page := range []string{
		"../../../README.md", "../../../docs/operating/install.md", "../../../docs/operating/web.md",
	} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := "```sh\nkartei " + strings.Join(beginning, "\nkartei ") + "\n```\n"; !strings.Contains(string(b), want) {
			t.Errorf("%s does not have the commands of serve:\n%s", page, want)
		}
	}
}
