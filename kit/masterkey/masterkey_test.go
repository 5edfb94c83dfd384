package masterkey

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.key")
	first, created, err := LoadOrCreate(path)
	if err != nil || !created {
		t.Fatalf("first: created %v, %v", created, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != Size {
		t.Fatalf("file: %v, %v", info, err)
	}
	second, created, err := LoadOrCreate(path)
	if err != nil || created || *second != *first {
		t.Fatalf("second: created %v, same %v, %v", created, *second == *first, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".master-*")); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestLoadOrCreateTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.key")
	keys, made := make([]*Key, 16), make([]bool, 16)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], made[i], err = LoadOrCreate(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	count := 0
	for i, k := range keys {
		if *k != *keys[0] {
			t.Fatalf("process %d has another key", i)
		}
		if made[i] {
			count++
		}
	}
	if count != 1 {
		t.Fatalf("%d processes made the key", count)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, n := range []int{0, 31, 33, 64} {
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadOrCreate(path); err == nil || !strings.Contains(err.Error(), "exactly 32") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, _, err := LoadOrCreate(filepath.Join(t.TempDir(), "no", "such", "folder")); err == nil {
		t.Error("a folder that does not exist was accepted")
	}
}

func TestDerive(t *testing.T) {
	k := New()
	a, b := k.Derive("cursors"), k.Derive("stored answers")
	if len(a) != 32 || bytes.Equal(a, b) || !bytes.Equal(a, k.Derive("cursors")) ||
		bytes.Equal(a, New().Derive("cursors")) {
		t.Fatal("derived keys must depend on the purpose and on the master key, and on nothing else")
	}
	shown := fmt.Sprintf("%v %+v %#v %s", k, k, k, k)
	if strings.Contains(shown, hex.EncodeToString(k.bytes[:])) || shown != "(hidden) (hidden) (hidden) (hidden)" {
		t.Fatalf("formats as %s", shown)
	}
}
