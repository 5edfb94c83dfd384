//go:build unix

package instance

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/instance/config"
	"kartei/kit/masterkey"
)

// TestStartWithOpenPermissions checks that a start logs a warning if others can access the data
// folder. If others can read a current or previous master key, the start and the commands that need
// the key fail.
func TestStartWithOpenPermissions(t *testing.T) {
	c := configOf(t.TempDir())
	if err := os.Chmod(string(c.Store.DataDir), 0o777); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	end(t, begin(t, c))
	if strings.Count(log.String(), "data folder") != 1 {
		t.Errorf("%s", &log)
	}
	key := filepath.Join(string(c.Store.DataDir), "master.key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if i, err := Start(context.Background(), c); !errors.Is(err, masterkey.ErrOpen) {
		t.Errorf("a start: %v", err)
		i.Close(context.Background())
	}
	if _, _, err := OpenBackup(context.Background(), &c.Store, &c.Server); !errors.Is(err, masterkey.ErrOpen) {
		t.Errorf("a backup: %v", err)
	}
	if _, _, err := OpenBlobDoor(context.Background(), &c.Store, &c.Server); !errors.Is(err, masterkey.ErrOpen) {
		t.Errorf("a command on files: %v", err)
	}
	c.Server.PreviousMasterKeyFiles = []config.File{config.File(key)}
	c.Server.MasterKeyFile = config.File(filepath.Join(t.TempDir(), "new.key"))
	if i, err := Start(context.Background(), c); !errors.Is(err, masterkey.ErrOpen) ||
		!strings.Contains(err.Error(), "--previous-master-key-files") {
		t.Errorf("a start with a key before: %v", err)
		i.Close(context.Background())
	}
}
