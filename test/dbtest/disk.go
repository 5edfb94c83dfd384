package dbtest

import (
	"os/exec"
	"strings"
	"testing"
)

// SmallDisk mounts a file system of the given size, such as 1m. It returns the folder and a
// function that changes the size. It skips the test if the process may not mount.
func SmallDisk(t testing.TB, size string) (dir string, resize func(size string)) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "kartei-test",
		dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a small file system: %s", strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir, func(size string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,size="+size, dir).CombinedOutput(); err != nil {
			t.Fatalf("remount: %s", out)
		}
	}
}
