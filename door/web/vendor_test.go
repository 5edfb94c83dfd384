package web_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The scripts of others are byte for byte those of their releases on npm:
// SHA256SUMS was made of the package, and nothing else lies beside them.
func TestVendoredScripts(t *testing.T) {
	const folder = "static/vendor"
	list, err := os.Open(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	listed := []string{"SHA256SUMS"}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		want, name, _ := strings.Cut(lines.Text(), "  ")
		body, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is not what its release has", name)
		}
		listed = append(listed, name)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(listed, e.Name()) {
			t.Errorf("%s is not in SHA256SUMS", e.Name())
		}
	}
}
