package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/replay"
)

const (
	// useResolution is the precision of the last use of a credential.
	useResolution = clock.Minute
	// usesInterval is the time between two writes of last uses.
	usesInterval = 10 * time.Second
	// usesMax is the maximum number of pending entries. Further entries are dropped and counted.
	usesMax = 10_000
)

// uses has the last uses that are not yet written.
type uses struct {
	mu      sync.Mutex
	pending map[use]clock.Micros
	dropped int64
}

// use identifies a credential: the statement that writes the time of its use, and the text that
// selects its row.
type use struct {
	statement, name string
	// first says that the credential was not used before.
	first bool
}

func (u *uses) mark(of use, now clock.Micros) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.pending[of]; !known && len(u.pending) >= usesMax {
		u.dropped++
		return
	}
	u.pending[of] = now
}

func (u *uses) take() map[use]clock.Micros {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.pending
	u.pending = make(map[use]clock.Micros)
	return taken
}

// Flush writes the pending last uses. If a write fails, its entries are lost until the next use
// of each credential.
func (d *Directory) Flush(ctx context.Context) error {
	marks := d.uses.take()
	if len(marks) == 0 {
		return nil
	}
	return d.db.Write(ctx, func(tx db.Tx) error {
		for of, at := range marks {
			if of.first && of.statement == updateLastUse {
				if err := eraseSecret(ctx, tx, of.name); err != nil {
					return err
				}
			}
			tx.Queue(of.statement, of.name, int64(at))
		}
		return nil
	})
}

const (
	selectUsedKey = `select id, organization from api_keys where kid = $1`
	selectLastUse = `select count(*) from api_keys where id = $1 and last_used_at > $2`
)

// eraseSecret erases the stored responses with the secret of a key. A caller who uses the key
// already has the secret.
func eraseSecret(ctx context.Context, tx db.Tx, kid string) error {
	var key string
	var organization int64
	err := tx.QueryRow(ctx, selectUsedKey, kid).Scan(&key, &organization)
	if errors.Is(err, db.ErrNoRows) { // the key was rotated
		return nil
	}
	if err != nil {
		return err
	}
	return replay.EraseSecrets(ctx, tx, organization, key)
}

// UsedSince reports whether a key was used after a time. It considers only uses that Flush has
// written.
func UsedSince(ctx context.Context, tx db.Tx, key string, since clock.Micros) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, selectLastUse, key, since).Scan(&n)
	return n > 0, err
}

// Run writes last uses every ten seconds until ctx ends, and then once more. It calls report with
// errors. report may be nil.
func (d *Directory) Run(ctx context.Context, report func(error)) {
	for {
		select {
		case <-ctx.Done():
		case <-d.clock.After(usesInterval):
		}
		// The last entries are written after the end of ctx, within a limited time.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), usesInterval)
		err := d.Flush(bounded)
		cancel()
		if err != nil && report != nil {
			report(err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// UsesDropped returns the number of last uses that were dropped since the start of the process.
func (d *Directory) UsesDropped() int64 {
	d.uses.mu.Lock()
	defer d.uses.mu.Unlock()
	return d.uses.dropped
}
