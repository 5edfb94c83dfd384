package disk

import (
	"path/filepath"
	"testing"
)

// TestRoom checks that a disk has no more free space than its size, and that a missing folder is an
// error.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if free, size, err := Room(dir); err != nil || size == 0 || free > size {
		t.Errorf("%d bytes of %d are free: %v", free, size, err)
	}
	if _, _, err := Room(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing folder has room")
	}
}
