package move_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/test/dbtest"
)

// identity creates an identity, and returns its file and its recipient.
func identity(t *testing.T) (file, recipient string) {
	t.Helper()
	made, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(file, []byte("# made by a test\n"+made.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, made.Recipient().String()
}

// TestEncryptedBackup: only the holder of an identity can open the copy. A cut
// or changed copy restores nothing. No plain copy remains.
func TestEncryptedBackup(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		needTools(t, url)
		source := dbtest.Open(t, url, db.Options{NoSync: true})
		table(t, source)
		const marker = "Zwetschgendatschi"
		for n := range 3000 {
			dbtest.Run(t, source, "insert into things (n, name) values ($1, $2)", n, fmt.Sprint(marker, n))
		}
		mine, recipient := identity(t)
		theirs, _ := identity(t)
		to, err := move.ParseRecipients([]string{"# the office", "", recipient})
		if err != nil || len(to) != 1 {
			t.Fatalf("%v, %v", to, err)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "copy.age")
		if err := move.BackupFor(ctx, source, file, to); err != nil {
			t.Fatal(err)
		}
		bytesOf, err := os.ReadFile(file)
		if err != nil || bytes.Contains(bytesOf, []byte(marker)) || bytes.Contains(bytesOf, []byte("things")) || bytes.Contains(bytesOf, []byte("SQLite format")) || bytes.Contains(bytesOf, []byte("PGDMP")) {
			t.Errorf("the copy can be read: %v", err)
		}
		places := []string{dir}
		if path, is := strings.CutPrefix(url, "sqlite:"); is {
			places = append(places, filepath.Dir(path))
		}
		for _, place := range places {
			if left, _ := filepath.Glob(filepath.Join(place, ".kartei-*")); len(left) > 0 {
				t.Errorf("drafts stayed: %v", left)
			}
		}

		empty := func() string {
			if strings.HasPrefix(url, "postgres:") {
				return dbtest.EmptyPostgresURL(t)
			}
			return "sqlite:" + filepath.Join(t.TempDir(), "restored.db")
		}
		identities := func(files ...string) move.Identities {
			list, err := move.ReadIdentities(files...)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		target := empty()
		refused := func(what, from string, with move.Identities, words string) {
			t.Helper()
			_, err := move.RestoreWith(ctx, from, target, false, with)
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("no identity", file, nil, "--identity")
		if _, err := move.Restore(ctx, file, target, false); !errors.Is(err, move.ErrEncrypted) {
			t.Errorf("no identity: %v", err)
		}
		if err := move.CheckCopy(file, identities(theirs)); err == nil {
			t.Error("the check takes another identity")
		}
		refused("another identity", file, identities(theirs), "for others")
		spoilt := func(name string, content []byte) string {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		for _, keep := range []int{len(bytesOf) - 1, len(bytesOf) - 17, len(bytesOf) / 2, 64<<10 + 300, 250, 100, 30} {
			refused("cut off", spoilt("cut", bytesOf[:min(keep, len(bytesOf)-1)]), identities(mine), "damaged")
		}
		// age writes chunks of 64 KiB and a tag of 16 bytes, so a copy that is
		// cut there has only whole chunks.
		header := bytes.Index(bytesOf, []byte("\n---")) + 1
		header += bytes.IndexByte(bytesOf[header:], '\n') + 1 + 16
		refused("cut between chunks", spoilt("cut", bytesOf[:header+64<<10+16]), identities(mine), "damaged")
		for _, at := range []int{len(bytesOf) - 1, len(bytesOf) / 2, header + 5, header - 40} {
			changed := bytes.Clone(bytesOf)
			changed[at] ^= 1
			refused("changed", spoilt("changed", changed), identities(mine), "damaged")
		}
		refused("more at the end", spoilt("longer", append(bytes.Clone(bytesOf), "more"...)), identities(mine), "damaged")
		if path, is := strings.CutPrefix(target, "sqlite:"); is {
			left, _ := os.ReadDir(filepath.Dir(path))
			for _, e := range left {
				if !strings.HasSuffix(e.Name(), "lock") {
					t.Errorf("refused copies left %s", e.Name())
				}
			}
		}

		if _, err := move.RestoreWith(ctx, file, target, false, identities(theirs, mine)); err != nil {
			t.Fatal(err)
		}
		restored := dbtest.Open(t, target, db.Options{})
		if n := dbtest.Texts(t, restored, "select cast(count(*) as text) from things where name like '"+marker+"%'"); len(n) != 1 || n[0] != "3000" {
			t.Errorf("restored %v", n)
		}
		plain := filepath.Join(dir, "plain")
		if err := move.Backup(ctx, source, plain); err != nil {
			t.Fatal(err)
		}
		if _, err := move.RestoreWith(ctx, plain, empty(), false, identities(mine)); err == nil || !strings.Contains(err.Error(), "not an encrypted copy") {
			t.Errorf("an identity for a plain copy: %v", err)
		}
	})
}

// TestRecipients covers accepted recipients. The error must not repeat a secret
// key that was given by mistake.
func TestRecipients(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	authorized, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(key, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := move.ParseRecipients([]string{string(ssh.MarshalAuthorizedKey(authorized))})
	if err != nil || len(to) != 1 {
		t.Fatalf("%v, %v", to, err)
	}
	with, err := move.ReadIdentities(key)
	if err != nil {
		t.Fatal(err)
	}
	source := dbtest.SQLite(t)
	file := filepath.Join(t.TempDir(), "copy.age")
	if err := move.BackupFor(ctx, source, file, to); err != nil {
		t.Fatal(err)
	}
	if _, err := move.RestoreWith(ctx, file, "sqlite:"+filepath.Join(t.TempDir(), "restored.db"), false, with); err != nil {
		t.Error(err)
	}
	secret, _ := os.ReadFile(first(identity(t)))
	for _, bad := range []string{strings.Split(string(secret), "\n")[1], "age1qqqqzz", "ssh-ed25519 AAAA", "anna.berg@example.com"} {
		if _, err := move.ParseRecipients([]string{bad}); err == nil || strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "age1...") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	if err := os.WriteFile(nothing, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := move.ReadIdentities(nothing); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
}

func first(file, _ string) string { return file }
