package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"kartei/store/db"
)

// member is this process among the replicas on one data base. Each has a row
// that it renews; the rows are read with every renewal. What a replica holds of
// an account is its own while its row is renewed: one that cannot renew stops
// charging what it holds, well before the others take that for spent. All of
// this goes by the data base's clock and by monotonic time, never by a
// machine's own.
type member struct {
	ledger *Ledger

	mu sync.Mutex
	// lives tells of each incarnation that was heard of whether it is alive.
	lives  map[string]bool
	joined bool
	beat   atomic.Int64 // when the row was last renewed, microseconds of monotonic time
	began  time.Time
}

// beatEvery is how often a replica renews its row.
const beatEvery = 500 * time.Millisecond

// lapse is how long after its last renewal a replica goes on charging what it
// holds.
func (o *Options) lapse() time.Duration { return o.Lease * 3 / 5 }

// patience is how long a call waits for what others hold. It is longer than
// the lease, so that it ends sooner only where the data base is slow.
func (o *Options) patience() time.Duration { return o.Lease * 2 }

// curiosity is how long GET /rate_limit waits for what others have to tell.
func (o *Options) curiosity() time.Duration { return o.Lease / 5 }

const (
	selectTime     = `select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)`
	selectReplicas = `select id, incarnation, renewed_at from limit_replicas`
	upsertReplica  = `insert into limit_replicas (id, incarnation, renewed_at) values ($1, $2, $3)
		on conflict (id) do update set incarnation = excluded.incarnation, renewed_at = excluded.renewed_at`
	deleteReplica = `delete from limit_replicas where id = $1 and incarnation = $2`
	deleteDead    = `delete from limit_replicas where id <> $1 and renewed_at < $2`
)

func newMember(l *Ledger) *member {
	return &member{ledger: l, began: time.Now(), lives: map[string]bool{}}
}

func (m *member) elapsed() time.Duration { return time.Since(m.began) }

// alive reports whether a replica holds what is its, as far as is known.
func (m *member) alive(incarnation string) (alive, known bool) {
	if m == nil {
		return false, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	alive, known = m.lives[incarnation]
	return alive, known
}

// fresh reports whether this replica may charge what it holds.
func (m *member) fresh() bool {
	return m.elapsed()-time.Duration(m.beat.Load())*time.Microsecond < m.ledger.opts.lapse()
}

// strangerError says that an account is held by a replica not heard of.
type strangerError struct{ incarnation string }

func (e *strangerError) Error() string { return "limit: an unknown replica" }

// look finds out whether a stranger is alive.
func (m *member) look(ctx context.Context, incarnation string) error {
	err := m.renew(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.lives[incarnation]; err == nil && !known {
		m.lives[incarnation] = false
	}
	return err
}

// renew renews the row, and notes who else lives.
func (m *member) renew(ctx context.Context) error {
	sent := m.elapsed()
	var now int64
	var lives map[string]bool
	err := m.ledger.opts.DB.Write(ctx, func(tx db.Tx) error {
		tx.Queue("set local synchronous_commit = off")
		if err := tx.QueryRow(ctx, selectTime).Scan(&now); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectReplicas)
		if err != nil {
			return err
		}
		defer rows.Close()
		lives = map[string]bool{}
		for rows.Next() {
			var id, incarnation string
			var renewed int64
			if err := rows.Scan(&id, &incarnation, &renewed); err != nil {
				return err
			}
			if id != m.ledger.opts.Replica {
				lives[incarnation] = renewed > now-m.ledger.opts.Lease.Microseconds()
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		tx.Queue(upsertReplica, m.ledger.opts.Replica, m.ledger.incarnation, now)
		tx.Queue(deleteDead, m.ledger.opts.Replica, now-4*m.ledger.opts.Lease.Microseconds())
		return nil
	})
	if err != nil {
		return err
	}
	m.beat.Store(sent.Microseconds())
	l := m.ledger
	if l.opts.ServerTime {
		own := l.base + l.clock.Now().Sub(l.start).Microseconds()
		l.setOffset(now-own, now-own+(m.elapsed()-sent).Microseconds())
	}
	if m.note(lives) {
		l.tenants.each(func(o *tenant) { l.heard(o, false) })
	}
	return nil
}

// note remembers who else lives. It reports whether somebody died.
func (m *member) note(found map[string]bool) (died bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for incarnation, alive := range m.lives {
		if !found[incarnation] {
			m.lives[incarnation] = false
			died = died || alive
		}
	}
	for incarnation, alive := range found {
		m.lives[incarnation] = alive
	}
	m.joined = true
	return died
}

// run renews until ctx ends. While it cannot, it says so once a minute.
func (m *member) run(ctx context.Context) {
	var said time.Time
	for {
		switch err := m.renew(ctx); {
		case ctx.Err() != nil:
		case err == nil && !said.IsZero():
			m.ledger.opts.Logger.Info("limits: in touch with the other replicas again")
			said = time.Time{}
		case err != nil && !errors.Is(err, db.ErrRefused) && time.Since(said) > time.Minute:
			m.ledger.opts.Logger.Warn("limits: out of touch with the other replicas", "error", err)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(beatEvery):
		}
	}
}

// setOffset follows the data base's clock: what it is ahead by was between
// these two a moment ago, which differ by the time that asking it took.
func (l *Ledger) setOffset(least, most int64) {
	l.offset.Store(min(max(l.offset.Load(), least), most))
}

// leave takes this process out of the replicas.
func (m *member) leave(ctx context.Context) error {
	m.mu.Lock()
	joined := m.joined
	m.mu.Unlock()
	if !joined {
		return nil
	}
	err := m.ledger.opts.DB.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, deleteReplica, m.ledger.opts.Replica, m.ledger.incarnation)
		return err
	})
	if errors.Is(err, db.ErrClosed) {
		return nil
	}
	return err
}
