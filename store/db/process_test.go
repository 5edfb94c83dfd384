package db_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/test/dbtest"
)

const (
	childAct = "KARTEI_DB_TEST_ACT"
	childURL = "KARTEI_DB_TEST_URL"
)

// child opens a database in a second process and acts until it is killed.
func child(act, url string) {
	d, err := open.Database(ctx, url, db.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("open")
	if act == "hold" {
		stay()
	}
	// Each of 16 writers writes two rows and prints one acknowledgement, repeatedly.
	var out sync.Mutex
	for w := range 16 {
		go func() {
			for i := w; ; i += 16 {
				err := d.Write(ctx, func(tx db.Tx) error {
					tx.Queue("insert into things (n, name, size) values ($1, $2, $3)", 2*i, fmt.Sprint("a", i), i)
					_, err := tx.Exec(ctx, "insert into things (n, name, size) values ($1, $2, $3)", 2*i+1, fmt.Sprint("b", i), i)
					return err
				})
				if err != nil {
					return
				}
				out.Lock()
				fmt.Println(i)
				out.Unlock()
			}
		}()
	}
	stay()
}

// stay waits until the process is killed. With select {} the runtime would report a deadlock.
func stay() { time.Sleep(time.Hour) }

// startChild starts this test binary as a second process, and waits until it has opened the
// database. It returns the rest of its output.
func startChild(t *testing.T, act, url string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd, lines := dbtest.Child(t, childAct+"="+act, childURL+"="+url)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("child said %q", lines.Text())
	}
	return cmd, lines
}

// TestKillLosesNoAcknowledgedWrite checks that acknowledged writes survive kill -9, and that each
// write is complete.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d := dbtest.Open(t, url, db.Options{})
		dbtest.Things(t, d)
		if strings.HasPrefix(url, "sqlite:") {
			// The child opens the database after that.
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		acknowledged := map[string]bool{}
		for round := range 5 {
			cmd, lines := startChild(t, "write", url)
			for range 200 + 37*round {
				if !lines.Scan() {
					t.Fatal("the child ended by itself")
				}
				acknowledged[lines.Text()] = true
			}
			cmd.Process.Signal(syscall.SIGKILL)
			for lines.Scan() { // output before the child was killed
				acknowledged[lines.Text()] = true
			}
			cmd.Wait()
			check := d
			if strings.HasPrefix(url, "sqlite:") {
				opened, err := open.Database(ctx, url, db.Options{})
				if err != nil {
					t.Fatal(err)
				}
				check = opened
			}
			pairs := map[string]int{}
			for _, n := range dbtest.Texts(t, check, "select cast(size as text) from things") {
				pairs[n]++
			}
			for n, rows := range pairs {
				if rows != 2 {
					t.Errorf("write %s is half there", n)
				}
			}
			for n := range acknowledged {
				if pairs[n] != 2 {
					t.Errorf("acknowledged write %s is lost", n)
				}
			}
			// The next child counts from the start again.
			dbtest.Run(t, check, "delete from things")
			clear(acknowledged)
			if check != d {
				if err := check.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestSecondProcessIsRefused(t *testing.T) {
	url := dbtest.SQLiteURL(t)
	cmd, _ := startChild(t, "hold", url)
	_, err := open.Database(ctx, url, db.Options{})
	var inUse *sqlite.InUse
	if !errors.As(err, &inUse) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("process %d (", cmd.Process.Pid)) ||
		!strings.Contains(err.Error(), "since 20") {
		t.Errorf("error does not say who: %v", err)
	}
	// A path through a link is the same database.
	path := strings.TrimPrefix(url, "sqlite:")
	link := t.TempDir() + "/link.db"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Database(ctx, "sqlite:"+link, db.Options{}); !errors.As(err, &inUse) {
		t.Errorf("by a link: %v", err)
	}
	// The lock ends with a killed process.
	cmd.Process.Kill()
	cmd.Wait()
	d := dbtest.Open(t, url, db.Options{})
	// The same process cannot open the database twice either.
	if _, err := open.Database(ctx, url, db.Options{}); !errors.As(err, &inUse) {
		t.Errorf("in the same process: %v", err)
	}
	if err := d.Ping(ctx); err != nil {
		t.Error(err)
	}
}
