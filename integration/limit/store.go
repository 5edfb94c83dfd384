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
	// saveEvery is the time between two rounds of saving. A round saves each account that has used
	// a hundredth of a quota (soon) since its last save. An account that has used a tenth (urgent)
	// is saved at once. Any other usage of a day or hour quota is saved after saveLate.
	//
	// So a killed process loses at most the usage of its last second and a hundredth of each quota.
	saveEvery = time.Second
	saveLate  = 10_000_000 // microseconds
	soon      = 10         // thousandths of a quota
	// savePiece is the maximum number of accounts that one transaction saves.
	savePiece = 200
)

// readStored reads the accounts of a call from the database into into. It is a reader.
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

// readAccounts returns the stored accounts with these names. lock is the end of the query, which
// may lock the rows.
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

// read decodes a stored account. It sets unknown if the account has a holding of a replica that
// this process does not know.
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

// Start prepares the ledger for its first charge. On PostgreSQL, it announces this replica to the
// others. If the database accepts no writes, Run announces the replica later. Until then, each call
// is charged in a transaction.
func (l *Ledger) Start(ctx context.Context) error {
	if l.replicas == nil {
		return nil
	}
	l.tenants.together.Store(l.oneServer(ctx))
	return l.replicas.Join(ctx)
}

// Run saves accounts, or reports usage to the shared accounts, until ctx ends. Then it saves the
// rest, or returns the leases.
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
			// db.Writes logs that the database is unavailable
			l.opts.Logger.Warn("limits not saved", "error", err)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.save(last, true); err != nil {
		l.opts.Logger.Warn("limits not saved at the end", "error", err)
	}
}

// accountSave is one account with the text that a transaction will store.
type accountSave struct {
	subject subject
	account *account
	text    string
	at      int64
	alerts  []Alert
	unsaved int64
}

// save stores the accounts whose unsaved usage is due. If all is set, it stores all changed
// accounts.
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
		a.alerts = nil // the same transaction stores them as notices
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
	for i := range piece { // the next round saves these accounts again
		w := &piece[i]
		w.account.mu.Lock()
		w.account.dirty = true
		w.account.unsaved += w.unsaved
		w.account.alerts = append(w.alerts, w.account.alerts...)
		w.account.mu.Unlock()
	}
	return err
}

// unknownReplicaError means that an account has a holding of a replica that this process does not
// know.
type unknownReplicaError struct{ incarnation string }

func (e *unknownReplicaError) Error() string { return "limit: an unknown replica" }

// alerted calls Options.Alerted if n is positive, where n is the number of stored alerts.
func (l *Ledger) alerted(n int) {
	if n > 0 && l.opts.Alerted != nil {
		l.opts.Alerted()
	}
}

// alert calls Options.Alert with each alert, in the transaction that has saved the accounts. Alerts
// about a refusal come first, because they may pause a key. Other transactions also pause a key
// before they enqueue a job.
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

// LockedUntil returns the end of the last lock of a key, or 0 if the key was never locked. A lock
// is stored within a second of its start.
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
