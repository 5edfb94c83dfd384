// Package erasure owns what is erased when its time has come: old rows, and organizations after their last date.
package erasure

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

const (
	// every is the interval of the searches for organizations that are due for erasure.
	every = 10 * time.Minute
	// maxPiece is the maximum number of rows or files that one step erases, and minPiece the
	// minimum number of rows on SQLite. On SQLite a step has fewer rows if it would block other
	// writes for too long. PostgreSQL needs large steps, since each step reads past the rows erased
	// before. pause is the time between two steps, in which others can write.
	maxPiece = 500
	minPiece = 50 // rows
	pause    = 50 * time.Millisecond
	// turn is the time for which one call of the act org.erase erases. The command repeats the call
	// and shows the progress after each call.
	turn = time.Second
)

// organizationRows are all tables with rows of organizations, in the order of their erasure. key
// has the columns of the primary key besides the organization. The table clocks is first: without
// its row, an organization accepts no changes, and the deletion of this row waits for changes in
// progress. API keys come before the principals that they refer to. TestEveryTableIsErased compares
// the list with the schema.
var organizationRows = []struct{ table, key string }{
	{"clocks", ""},
	{"webhook_endpoints", "id"}, {"webhook_deliveries", "endpoint, event_id"}, {"webhook_attempts", "id"},
	{"uploads", "id"}, {"operations", "id"}, {"idempotency", "principal, key"},
	{"documents", "id"}, {"document_words", "id"}, {"contacts", "id"}, {"companies", "id"}, {"tasks", "id"},
	{"tags", "family, reader, tag, tick"}, {"sorted_tags", "family, reader, tag, sort_key"}, {"reminders", "task_id"},
	{"record_changes", "record_id, revision"},
	{"search_moves", "family, created, number"}, {"search_documents", "family, created"},
	{"search_blocks", "family, segment, audience, rank, word, position"}, {"search_segments", "family, segment"},
	{"duplicate_keys", "key, created"}, {"duplicate_records", "created"}, {"duplicate_pairs", "first_id, second_id"},
	{"duplicate_dismissals", "first_id, second_id"}, {"duplicate_progress", "family"},
	{"visibility_losses", "record_id, principal"}, {"events", "tick"}, {"notices", "principal, id"},
	{"recents", "principal"},
	{"limits", "subject"}, {"reading_time", "at"}, {"request_log", "at, request_id"},
	{"usage_hours", "hour, kind, subject, writer"}, {"jobs", "id"}, {"job_turns", ""},
	{"audit_lines", "id"}, {"handovers", "id"}, {"import_pieces", "import_id, number"},
	{"import_lines", "import_id, number"}, {"imports", "id"}, {"bulk_lines", "act_id, record_id"}, {"bulk_acts", "id"},
	{"merge_moves", "merge_id, record_id"}, {"merges", "id"},
	{"invitations", "id"}, {"sessions", "id"}, {"api_keys", "kid"}, {"oauth_approvals", "id"}, {"oauth_tokens", "kid"},
	{"oauth_grants", "id"}, {"oauth_clients", "id"}, {"principals", "id"},
}

// Eraser erases organizations in steps. If a run is interrupted, the next run on any replica
// continues.
type Eraser struct {
	DB        db.DB
	Store     blob.Store
	Directory *access.Directory
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Output is the output of the act org.erase.
type Output struct {
	// Rows is the number of rows that this call erased, and Files the number of files.
	Rows  int64 `json:"rows"`
	Files int64 `json:"files"`
	// HeldUntil is the earliest time at which files can be erased, because a backup is copying
	// them. It is zero if no backup runs.
	HeldUntil clock.Micros `json:"heldUntil,omitzero"`
	// Done says that nothing of the organization is left.
	Done bool `json:"done"`
}

func (o *Output) add(more Output) { o.Rows, o.Files = o.Rows+more.Rows, o.Files+more.Files }

// Erase is the act org.erase. It erases an organization that is due (see organization.Erase) for
// about a second. The command calls Erase again until it is done. The pause after a step is twice
// the time of the step, since a person waits.
func (e *Eraser) Erase(ctx context.Context, in op.ByID) (out Output, err error) {
	o, err := e.Directory.Due(ctx, in.ID)
	if err != nil {
		return out, err
	}
	begun := e.Clock.Now()
	end := begun.Add(turn)
	out.Done, err = e.eraseWhile(ctx, o, func(step Output) bool {
		out.add(step)
		goes := e.rest(ctx, 2*e.Clock.Now().Sub(begun)) && e.Clock.Now().Before(end)
		begun = e.Clock.Now()
		return goes
	})
	if held := (heldError{}); errors.As(err, &held) {
		out.HeldUntil, err = held.until, nil
	}
	return out, err
}

// Handlers returns the handler of the job that erases organizations that are due.
func (e *Eraser) Handlers() []job.Handler {
	return []job.Handler{{
		Kind: "organizations.erase", Every: every,
		Run: func(ctx context.Context, _ *job.Job) error { return e.due(ctx) },
	}}
}

// due erases the organizations that are due, and rows that were added to erased organizations
// later. If a backup stops the removal of files, due runs again afterwards.
func (e *Eraser) due(ctx context.Context) error {
	list, err := e.Directory.Erasables(ctx)
	if err != nil {
		return err
	}
	var held heldError
	for _, o := range list {
		if err := e.dueOne(ctx, o); err != nil && !errors.As(err, &held) {
			return err
		}
	}
	if held.until > 0 {
		return job.Later(min(every, held.until.Sub(clock.Now(e.Clock))))
	}
	return ctx.Err()
}

// dueOne erases an organization in steps with pauses, and logs the result.
func (e *Eraser) dueOne(ctx context.Context, o access.Erasable) error {
	if o.ErasedAt == 0 {
		e.Logger.Info("erasing an organization, because its date has come", "organization", o.ID)
	}
	var sum Output
	done, err := e.eraseWhile(ctx, o, func(step Output) bool {
		sum.add(step)
		return e.rest(ctx, pause)
	})
	switch erased := []any{"organization", o.ID, "rows", sum.Rows, "files", sum.Files}; {
	case !done:
		e.Logger.Info("the erasure of an organization will continue later",
			append(erased, "reason", cmp.Or(err, ctx.Err()))...)
	case o.ErasedAt == 0 || sum.Rows+sum.Files > 0:
		e.Logger.Info("an organization was erased", erased...)
	}
	return err
}

// rest waits for the pause between two steps. It reports whether the erasure may continue.
func (e *Eraser) rest(ctx context.Context, pause time.Duration) bool {
	if pause > 0 {
		select {
		case <-ctx.Done():
		case <-e.Clock.After(pause):
		}
	}
	return ctx.Err() == nil
}

// eraseWhile erases an organization and its sandbox in steps. After each step it calls more, and
// stops if more returns false. done says that nothing is left.
func (e *Eraser) eraseWhile(ctx context.Context, o access.Erasable, more func(Output) bool) (done bool, err error) {
	for _, part := range []func(context.Context, int64, func(Output) bool) (bool, error){e.allRows, e.allFiles} {
		for _, number := range []int64{o.Sandbox, o.Number} {
			if done, err = part(ctx, number, more); !done {
				return false, err
			}
		}
	}
	if o.ErasedAt > 0 {
		return true, nil
	}
	err = e.Directory.Erased(ctx, o.Number)
	return err == nil, err
}

// allRows erases the rows of an organization in steps.
func (e *Eraser) allRows(ctx context.Context, number int64, more func(Output) bool) (done bool, err error) {
	for _, t := range organizationRows {
		if done, err = e.allOf(ctx, number, t.table, t.key, more); !done {
			return false, err
		}
	}
	return true, nil
}

// allOf erases the rows of a table in steps.
func (e *Eraser) allOf(
	ctx context.Context, number int64, table, key string, more func(Output) bool,
) (done bool, err error) {
	portion := job.Portion{Most: maxPiece, Least: minPiece}
	for {
		limit := maxPiece
		if e.DB.Dialect().OneWriter {
			limit = portion.Next()
		}
		n, err := e.rows(ctx, &portion, limit, number, table, key)
		switch {
		case err != nil:
			return false, err
		case n > 0 && !more(Output{Rows: n}):
			return false, nil
		case n < int64(limit):
			return true, nil
		}
	}
}

// allFiles erases the files of an organization in steps.
func (e *Eraser) allFiles(ctx context.Context, number int64, more func(Output) bool) (done bool, err error) {
	for _, folder := range []string{blob.Staged, blob.Kept} {
		for n := int64(maxPiece); n == maxPiece; {
			if n, err = e.files(ctx, folder+strconv.FormatInt(number, 10)+"/"); err != nil {
				return false, err
			}
			if n > 0 && !more(Output{Files: n}) {
				return false, nil
			}
		}
	}
	return true, nil
}

// rows erases up to limit rows of a table.
func (e *Eraser) rows(
	ctx context.Context, portion *job.Portion, limit int, number int64, table, key string,
) (n int64, err error) {
	statement := "delete from " + table + " where organization = $1"
	args := []any{number}
	if key != "" {
		statement += " and (" + key + ") in (select " + key + " from " + table + " where organization = $1 limit $2)"
		args = append(args, limit)
	}
	err = portion.Write(ctx, e.DB, e.Clock, limit, func(tx db.Tx) (err error) {
		n, err = tx.Exec(ctx, statement, args...)
		return err
	})
	return n, err
}

// heldError is returned if a backup stops the removal of files.
type heldError struct{ until clock.Micros }

func (e heldError) Error() string {
	return "a backup copies files until " + e.until.Time().Format(time.RFC3339) + " or longer, so none are erased"
}

// held returns a heldError while a backup copies files. The rows of a file are erased before the
// file. So a backup that starts later does not contain these rows.
func (e *Eraser) held(ctx context.Context) error {
	return e.DB.Read(ctx, func(tx db.Tx) error {
		until, err := document.HeldUntil(ctx, tx)
		if err != nil {
			return err
		}
		if until > clock.Now(e.Clock) {
			return heldError{until}
		}
		return nil
	})
}

// files erases up to maxPiece files whose names begin with prefix. It returns their number.
func (e *Eraser) files(ctx context.Context, prefix string) (n int64, err error) {
	for info, err := range e.Store.List(ctx, prefix) {
		if err != nil {
			return n, err
		}
		if n == 0 { // without files, no backup needs to be waited for
			err = e.held(ctx)
		}
		if err != nil {
			return n, err
		}
		if err := e.Store.Delete(ctx, info.Name); err != nil {
			return n, err
		}
		if n++; n == maxPiece {
			break
		}
	}
	return n, nil
}
