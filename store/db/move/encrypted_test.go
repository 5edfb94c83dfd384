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

// identity creates an age identity, and returns its file and its recipient.
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

// marker is a word in the names of all things in the encrypted database.
const marker = "Zwetschgendatschi"

// sealedCopy is an encrypted copy of a database with 3000 things.
type sealedCopy struct {
	source       db.DB
	file         string
	content      []byte
	mine, theirs string        // files of identities: only mine decrypts the copy
	empty        func() string // returns the URL of a new target of a restore
}

func seal(t *testing.T, url string) *sealedCopy {
	t.Helper()
	needTools(t, url)
	s := &sealedCopy{source: dbtest.Open(t, url, db.Options{NoSync: true}), file: filepath.Join(t.TempDir(), "copy.age")}
	table(t, s.source)
	for n := range 3000 {
		dbtest.Run(t, s.source, "insert into things (n, name) values ($1, $2)", n, fmt.Sprint(marker, n))
	}
	var recipient string
	s.mine, recipient = identity(t)
	s.theirs, _ = identity(t)
	to, err := move.ParseRecipients([]string{"# the office", "", recipient})
	if err != nil || len(to) != 1 {
		t.Fatalf("%v, %v", to, err)
	}
	if err := move.BackupFor(ctx, s.source, s.file, to); err != nil {
		t.Fatal(err)
	}
	if s.content, err = os.ReadFile(s.file); err != nil {
		t.Fatal(err)
	}
	s.empty = func() string {
		if strings.HasPrefix(url, "postgres:") {
			return dbtest.EmptyPostgresURL(t)
		}
		return "sqlite:" + filepath.Join(t.TempDir(), "restored.db")
	}
	return s
}

// identities reads identities from files.
func identities(t *testing.T, files ...string) move.Identities {
	t.Helper()
	list, err := move.ReadIdentities(files...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEncryptedBackup checks that only an identity of the recipient decrypts the copy. No plain
// copy remains on the disk.
func TestEncryptedBackup(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := seal(t, url)
		for _, plain := range []string{marker, "things", "SQLite format", "PGDMP"} {
			if bytes.Contains(s.content, []byte(plain)) {
				t.Errorf("the copy holds %q", plain)
			}
		}
		places := []string{filepath.Dir(s.file)}
		if path, is := strings.CutPrefix(url, "sqlite:"); is {
			places = append(places, filepath.Dir(path))
		}
		for _, place := range places {
			if left, _ := filepath.Glob(filepath.Join(place, ".kartei-*")); len(left) > 0 {
				t.Errorf("drafts stayed: %v", left)
			}
		}
		target := s.empty()
		if _, err := move.Restore(ctx, s.file, target, false); !errors.Is(err, move.ErrEncrypted) ||
			!strings.Contains(err.Error(), "--identity") {
			t.Errorf("no identity: %v", err)
		}
		if err := move.CheckCopy(s.file, identities(t, s.theirs)); err == nil {
			t.Error("the check takes another identity")
		}
		if _, err := move.RestoreWith(ctx, s.file, target, false, identities(t, s.theirs), nil); err == nil ||
			!strings.Contains(err.Error(), "for other recipients") {
			t.Errorf("another identity: %v", err)
		}
		if _, err := move.RestoreWith(ctx, s.file, target, false, identities(t, s.theirs, s.mine), nil); err != nil {
			t.Fatal(err)
		}
		restored := dbtest.Open(t, target, db.Options{})
		if n := dbtest.Texts(t, restored, "select cast(count(*) as text) from things where name like '"+marker+
			"%'"); len(n) != 1 || n[0] != "3000" {
			t.Errorf("restored %v", n)
		}
		plain := filepath.Join(t.TempDir(), "plain")
		if err := move.Backup(ctx, s.source, plain); err != nil {
			t.Fatal(err)
		}
		if _, err := move.RestoreWith(ctx, plain, s.empty(), false, identities(t, s.mine), nil); err == nil ||
			!strings.Contains(err.Error(), "not an encrypted copy") {
			t.Errorf("an identity for a plain copy: %v", err)
		}
	})
}

// TestDamagedEncryptedBackup checks that a cut or changed copy is not restored.
func TestDamagedEncryptedBackup(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := seal(t, url)
		target, with := s.empty(), identities(t, s.mine)
		refused := func(what string, content []byte) {
			t.Helper()
			path := filepath.Join(t.TempDir(), "damaged")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := move.RestoreWith(ctx, path, target, false, with, nil); err == nil ||
				!strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, keep := range []int{len(s.content) - 1, len(s.content) - 17, len(s.content) / 2, 64<<10 + 300, 250, 100, 30} {
			refused("cut off", s.content[:min(keep, len(s.content)-1)])
		}
		// age writes chunks of 64 KiB with a tag of 16 bytes. A copy that is cut at this place has
		// only whole chunks.
		header := bytes.Index(s.content, []byte("\n---")) + 1
		header += bytes.IndexByte(s.content[header:], '\n') + 1 + 16
		refused("cut between chunks", s.content[:header+64<<10+16])
		for _, at := range []int{len(s.content) - 1, len(s.content) / 2, header + 5, header - 40} {
			changed := bytes.Clone(s.content)
			changed[at] ^= 1
			refused("changed", changed)
		}
		refused("more at the end", append(bytes.Clone(s.content), "more"...))
		if path, is := strings.CutPrefix(target, "sqlite:"); is {
			left, _ := os.ReadDir(filepath.Dir(path))
			for _, e := range left {
				if !strings.HasSuffix(e.Name(), "lock") {
					t.Errorf("refused copies left %s", e.Name())
				}
			}
		}
	})
}

// TestRecipients checks which recipients are accepted. The error must not repeat a secret key that
// was given by mistake.
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
	if _, err := move.RestoreWith(ctx, file, "sqlite:"+filepath.Join(t.TempDir(), "restored.db"), false, with,
		nil); err != nil {
		t.Error(err)
	}
	secret, _ := os.ReadFile(first(identity(t)))
	for _, bad := range []string{
		strings.Split(string(secret), "\n")[1], "age1qqqqzz", "ssh-ed25519 AAAA", "anna.berg@example.com",
	} {
		if _, err := move.ParseRecipients([]string{bad}); err == nil || strings.Contains(err.Error(), bad) ||
			!strings.Contains(err.Error(), "age1...") {
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
