package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/store/db/open"
	"kartei/test/dbtest"
)

// TestStartWithoutFolderOfFiles checks that the start fails if the folder of files cannot be
// created. The error contains its path.
func TestStartWithoutFolderOfFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "files")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := configOf(t.TempDir())
	c.Store.BlobURL, c.Wait = config.BlobURL("file:"+folder), true
	i, err := Start(t.Context(), c)
	if err == nil {
		i.Close(context.Background())
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "--blob-url: ") || !strings.Contains(err.Error(), folder) {
		t.Errorf("the error does not name the folder: %v", err)
	}
}

// TestStartWaitsForFolderOfFiles checks that a start waits while the disk of the files is full. In
// one case the folder of files cannot be created, and in the other its folder of unfinished files.
func TestStartWaitsForFolderOfFiles(t *testing.T) {
	for what, below := range map[string]string{"the folder": "files", "the folder of unfinished files": ""} {
		t.Run(what, func(t *testing.T) { startsWithRoom(t, below) })
	}
}

func startsWithRoom(t *testing.T, below string) {
	dir, resize := dbtest.SmallDisk(t, "4k,nr_inodes=1")
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); !errors.Is(err, syscall.ENOSPC) || !open.Away(err) {
		t.Fatalf("the disk has room: %v", err)
	}
	now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
	c := configOf(t.TempDir())
	c.Store.BlobURL, c.Clock, c.Wait = config.BlobURL("file:"+filepath.Join(dir, below)), now, true
	type outcome struct {
		i   *Instance
		err error
	}
	started := make(chan outcome, 1)
	go func() {
		i, err := Start(context.Background(), c)
		started <- outcome{i, err}
	}()
	now.Await(1)
	resize("1m,nr_inodes=100")
	for {
		select {
		case s := <-started:
			if s.err != nil {
				t.Fatal(s.err)
			}
			end(t, s.i)
			return
		default:
			now.Await(1)
			now.Advance(longestPause)
		}
	}
}
