package blob

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kartei/kit/masterkey"
)

// smallDisk mounts a file system of size bytes and returns its path. This needs root.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("kartei-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		if os.Geteuid() == 0 && os.Getenv("CI") == "true" {
			t.Fatal("a small disk cannot be mounted here:", err)
		}
		t.Skip("a small disk cannot be mounted here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk checks that a Put that fills the disk leaves nothing behind. Existing files can
// still be read, kept, rotated and deleted. With free space, a Put must succeed again.
func TestFullDisk(t *testing.T) {
	before := masterkey.New()
	for _, plain := range []bool{false, true} {
		disk := smallDisk(t, 4<<20)
		l := newLocal(t, disk, LocalOptions{Plain: plain, Keys: masterkey.Ring{Current: before}})
		b, big := content(100_000), content(3<<20)
		put(t, l, "uploads/7/upl_1", b)
		put(t, l, "files/7/doc_1", b)
		ballast := filepath.Join(disk, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 { // if an attempt left something behind, the next would have too little room
			_, err := l.Put(ctx, staged, bytes.NewReader(big), Expectation{int64(len(big)), sum(big)})
			if !errors.Is(err, ErrFull) {
				t.Fatalf("plain %v: %v", plain, err)
			}
			isAbsent(t, l, staged)
			if left, err := os.ReadDir(filepath.Join(disk, unfinished)); len(left) != 0 || err != nil {
				t.Fatalf("plain %v: %d files are left, %v", plain, len(left), err)
			}
		}
		// No byte is free now. Calls that need no room must still succeed.
		if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err := l.Ping(ctx); !errors.Is(err, ErrFull) {
			t.Errorf("asked whether it is there: %v", err)
		}
		if !bytes.Equal(get(t, l, "files/7/doc_1"), b) {
			t.Error("other bytes")
		}
		if err := l.Keep(ctx, "uploads/7/upl_1", "files/7/doc_2"); err != nil {
			t.Errorf("plain %v: kept: %v", plain, err)
		}
		renewed := newLocal(t, disk, LocalOptions{
			Plain: plain,
			Keys:  masterkey.Ring{Current: key, Previous: []*masterkey.Key{before}},
		})
		if changed, err := renewed.Rotate(ctx, "files/7/doc_2"); changed == plain || err != nil {
			t.Errorf("plain %v: rotated %v, %v", plain, changed, err)
		}
		if !bytes.Equal(get(t, renewed, "files/7/doc_2"), b) {
			t.Error("other bytes")
		}
		if err := renewed.Delete(ctx, "files/7/doc_1"); err != nil {
			t.Errorf("plain %v: deleted: %v", plain, err)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		put(t, renewed, staged, big)
	}
}

// TestReadOnlyDisk checks a disk that became read-only after a failure. Changes must fail with
// ErrUnavailable, and reads must succeed.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, 4<<20)
	l := newLocal(t, disk, LocalOptions{})
	b := content(100_000)
	put(t, l, staged, b)
	put(t, l, kept, b)
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("kartei-test", disk, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	_, failed := l.Put(ctx, "uploads/7/upl_2", bytes.NewReader(b), Expectation{Size: AnySize})
	for what, err := range map[string]error{
		"Put": failed, "Keep": l.Keep(ctx, staged, "files/7/doc_2"), "Delete": l.Delete(ctx, kept),
	} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !bytes.Equal(get(t, l, kept), b) {
		t.Error("other bytes")
	}
	remount(0)
	if err := l.Keep(ctx, staged, "files/7/doc_2"); err != nil {
		t.Error(err)
	}
}
