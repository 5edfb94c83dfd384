package web_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/kit/i18n"
	"kartei/web"
)

// TestVendoredScripts checks that the third-party scripts are byte for byte equal to their npm
// releases, by the hashes in SHA256SUMS. The folder has no other files.
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

// TestWeight checks the compressed size of the files that a first visit loads: style sheets of 12
// KB, and scripts of 32 KB with 15 KB of own code.
func TestWeight(t *testing.T) {
	server := styleguide(t)
	answer, err := server.Client().Get(server.URL + "/styleguide")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	page = append(page, web.Asset("settings.css", i18n.German)...)
	for pattern, limit := range map[string]int64{
		`/static/app-[0-9a-f]+\.css`: 12_500, `/static/settings-[0-9a-f]+\.css`: 2_500,
		`/static/app\.de-[0-9a-f]+\.js`: 33_000,
	} {
		found := regexp.MustCompile(pattern).Find(page)
		if found == nil {
			t.Errorf("the page loads no %s", pattern)
		}
		r, err := http.NewRequest(http.MethodGet, server.URL+string(found), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		file, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		file.Body.Close()
		if file.ContentLength <= 0 || file.ContentLength > limit {
			t.Errorf("%s has %d bytes, and may have %d", r.URL.Path, file.ContentLength, limit)
		}
	}
}
