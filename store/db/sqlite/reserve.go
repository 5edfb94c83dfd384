package sqlite

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kartei/kit/clock"
)

// ReserveSize is a size for Options.Reserve, in bytes. On a disk of 182 MB that held
// nothing but a database, 1.2 MB were missing before the log could return its 74.
const ReserveSize = 16 << 20

// giveEvery is the shortest time between two times that a reserve is given up. On a
// full disk every refused write tries to empty the log.
const giveEvery = 10 * time.Second

// reserve is a file beside a SQLite database that keeps room for a full disk. The
// log can be emptied only if the file may grow by the pages that are new in it, and
// a log that has filled the disk leaves no room for them. Then the reserve is given
// up, the log returns more than the file took, and the reserve is made again.
type reserve struct {
	path  string
	size  int64 // 0 for a database without one
	clock clock.Clock

	mu    sync.Mutex
	given bool      // the reserve was given up for the log
	at    time.Time // when
}

// give removes the reserve, and reports whether there was one.
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

// keep makes the reserve unless it is there, or the disk has too little room. A
// reserve that was given up takes its room back. One that somebody removed, to
// delete records with its room, is made again when as much is free besides.
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
	free, err := freeBytes(filepath.Dir(r.path))
	if err != nil || free < uint64(need) {
		return
	}
	// Without a reserve the database works as well: an error only leaves none.
	if r.write() != nil {
		_ = os.Remove(r.path)
		return
	}
	r.given = false
}

// write writes the file. Its content cannot be compressed, which some file systems
// would do.
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
