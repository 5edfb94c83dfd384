package instance

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestAnotherMasterKeyIsRefused checks that a server does not start if its master key is not the
// one with which the data is encrypted. If the server created the wrong key itself, it also removes
// the file.
func TestAnotherMasterKeyIsRefused(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		files := t.TempDir()
		with := func(dir string) Config {
			c := configOf(dir)
			c.Store.DatabaseURL, c.Store.BlobURL = config.DatabaseURL(url), config.BlobURL("file:"+files)
			return c
		}
		first, other := t.TempDir(), t.TempDir()
		end(t, begin(t, with(first)))
		_, err := Start(context.Background(), with(other))
		if !errors.Is(err, ErrOtherMasterKey) || !strings.Contains(err.Error(), "--master-key-file") ||
			!strings.Contains(err.Error(), "master-key forget") {
			t.Fatalf("with a key of its own: %v", err)
		}
		if _, err := os.Stat(filepath.Join(other, "master.key")); !os.IsNotExist(err) {
			t.Errorf("the useless key stayed: %v", err)
		}
		right := with(other)
		right.Server.MasterKeyFile = config.File(filepath.Join(first, "master.key"))
		end(t, begin(t, right))

		named := filepath.Join(t.TempDir(), "k")
		if _, _, err := masterkey.LoadOrCreate(named); err != nil {
			t.Fatal(err)
		}
		wrong := with(other)
		wrong.Server.MasterKeyFile = config.File(named)
		if _, err := Start(context.Background(), wrong); !errors.Is(err, ErrOtherMasterKey) {
			t.Errorf("with another key in a file: %v", err)
		}
		if _, err := os.Stat(named); err != nil {
			t.Errorf("an existing key was removed: %v", err)
		}

		acts, done, err := OpenDoor(context.Background(), &wrong.Store)
		if err != nil {
			t.Fatal(err)
		}
		err = acts.Call(context.Background(), "master-key.forget", Nothing{}, nil)
		done()
		if err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, wrong))
		if _, err := Start(context.Background(), right); !errors.Is(err, ErrOtherMasterKey) {
			t.Errorf("with the key that was given up: %v", err)
		}
	})
}

// TestWarningOfLostDatabase checks that a start with a master key and without a database logs a
// warning. The first start, and starts with a database, log none.
func TestWarningOfLostDatabase(t *testing.T) {
	c := configOf(t.TempDir())
	for _, step := range []struct {
		name string
		lost bool
	}{{"first", false}, {"again", false}, {"lost", true}, {"after it", false}} {
		if step.lost {
			if err := os.Remove(filepath.Join(string(c.Store.DataDir), "kartei.db")); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		end(t, begin(t, c))
		if strings.Contains(log.String(), "the database is new and empty") != step.lost {
			t.Errorf("%s: the log says\n%s", step.name, log.String())
		}
	}
}

// TestOneMasterKeyWins checks that CheckMasterKey accepts one key if five servers with different
// keys start on a new database.
func TestOneMasterKeyWins(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		keys, errs := make([]*masterkey.Key, 5), make([]error, 5)
		var ground sync.WaitGroup
		for i := range keys {
			keys[i] = masterkey.New()
			ground.Go(func() { errs[i] = CheckMasterKey(t.Context(), d, clock.System, masterkey.Ring{Current: keys[i]}) })
		}
		ground.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			case err == nil:
				t.Errorf("%d and %d were both accepted", won, i)
			case !errors.Is(err, ErrOtherMasterKey):
				t.Error(err)
			}
		}
		if won < 0 {
			t.Fatal("no server was accepted")
		}
		if err := CheckMasterKey(t.Context(), d, clock.System, masterkey.Ring{Current: keys[won]}); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestMasterKeyIsChanged checks that a database can change to the next master key, and that the old
// key is then refused.
func TestMasterKeyIsChanged(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		before, after := masterkey.New(), masterkey.New()
		check := func(k *masterkey.Key, previous ...*masterkey.Key) error {
			return CheckMasterKey(t.Context(), d, clock.System, masterkey.Ring{Current: k, Previous: previous})
		}
		for i, err := range []error{
			check(before), check(before, after), check(after, masterkey.New(), before), check(after),
		} {
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if err := check(before); !errors.Is(err, ErrOtherMasterKey) {
			t.Errorf("with the old key only: %v", err)
		}
		replaced := 0
		if err := d.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from audit_lines where organization = 0 and word = 'masterKey.replace' and door = 'start'`).Scan(&replaced)
		}); err != nil || replaced != 1 {
			t.Errorf("%d lines of the audit log, %v", replaced, err)
		}
	})
}
