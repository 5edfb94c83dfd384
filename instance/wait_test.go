package instance

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/test/dbtest"
)

// TestStartWaitsForDatabase checks that a start waits for its database and continues when the
// database answers. It logs an entry at once and then every minute, independent of the number of
// attempts.
func TestStartWaitsForDatabase(t *testing.T) {
	own := dbtest.OwnServer(t, "shared_buffers=16MB")
	own.Stop()
	lines, log := io.Pipe()
	said := make(chan string)
	go func() {
		all, _ := io.ReadAll(lines)
		said <- string(all)
	}()
	now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
	c := configOf(t.TempDir())
	c.Store.DatabaseURL, c.Clock, c.Wait = config.DatabaseURL(own.URL()), now, true
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	type outcome struct {
		i   *Instance
		err error
	}
	started := make(chan outcome, 1)
	go func() {
		i, err := Start(context.Background(), c)
		started <- outcome{i, err}
	}()
	tries := 0
	for ; tries < 5*60; tries++ {
		now.Await(1)
		now.Advance(time.Second)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		now.Await(1)
		select {
		case s := <-started:
			if s.err != nil {
				t.Fatal(s.err)
			}
			if status, body := get(t, s.i.OperatorURL+"/readyz"); status != 200 {
				t.Errorf("ready: %d %s", status, body)
			}
			if status, body := get(t, s.i.BaseURL+"/v1/me"); status != 401 {
				t.Errorf("a call: %d %s", status, body)
			}
			end(t, s.i)
			log.Close()
			text := <-said
			if n := strings.Count(text, "cannot be used yet"); n < 5 || n > 6 {
				t.Errorf("%d lines in five minutes:\n%s", n, text)
			}
			if strings.Count(text, "the database can be used") != 1 {
				t.Errorf("nothing about its end:\n%s", text)
			}
			return
		default:
			now.Advance(time.Second)
		}
	}
}

// TestStartWithoutWait checks that a start without Config.Wait fails at once if the database is
// unavailable.
func TestStartWithoutWait(t *testing.T) {
	own := dbtest.OwnServer(t, "shared_buffers=16MB")
	own.Stop()
	c := configOf(t.TempDir())
	c.Store.DatabaseURL = config.DatabaseURL(own.URL())
	if i, err := Start(context.Background(), c); err == nil {
		i.Close(context.Background())
		t.Error("it started without a database")
	}
}
