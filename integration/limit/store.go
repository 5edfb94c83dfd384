package limit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	selectAccounts = `select subject, state from limits where organization = $1 and subject %s`
	upsertAccount  = `insert into limits (organization, subject, state, updated_at) values ($1, $2, $3, $4)
		on conflict (organization, subject) do update set state = excluded.state, updated_at = excluded.updated_at`
)

const (
	// saveEvery is how often unsaved accounts are looked for. saveLate is how long
	// usage of a day or hour quota may stay unsaved, in microseconds. A hundredth of
	// a quota (soon) is saved with the next round, a tenth (urgent) at once. So a
	// killed process forgets at most the usage of its last second, and a hundredth
	// of each quota.
	saveEvery = time.Second
	saveLate  = 10_000_000 // in microseconds
	soon      = 10         // thousandths of a quota
	// savePiece is how many accounts one transaction saves at most.
	savePiece = 200
)

// readStored reads the accounts of a call from the database.
func (l *Ledger) readStored(ctx context.Context, who *[levels]subject, into *accounts) error {
	return l.opts.DB.Read(ctx, func(tx db.Tx) error {
		found, err := l.readAccounts(ctx, tx, who[byKey].organization, []string{"", who[byPrincipal].id, who[byKey].id}, "")
		if err != nil {
			return err
		}
		for i := range who {
			into[i] = found[who[i].id]
		}
		return nil
	})
}

// readAccounts reads the stored accounts among the named subjects.
func (l *Ledger) readAccounts(
	ctx context.Context, tx db.Tx, organization int64, names []string, lock string,
) (map[string]*account, error) {
	query := fmt.Sprintf(selectAccounts, tx.Dialect().In("$2")) + lock
	rows, err := tx.Query(ctx, query, organization, db.Texts(names))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var unknown error
	found := map[string]*account{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		if found[name], err = l.read(name, text, &unknown); err != nil {
			return nil, err
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	return found, rows.Err()
}

// read decodes a stored account. It sets unknown if the account has a holding of a
// replica that this one has never seen.
func (l *Ledger) read(name, text string, unknown *error) (*account, error) {
	alive := func(incarnation string) bool {
		if l.replicas == nil {
			return false
		}
		alive, known := l.replicas.Alive(incarnation)
		if !known {
			*unknown = &unknownReplicaError{incarnation}
		}
		return alive
	}
	return l.table.decode(levelOfName(name), text, l.now(time.Time{}), l.incarnation, alive)
}

// Start makes the limiter ready to count: on PostgreSQL it makes this replica
// known to the others. If the database takes no writes for now, Run does that
// once it does; until then each call is charged in a transaction.
func (l *Ledger) Start(ctx context.Context) error {
	if l.replicas == nil {
		return nil
	}
	l.tenants.together.Store(l.oneServer(ctx))
	return l.replicas.Join(ctx)
}

// Run saves accounts, or reports to the other replicas, until ctx ends. Then it
// saves what is left, or returns the leases.
func (l *Ledger) Run(ctx context.Context) {
	if l.opts.DB == nil || !l.Metered() {
		return
	}
	if l.replicas != nil {
		l.runShared(ctx)
		return
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.memory.urgent:
		case <-l.clock.After(saveEvery):
		}
		if err := l.save(ctx, false); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) {
			// which db.Writes logs
			l.opts.Logger.Warn("limits not saved", "error", err)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.save(last, true); err != nil {
		l.opts.Logger.Warn("limits not saved at the end", "error", err)
	}
}

// accountSave is one account on its way to the database.
type accountSave struct {
	subject subject
	account *account
	text    string
	at      int64
	alerts  []Alert
	unsaved int64
}

// save writes the accounts that are due, or all that have changed.
func (l *Ledger) save(ctx context.Context, all bool) error {
	var due []accountSave
	now := l.now(time.Time{})
	l.memory.all(func(s subject, a *account) {
		long := a.unsaved >= soon || a.unsaved > 0 && now-a.saved >= saveLate
		if !a.dirty || !long && !all {
			return
		}
		due = append(due, accountSave{s, a, "", a.at, a.alerts, a.unsaved})
		w := &due[len(due)-1]
		a.alerts = nil // they become notices in the same transaction
		w.text = l.table.encode(s.level, a)
		a.dirty, a.unsaved, a.saved = false, 0, now
	})
	var errs []error
	for len(due) > 0 {
		piece := due[:min(savePiece, len(due))]
		due = due[len(piece):]
		if err := l.savePiece(ctx, piece); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (l *Ledger) savePiece(ctx context.Context, piece []accountSave) error {
	err := l.opts.DB.Write(ctx, func(tx db.Tx) error {
		var alerts []Alert
		for i := range piece {
			w := &piece[i]
			tx.Queue(upsertAccount, w.subject.organization, w.subject.name(), w.text, w.at)
			alerts = append(alerts, w.alerts...)
		}
		return l.alert(ctx, tx, alerts)
	})
	if err == nil {
		for i := range piece {
			l.alerted(len(piece[i].alerts))
		}
		return nil
	}
	for i := range piece { // the next round tries again
		w := &piece[i]
		w.account.mu.Lock()
		w.account.dirty = true
		w.account.unsaved += w.unsaved
		w.account.alerts = append(w.alerts, w.account.alerts...)
		w.account.mu.Unlock()
	}
	return err
}

// unknownReplicaError means that a replica that this one has never seen holds
// something of an account.
type unknownReplicaError struct{ incarnation string }

func (e *unknownReplicaError) Error() string { return "limit: an unknown replica" }

// alerted calls Options.Alerted if alerts were stored.
func (l *Ledger) alerted(n int) {
	if n > 0 && l.opts.Alerted != nil {
		l.opts.Alerted()
	}
}

// alert stores alerts in the transaction that saves their accounts, after those
// are saved. An alert may pause a key, which other transactions do before they
// enqueue a job, so such alerts come first.
func (l *Ledger) alert(ctx context.Context, tx db.Tx, alerts []Alert) error {
	if l.opts.Alert == nil {
		return nil
	}
	for _, exhausted := range []bool{true, false} {
		for _, a := range alerts {
			if a.Exhausted != exhausted {
				continue
			}
			if err := l.opts.Alert(ctx, tx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// LockedUntil returns when the lock of a key ends; 0 if the key was never locked.
// Locks are stored within a second.
func LockedUntil(ctx context.Context, tx db.Tx, organization int64, key string) (clock.Micros, error) {
	var text string
	err := tx.QueryRow(ctx, `select state from limits where organization = $1 and subject = $2`, organization,
		key).Scan(&text)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	var s state
	if err != nil {
		return clock.Micros(s.Locked), err
	}
	err = json.Unmarshal([]byte(text), &s)
	return clock.Micros(s.Locked), err
}
