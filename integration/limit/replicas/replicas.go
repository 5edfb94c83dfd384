// Package replicas owns the list of replicas that share a database and are alive, by heartbeats and leases.
//
// Each replica has a row in limit_replicas and renews the row with a heartbeat every half second.
// If a replica does not renew its row within a lease, it counts as dead. The row has an
// incarnation, which is new with every start. So a restarted process never owns the holdings of the
// process before.
//
// A replica whose heartbeats fail stops using its holdings after three fifths of the lease. The
// other replicas take it for dead only at the end of the lease. The time in between is the fencing
// of this scheme: no two replicas ever use the same holding.
//
// The database's clock measures the age of a row. A monotonic clock measures how long a replica
// waits. So the clocks of the machines need not agree.
package replicas

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kartei/store/db"
)

// heartbeatEvery is how often a replica renews its row.
const heartbeatEvery = 500 * time.Millisecond

// Options describe the replica that joins. All fields but the functions are
// required.
type Options struct {
	DB db.DB
	// Name is the name of the replica, and is the same after a restart. Incarnation is new with
	// every start.
	Name, Incarnation string
	// Lease is the time for which a row counts as alive after its last heartbeat. All replicas that
	// share DB have the same value.
	Lease  time.Duration
	Logger *slog.Logger
	// Heartbeat is called after each heartbeat. now is the time of the database's clock in
	// microseconds since 1970. took is the duration of the round trips.
	Heartbeat func(now int64, took time.Duration)
	// Died is called after another incarnation has died.
	Died func()
}

// Membership is the membership of this process among the replicas on one
// database. It is safe for use by several goroutines.
type Membership struct {
	opts  Options
	began time.Time
	// heartbeat is the time of the last renewal of the row: the value of Elapsed in microseconds.
	heartbeat atomic.Int64

	mu sync.Mutex
	// alive maps each known incarnation to whether it is alive.
	alive  map[string]bool
	joined bool
}

// New returns a membership that is not announced yet. Join announces it to the other replicas, and
// Run sends its heartbeats.
func New(o Options) *Membership {
	return &Membership{opts: o, began: time.Now(), alive: map[string]bool{}}
}

// Join writes the first heartbeat. If the database accepts no writes, Join returns nil. Then this
// replica is not fresh until Run has written a heartbeat.
func (m *Membership) Join(ctx context.Context) error {
	err := m.renew(ctx)
	if errors.Is(err, db.ErrRefused) {
		m.heartbeat.Store(-m.leaseMargin().Microseconds())
		return nil
	}
	return err
}

// Run sends heartbeats until ctx ends. While they fail, Run logs a warning once a minute.
func (m *Membership) Run(ctx context.Context) {
	var logged time.Time
	for {
		switch err := m.renew(ctx); {
		case ctx.Err() != nil:
		case err == nil && !logged.IsZero():
			m.opts.Logger.Info("limits: connected to the other replicas again")
			logged = time.Time{}
		case err != nil && !errors.Is(err, db.ErrRefused) && time.Since(logged) > time.Minute:
			m.opts.Logger.Warn("limits: no connection to the other replicas", "error", err)
			logged = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(heartbeatEvery):
		}
	}
}

// Leave deletes the row of this process. It does nothing if the process never wrote its row.
func (m *Membership) Leave(ctx context.Context) error {
	m.mu.Lock()
	joined := m.joined
	m.mu.Unlock()
	if !joined {
		return nil
	}
	err := m.opts.DB.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, deleteReplica, m.opts.Name, m.opts.Incarnation)
		return err
	})
	if errors.Is(err, db.ErrClosed) {
		return nil
	}
	return err
}

// leaseMargin returns the time for which a replica may use its holdings after its last heartbeat.
func (m *Membership) leaseMargin() time.Duration { return m.opts.Lease * 3 / 5 }

// Elapsed returns the monotonic time since New.
func (m *Membership) Elapsed() time.Duration { return time.Since(m.began) }

// Fresh reports whether this replica may use its holdings without a transaction.
func (m *Membership) Fresh() bool {
	return m.Elapsed()-time.Duration(m.heartbeat.Load())*time.Microsecond < m.leaseMargin()
}

// Alive reports whether an incarnation of another replica is alive. If known is false, this process
// has never read the incarnation. Resolve then looks it up.
func (m *Membership) Alive(incarnation string) (alive, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	alive, known = m.alive[incarnation]
	return alive, known
}

// Resolve reads from the database whether an unknown incarnation is alive. An incarnation without a
// row counts as dead.
func (m *Membership) Resolve(ctx context.Context, incarnation string) error {
	err := m.renew(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.alive[incarnation]; err == nil && !known {
		m.alive[incarnation] = false
	}
	return err
}

const (
	selectTime     = `select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)`
	selectReplicas = `select id, incarnation, renewed_at from limit_replicas`
	upsertReplica  = `insert into limit_replicas (id, incarnation, renewed_at) values ($1, $2, $3)
		on conflict (id) do update set incarnation = excluded.incarnation, renewed_at = excluded.renewed_at`
	deleteReplica = `delete from limit_replicas where id = $1 and incarnation = $2`
	deleteDead    = `delete from limit_replicas where id <> $1 and renewed_at < $2`
)

// renew writes a heartbeat and reads the rows of the other replicas.
func (m *Membership) renew(ctx context.Context) error {
	sent := m.Elapsed()
	var now int64
	var alive map[string]bool
	err := m.opts.DB.Write(ctx, func(tx db.Tx) (err error) {
		tx.Queue("set local synchronous_commit = off")
		if err = tx.QueryRow(ctx, selectTime).Scan(&now); err != nil {
			return err
		}
		if alive, err = m.readOthers(ctx, tx, now); err != nil {
			return err
		}
		tx.Queue(upsertReplica, m.opts.Name, m.opts.Incarnation, now)
		tx.Queue(deleteDead, m.opts.Name, now-4*m.opts.Lease.Microseconds())
		return nil
	})
	if err != nil {
		return err
	}
	m.heartbeat.Store(sent.Microseconds())
	if m.opts.Heartbeat != nil {
		m.opts.Heartbeat(now, m.Elapsed()-sent)
	}
	if m.note(alive) && m.opts.Died != nil {
		m.opts.Died()
	}
	return nil
}

// readOthers returns the incarnations of the other replicas, and whether each is
// alive at the database's time now.
func (m *Membership) readOthers(ctx context.Context, tx db.Tx, now int64) (map[string]bool, error) {
	rows, err := tx.Query(ctx, selectReplicas)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	alive := map[string]bool{}
	for rows.Next() {
		var name, incarnation string
		var renewed int64
		if err := rows.Scan(&name, &incarnation, &renewed); err != nil {
			return nil, err
		}
		if name != m.opts.Name {
			alive[incarnation] = renewed > now-m.opts.Lease.Microseconds()
		}
	}
	return alive, rows.Err()
}

// note stores which incarnations are alive, and reports whether one has died since the last call.
// An incarnation without a row counts as dead.
func (m *Membership) note(found map[string]bool) (died bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for incarnation, alive := range m.alive {
		if !found[incarnation] {
			m.alive[incarnation] = false
			died = died || alive
		}
	}
	for incarnation, alive := range found {
		m.alive[incarnation] = alive
	}
	m.joined = true
	return died
}
