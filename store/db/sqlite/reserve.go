package sqlite

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/kit/disk"
)

// ReserveSize is a good size for Options.Reserve, in bytes. In a test, a disk of 182 MB contained
// only a database. The log could free 74 MB, but 1.2 MB were missing for that.
const ReserveSize = 16 << 20

// giveEvery is the minimum time between two removals of a reserve. On a full disk every refused
// write tries to truncate the log.
const giveEvery = 10 * time.Second

// reserve is a file next to an SQLite database that reserves space for a full disk.
//
// The log can be truncated only if the database file can grow by the new pages in the log. A log
// that has filled the disk leaves no space for them. Then the reserve is removed, the log frees
// more space than the file took, and the reserve is created again.
type reserve struct {
	path  string
	size  int64 // in bytes, 0 for no reserve
	clock clock.Clock

	mu    sync.Mutex
	given bool      // the reserve was removed for the log
	at    time.Time // time of the last attempt to remove the reserve
}

// give removes the reserve, and reports whether it did. It does nothing within giveEvery of the
// last attempt.
func (r *reserve) give() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if r.size == 0 || !r.at.IsZero() && now.Sub(r.at) < giveEvery {
		return false
	}
	r.at = now
	if os.Remove(r.path) != nil {
		return false
	}
	r.given = true
	return true
}

// keep creates the reserve if it is missing and the disk has enough free space. After give, the
// size of the reserve is enough. If somebody else removed the reserve, to delete records with that
// space, twice its size must be free.
func (r *reserve) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return
	}
	if info, err := os.Stat(r.path); err == nil && info.Size() == r.size {
		r.given = false
		return
	}
	need := 2 * r.size
	if r.given {
		need = r.size
	}
	free, _, err := disk.Room(filepath.Dir(r.path))
	if err != nil || free < uint64(need) {
		return
	}
	// The database also works without a reserve, so an error is ignored.
	if r.write() != nil {
		_ = os.Remove(r.path)
		return
	}
	r.given = false
}

// write writes the file with random content. Some file systems would compress other content.
func (r *reserve) write() error {
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, min(r.size, 1<<20))
	rand.Read(block) // never fails
	for left := r.size; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = file.Write(block[:min(left, int64(len(block)))])
	}
	return errors.Join(err, file.Close())
}
