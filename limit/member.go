package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"kartei/db"
)

// member is this process among the replicas on one data base. Each has a row
// that it renews; the rows are read with every renewal. A replica that is
// alone counts in memory. One that joins raises the number of joinings and
// waits until every other replica that lives has seen it: from then on nobody
// counts alone.
type member struct {
	ledger *Ledger

	mu     sync.Mutex
	others map[string]bool // incarnations of the other living replicas
	seen   int64           // the number of joinings that this one has acted on
	joined bool
	beat   atomic.Int64 // when the row was last renewed, microseconds of monotonic time
	began  time.Time
}

const (
	// beatEvery is how often a replica renews its row.
	beatEvery = 500 * time.Millisecond
	// lapse is how long after its last renewal a replica goes on as before.
	lapse = 5 * time.Second
	// death is when the others take a silent replica for dead. It is so much
	// later than lapse that a transaction begun before has ended.
	death = 15 * time.Second
)

const (
	lockJoinings   = `update generations set number = number + $1 where name = 'limits'`
	selectJoinings = `select number, cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) from generations where name = 'limits'`
	selectReplicas = `select id, incarnation, seen, renewed_at from limit_replicas`
	upsertReplica  = `insert into limit_replicas (id, incarnation, seen, renewed_at) values ($1, $2, $3, $4)
		on conflict (id) do update set incarnation = excluded.incarnation, seen = excluded.seen, renewed_at = excluded.renewed_at`
	deleteReplica = `delete from limit_replicas where id = $1 and incarnation = $2`
	deleteDead    = `delete from limit_replicas where id <> $1 and renewed_at < $2`
)

func newMember(l *Ledger) *member {
	return &member{ledger: l, began: time.Now(), others: map[string]bool{}}
}

func (m *member) elapsed() time.Duration { return time.Since(m.began) }

// alive reports whether a replica's calls may still run.
func (m *member) alive(incarnation string) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.others[incarnation]
}

// lapsed returns an error where this replica has lost touch with the data base
// for so long that the others may count without it: then what is shared must
// not be charged, and deletes are refused.
func (m *member) lapsed(deletes, sharing bool) error {
	if m == nil || m.elapsed()-time.Duration(m.beat.Load())*time.Microsecond < lapse {
		return nil
	}
	if sharing || deletes {
		return fmt.Errorf("limit: out of touch with the other replicas: %w", db.ErrUnavailable)
	}
	m.ledger.incidents.Add(1)
	return nil
}

// replicas is what one renewal found.
type replicas struct {
	joinings int64
	rows     []replica
	// now is the data base's time.
	now int64
}

type replica struct {
	id, incarnation string
	seen, renewed   int64
}

// renew renews the row. add is 1 to join, else 0.
func (m *member) renew(ctx context.Context, add int64) (found replicas, err error) {
	sent := m.elapsed()
	err = m.ledger.opts.DB.Write(ctx, func(tx db.Tx) error {
		found = replicas{}
		tx.Queue("set local synchronous_commit = off")
		tx.Queue(lockJoinings, add) // who joins and who renews take turns
		if err := tx.QueryRow(ctx, selectJoinings).Scan(&found.joinings, &found.now); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectReplicas)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r replica
			if err := rows.Scan(&r.id, &r.incarnation, &r.seen, &r.renewed); err != nil {
				return err
			}
			if r.renewed > found.now-death.Microseconds() {
				found.rows = append(found.rows, r)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		seen := m.seen
		m.mu.Unlock()
		if add > 0 {
			seen = found.joinings
		}
		tx.Queue(upsertReplica, m.ledger.opts.Replica, m.ledger.incarnation, seen, found.now)
		tx.Queue(deleteDead, m.ledger.opts.Replica, found.now-4*death.Microseconds())
		return nil
	})
	if err != nil {
		return found, err
	}
	m.beat.Store(sent.Microseconds())
	if m.ledger.opts.ServerTime {
		own := m.ledger.base + time.Since(m.ledger.start).Microseconds()
		m.ledger.setOffset(found.now-own, found.now-own+(m.elapsed()-sent).Microseconds())
	}
	return found, nil
}

// join makes this process one of the replicas. It returns when every other
// that lives knows of it.
func (m *member) join(ctx context.Context) error {
	found, err := m.renew(ctx, 1)
	if err != nil {
		return err
	}
	mine := found.joinings
	m.mu.Lock()
	m.seen, m.joined = mine, true
	m.mu.Unlock()
	if err := m.ledger.share(true); err != nil {
		return err
	}
	for {
		m.note(found)
		waiting := false
		for _, r := range found.rows {
			waiting = waiting || r.id != m.ledger.opts.Replica && r.seen < mine
		}
		if !waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatEvery / 5):
		}
		if found, err = m.renew(ctx, 0); err != nil {
			return err
		}
	}
}

// note remembers who else lives. It reports whether somebody does.
func (m *member) note(found replicas) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.others = map[string]bool{}
	for _, r := range found.rows {
		if r.id != m.ledger.opts.Replica {
			m.others[r.incarnation] = true
		}
	}
	return len(m.others) > 0
}

// run renews until ctx ends.
func (m *member) run(ctx context.Context) {
	for {
		if err := m.step(ctx); err != nil && ctx.Err() == nil {
			m.ledger.opts.Logger.Warn("limits: out of touch with the other replicas", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(beatEvery):
		}
	}
}

// step renews once and acts on what it finds.
func (m *member) step(ctx context.Context) error {
	found, err := m.renew(ctx, 0)
	if err != nil {
		return err
	}
	m.mu.Lock()
	seen := m.seen
	m.mu.Unlock()
	mine := false
	for _, r := range found.rows {
		mine = mine || r.id == m.ledger.opts.Replica && r.incarnation == m.ledger.incarnation
	}
	others := m.note(found)
	switch {
	case !mine && (m.ledger.Shares() || found.joinings != seen):
		// The others took this one for dead. What it counted alone meanwhile
		// is forgotten, as they did not know of it.
		m.ledger.memory.clear()
		return m.join(ctx)
	case found.joinings != seen || others:
		if err := m.ledger.share(true); err != nil {
			return err
		}
		m.mu.Lock()
		m.seen = found.joinings
		m.mu.Unlock()
		if found.joinings == seen {
			return nil
		}
		_, err := m.renew(ctx, 0) // tells those who wait for it
		return err
	default:
		return m.alone(ctx, seen)
	}
}

// alone has the ledger count in memory, unless somebody joined meanwhile.
func (m *member) alone(ctx context.Context, seen int64) error {
	l := m.ledger
	l.mode.Lock()
	defer l.mode.Unlock()
	if !l.sharing || !l.lines.idle() {
		return nil
	}
	found, err := m.renew(ctx, 0)
	if err != nil || found.joinings != seen || m.note(found) {
		return err
	}
	l.sharing = false
	return nil
}

// Shares reports whether the accounts are shared with other replicas.
func (l *Ledger) Shares() bool {
	l.mode.RLock()
	defer l.mode.RUnlock()
	return l.sharing
}

// share has the ledger share its accounts: it saves what it holds and charges
// the stored ones from now on.
func (l *Ledger) share(sharing bool) error {
	l.mode.Lock()
	defer l.mode.Unlock()
	if l.sharing == sharing {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lapse)
	defer cancel()
	if err := l.save(ctx, true); err != nil {
		return err
	}
	l.memory.clear()
	l.sharing = sharing
	return nil
}

// setOffset follows the data base's clock: what it is ahead by was between
// these two a moment ago, which differ by the time that asking it took.
func (l *Ledger) setOffset(least, most int64) {
	l.offset.Store(min(max(l.offset.Load(), least), most))
}

// leave takes this process out of the replicas.
func (m *member) leave(ctx context.Context) error {
	if m == nil || !m.joined {
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
