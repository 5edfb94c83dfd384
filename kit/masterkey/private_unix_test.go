//go:build unix

package masterkey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadRefusesOpenKey checks that a key is refused if other users may read or replace its file.
// If the file belongs to root, its group may read it.
func TestLoadRefusesOpenKey(t *testing.T) {
	const nobody = 65534
	owners := []int{os.Geteuid()}
	if owners[0] == 0 {
		owners = append(owners, nobody)
	}
	for _, owner := range owners {
		for mode, ofRoot := range map[fs.FileMode]bool{
			0o600: true, 0o400: true, 0o700: true, 0o640: true, 0o440: true,
			0o644: false, 0o604: false, 0o660: false, 0o620: false, 0o610: false, 0o601: false, 0o602: false, 0o666: false,
			0o777: false,
		} {
			want := ofRoot && (owner == 0 || mode&0o077 == 0)
			t.Run(fmt.Sprintf("%04o of %d", mode, owner), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "master.key")
				if err := write(path, make([]byte, Size)); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(os.Chown(path, owner, -1), os.Chmod(path, mode)); err != nil {
					t.Fatal(err)
				}
				for _, path := range []string{path, link(t, path)} {
					_, err := Load(path)
					if want && err != nil || !want && !errors.Is(err, ErrOpen) {
						t.Fatalf("%v, want %t", err, want)
					}
					if _, created, again := LoadOrCreate(path); created || (again == nil) != want {
						t.Errorf("LoadOrCreate: created %t, %v", created, again)
					}
					if err != nil && (!strings.Contains(err.Error(), fmt.Sprintf("%04o", mode)) ||
						!strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), path)) {
						t.Errorf("it does not say which and what to do: %v", err)
					}
				}
			})
		}
	}
}

// link returns a symbolic link to path. Kubernetes makes such links for secrets.
func link(t *testing.T, path string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	return link
}
