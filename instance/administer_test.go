package instance

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kartei/door/admin/socket"
	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestSocketOpensLater checks that the socket opens without a restart if its secret could not be
// written at the start, for example on a full disk.
func TestSocketOpensLater(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, at string) {
		dir, err := os.MkdirTemp("", "kartei") // t.TempDir's path can be too long for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		obstacle := filepath.Join(dir, socket.SecretName, "file")
		if err := os.MkdirAll(obstacle, 0o700); err != nil { // the secret cannot replace a folder
			t.Fatal(err)
		}
		now := clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
		c := configOf(dir)
		c.Store.DatabaseURL, c.Clock = config.DatabaseURL(at), now
		begin(t, c)
		if _, err := socket.Dial(dir); err == nil {
			t.Fatal("a socket without its secret")
		}
		if err := os.RemoveAll(filepath.Dir(obstacle)); err != nil {
			t.Fatal(err)
		}
		overdue := time.After(waittest.Bound)
		for {
			waits := now.Waited()
			now.Advance(tryEvery)
			if client, err := socket.Dial(dir); err == nil {
				defer client.Close()
				if err := client.Call(context.Background(), "pause", Nothing{}, nil); err != nil {
					t.Error(err)
				}
				return
			}
			select {
			case <-waits: // the instance is waiting for the clock again
			case <-overdue:
				t.Fatal("the socket was not opened")
			}
		}
	})
}
