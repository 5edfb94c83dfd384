package instance

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/signin"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestRotateBlobs checks that after blobs.rotate the running instance and later instances need only
// the new master key.
func TestRotateBlobs(t *testing.T) {
	dir := t.TempDir()
	first := begin(t, configOf(dir))
	const name, text = "files/1/doc_a", "Sehr geehrte Frau Morgenstern"
	put := func(i *Instance, name string) {
		t.Helper()
		if _, err := i.Blobs.Put(context.Background(), name, strings.NewReader(text),
			blob.Expectation{Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	put(first, name)
	put(first, "uploads/1/upl_a")
	if err := first.DB.Write(t.Context(), func(tx db.Tx) error {
		tx.Queue(`insert into accounts (id, email, email_folded, totp_secret, created_at) values ('acc_a', 'a', 'a', $1, 1)`,
			first.keys.Vault(signin.SecretsPurpose).Seal([]byte("geheim"), "acc_a"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	end(t, first)
	if b, err := os.ReadFile(filepath.Join(dir, "files", name+".sealed")); err != nil ||
		bytes.Contains(b, []byte("Morgenstern")) {
		t.Errorf("not encrypted: %v", err)
	}

	renewed := configOf(dir)
	renewed.Server.MasterKeyFile = config.File(filepath.Join(dir, "new.key"))
	if _, _, err := masterkey.LoadOrCreate(string(renewed.Server.MasterKeyFile)); err != nil {
		t.Fatal(err)
	}
	renewed.Server.PreviousMasterKeyFiles = []config.File{config.File(filepath.Join(dir, "master.key"))}
	second := begin(t, renewed)
	for i, want := range []RotateOutput{
		{Looked: 2, Changed: 2, Factors: 1, Errors: []string{}},
		{Looked: 2, Errors: []string{}},
	} {
		var out RotateOutput
		if err := second.door().Call(context.Background(), "blobs.rotate", Nothing{}, &out); err != nil ||
			out.Looked != want.Looked || out.Changed != want.Changed || out.Factors != want.Factors || out.Failed != 0 {
			t.Errorf("time %d: %+v, %v", i, out, err)
		}
	}
	end(t, second)

	renewed.Server.PreviousMasterKeyFiles = nil
	third := begin(t, renewed)
	var sealed string
	if err := third.DB.Read(t.Context(), func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), `select totp_secret from accounts`).Scan(&sealed)
	}); err != nil {
		t.Fatal(err)
	}
	if secret, _, err := third.keys.Vault(signin.SecretsPurpose).Open(sealed, "acc_a"); err != nil ||
		string(secret) != "geheim" {
		t.Errorf("%q %v", secret, err)
	}
	r, err := third.Blobs.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != text {
		t.Errorf("%q, %v", b, err)
	}
	end(t, third)

	// The act works without a server. If the key decrypts none of the files, the act reports each
	// file.
	acts, done, err := OpenBlobDoor(context.Background(), &renewed.Store, &config.Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var out RotateOutput
	if err := acts.Call(context.Background(), "blobs.rotate", Nothing{}, &out); err != nil || out.Failed != 2 ||
		out.Unreadable != 1 || len(out.Errors) != 3 || !strings.Contains(out.Errors[1], "another master key") {
		t.Errorf("with the old key: %+v, %v", out, err)
	}
}

func TestSweepBlobs(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	left := filepath.Join(dir, "files", "unfinished", "left")
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := &Instance{
		config: configOf(dir),
		clock:  clock.NewFake(now.Add(50 * time.Minute)),
		logger: configOf(dir).Logger,
		keys:   masterkey.Ring{Current: masterkey.New()},
	}
	if err := i.openBlobs(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer i.Blobs.Close()
	ctx, cancel := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() { i.sweepBlobs(ctx); close(swept) }()
	fake := i.clock.(*clock.Fake)
	fake.Await(1)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("after 50 minutes: %v", err)
	}
	fake.Advance(sweepEvery)
	fake.Await(1)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("after 65 minutes: %v", err)
	}
	cancel()
	<-swept
}

// TestSweepFolder checks that the start removes all unfinished files if no other process can be
// writing them.
func TestSweepFolder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dir := t.TempDir()
		left := filepath.Join(dir, "files", "unfinished", "left")
		i := &Instance{
			config: configOf(dir),
			clock:  clock.NewFake(time.Now().Add(time.Minute)),
			logger: configOf(dir).Logger,
			keys:   masterkey.Ring{Current: masterkey.New()},
			DB:     d,
		}
		if err := i.openBlobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer i.Blobs.Close()
		if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		i.sweepFolder(t.Context())
		if _, err := os.Stat(left); os.IsNotExist(err) != (d.Dialect().Name == "sqlite") {
			t.Errorf("%v", err)
		}
	})
}

// TestSweepAtStart checks that a server removes the unfinished files of a killed process when it
// starts.
func TestSweepAtStart(t *testing.T) {
	dir := t.TempDir()
	end(t, begin(t, configOf(dir)))
	left := filepath.Join(dir, "files", "unfinished", "left")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, begin(t, configOf(dir)))
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
