package e2e

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kartei/test/waittest"
)

// TestKilledWhileStarting kills a first start with kill -9 as soon as one of its files appears. The
// next start must succeed.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	for _, file := range []string{".", "master.key", "kartei.db.lock", "kartei.db", "kartei.db-wal"} {
		t.Run(file, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			c := command("serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0")
			c.Stderr = io.Discard
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			end := time.Now().Add(waittest.Bound)
			for {
				if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Errorf("%s never appeared", file)
					break
				}
			}
			c.Process.Kill()
			c.Wait()

			s := start(t, "serve", "--data-dir", dir)
			client{t, s, found(t, "--data-dir", dir).Key}.call("GET", "/me", "", 200, "")
			s.stop(t)
		})
	}
}
