package instance

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

const (
	// eraseEvery is the interval between two searches for organizations whose
	// date has come.
	eraseEvery = 10 * time.Minute
	// erasePiece is the maximum of rows or files in one step. On SQLite a step has
	// fewer rows if it would hold the writer for too long. PostgreSQL needs large
	// steps, since each passes the rows erased before. erasePause is the time between
	// two steps that leaves the writer to others, as in package retention.
	erasePiece = 500
	eraseLeast = 50 // rows
	erasePause = 50 * time.Millisecond
	// eraseTurn is how long one call of the act erases. The command repeats the
	// call and shows the progress in between.
	eraseTurn = time.Second
)

// organizationRows are all tables with rows of organizations, in the order of
// their erasure. key has the other columns of the primary key. The clock goes
// first: without it an organization accepts no more changes, and its deletion
// waits for those in progress. Keys go before the principals that they refer
// to. TestEveryTableIsErased compares the list with the schema.
var organizationRows = []struct{ table, key string }{
	{"clocks", ""},
	{"webhook_endpoints", "id"}, {"webhook_deliveries", "endpoint, event_id"}, {"webhook_attempts", "id"},
	{"uploads", "id"}, {"operations", "id"}, {"idempotency", "principal, key"},
	{"documents", "id"}, {"document_words", "id"}, {"contacts", "id"}, {"companies", "id"}, {"tasks", "id"},
	{"tags", "family, reader, tag, tick"}, {"sorted_tags", "family, reader, tag, sort_key"}, {"reminders", "task_id"},
	{"record_changes", "record_id, revision"},
	{"search_moves", "family, created, number"}, {"search_documents", "family, created"},
	{"search_blocks", "family, segment, audience, rank, word, position"}, {"search_segments", "family, segment"},
	{"visibility_losses", "record_id, principal"}, {"events", "tick"}, {"notices", "principal, id"},
	{"recents", "principal"},
	{"limits", "subject"}, {"reading_time", "at"}, {"request_log", "at, request_id"},
	{"usage_hours", "hour, kind, subject, writer"}, {"jobs", "id"}, {"job_turns", ""},
	{"audit_lines", "id"}, {"handovers", "id"}, {"import_pieces", "import_id, number"},
	{"import_lines", "import_id, number"}, {"imports", "id"}, {"bulk_lines", "act_id, record_id"}, {"bulk_acts", "id"},
	{"invitations", "id"}, {"sessions", "id"}, {"api_keys", "kid"}, {"oauth_approvals", "id"}, {"oauth_tokens", "kid"},
	{"oauth_grants", "id"}, {"oauth_clients", "id"}, {"principals", "id"},
}

// eraser erases organizations in steps. An interrupted run leaves fewer rows,
// and the next run on any replica continues.
type eraser struct {
	db        db.DB
	store     blob.Store
	directory *access.Directory
	clock     clock.Clock
	logger    *slog.Logger
}

// EraseOutput is the output of the act org.erase.
type EraseOutput struct {
	// Rows and Files count the erasures of this call.
	Rows  int64 `json:"rows"`
	Files int64 `json:"files"`
	// HeldUntil is the earliest time at which files can be erased, because a
	// backup is copying them. It is zero without a backup.
	HeldUntil clock.Micros `json:"heldUntil,omitzero"`
	// Done is true if nothing is left.
	Done bool `json:"done"`
}

func (o *EraseOutput) add(more EraseOutput) { o.Rows, o.Files = o.Rows+more.Rows, o.Files+more.Files }

// act erases an organization whose date has come for a moment (see
// organization.Erase). It is called again until it is done. Somebody waits for
// it, so it pauses between two steps only twice as long as a step took.
func (e *eraser) act(ctx context.Context, in access.ByID) (out EraseOutput, err error) {
	o, err := e.directory.Due(ctx, in.ID)
	if err != nil {
		return out, err
	}
	begun := e.clock.Now()
	end := begun.Add(eraseTurn)
	out.Done, err = e.erase(ctx, o, func(step EraseOutput) bool {
		out.add(step)
		goes := e.rest(ctx, 2*e.clock.Now().Sub(begun)) && e.clock.Now().Before(end)
		begun = e.clock.Now()
		return goes
	})
	if held := (heldError{}); errors.As(err, &held) {
		out.HeldUntil, err = held.until, nil
	}
	return out, err
}

// handlers returns the job that erases the organizations whose date has come.
func (e *eraser) handlers() []job.Handler {
	return []job.Handler{{
		Kind: "organizations.erase", Every: eraseEvery,
		Run: func(ctx context.Context, _ *job.Job) error { return e.due(ctx) },
	}}
}

// due erases the organizations whose date has come, and the remains of erased
// ones. If a backup holds files, due runs again after the hold.
func (e *eraser) due(ctx context.Context) error {
	list, err := e.directory.Erasables(ctx)
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
		return job.Later(min(eraseEvery, held.until.Sub(clock.Now(e.clock))))
	}
	return ctx.Err()
}

// dueOne erases an organization with pauses, and logs the result.
func (e *eraser) dueOne(ctx context.Context, o access.Erasable) error {
	if o.ErasedAt == 0 {
		e.logger.Info("erasing an organization, because its date has come", "organization", o.ID)
	}
	var sum EraseOutput
	done, err := e.erase(ctx, o, func(step EraseOutput) bool {
		sum.add(step)
		return e.rest(ctx, erasePause)
	})
	switch erased := []any{"organization", o.ID, "rows", sum.Rows, "files", sum.Files}; {
	case !done:
		e.logger.Info("the erasure of an organization will continue later",
			append(erased, "reason", cmp.Or(err, ctx.Err()))...)
	case o.ErasedAt == 0 || sum.Rows+sum.Files > 0:
		e.logger.Info("an organization was erased", erased...)
	}
	return err
}

// rest pauses between two steps. It reports whether the work may go on.
func (e *eraser) rest(ctx context.Context, pause time.Duration) bool {
	if pause > 0 {
		select {
		case <-ctx.Done():
		case <-e.clock.After(pause):
		}
	}
	return ctx.Err() == nil
}

// erase erases an organization and its sandbox in steps until more, called
// after each step, returns false. It reports whether nothing is left.
func (e *eraser) erase(ctx context.Context, o access.Erasable, more func(EraseOutput) bool) (done bool, err error) {
	for _, part := range []func(context.Context, int64, func(EraseOutput) bool) (bool, error){e.allRows, e.allFiles} {
		for _, number := range []int64{o.Sandbox, o.Number} {
			if done, err = part(ctx, number, more); !done {
				return false, err
			}
		}
	}
	if o.ErasedAt > 0 {
		return true, nil
	}
	err = e.directory.Erased(ctx, o.Number)
	return err == nil, err
}

// allRows erases the rows of an organization in steps.
func (e *eraser) allRows(ctx context.Context, number int64, more func(EraseOutput) bool) (done bool, err error) {
	for _, t := range organizationRows {
		if done, err = e.allOf(ctx, number, t.table, t.key, more); !done {
			return false, err
		}
	}
	return true, nil
}

// allOf erases the rows of a table in steps.
func (e *eraser) allOf(
	ctx context.Context, number int64, table, key string, more func(EraseOutput) bool,
) (done bool, err error) {
	portion := job.Portion{Most: erasePiece, Least: eraseLeast}
	for {
		limit := erasePiece
		if e.db.Dialect().OneWriter {
			limit = portion.Next()
		}
		n, err := e.rows(ctx, &portion, limit, number, table, key)
		switch {
		case err != nil:
			return false, err
		case n > 0 && !more(EraseOutput{Rows: n}):
			return false, nil
		case n < int64(limit):
			return true, nil
		}
	}
}

// allFiles erases the files of an organization in steps.
func (e *eraser) allFiles(ctx context.Context, number int64, more func(EraseOutput) bool) (done bool, err error) {
	for _, folder := range []string{blob.Staged, blob.Kept} {
		for n := int64(erasePiece); n == erasePiece; {
			if n, err = e.files(ctx, folder+strconv.FormatInt(number, 10)+"/"); err != nil {
				return false, err
			}
			if n > 0 && !more(EraseOutput{Files: n}) {
				return false, nil
			}
		}
	}
	return true, nil
}

// rows erases up to limit rows of a table.
func (e *eraser) rows(
	ctx context.Context, portion *job.Portion, limit int, number int64, table, key string,
) (n int64, err error) {
	statement := "delete from " + table + " where organization = $1"
	args := []any{number}
	if key != "" {
		statement += " and (" + key + ") in (select " + key + " from " + table + " where organization = $1 limit $2)"
		args = append(args, limit)
	}
	err = portion.Write(ctx, e.db, e.clock, limit, func(tx db.Tx) (err error) {
		n, err = tx.Exec(ctx, statement, args...)
		return err
	})
	return n, err
}

// heldError reports that a backup stops the erasure of files.
type heldError struct{ until clock.Micros }

func (e heldError) Error() string {
	return "a backup copies files until " + e.until.Time().Format(time.RFC3339) + " or longer, so none are erased"
}

// held fails with heldError while a backup copies files. The rows of a file are
// erased before the file. So a backup that starts later has a snapshot of the
// database without them.
func (e *eraser) held(ctx context.Context) error {
	return e.db.Read(ctx, func(tx db.Tx) error {
		until, err := document.HeldUntil(ctx, tx)
		if err != nil {
			return err
		}
		if until > clock.Now(e.clock) {
			return heldError{until}
		}
		return nil
	})
}

// files erases up to erasePiece files.
func (e *eraser) files(ctx context.Context, prefix string) (n int64, err error) {
	for info, err := range e.store.List(ctx, prefix) {
		if err != nil {
			return n, err
		}
		if n == 0 { // without files there is nothing to wait for
			err = e.held(ctx)
		}
		if err != nil {
			return n, err
		}
		if err := e.store.Delete(ctx, info.Name); err != nil {
			return n, err
		}
		if n++; n == erasePiece {
			break
		}
	}
	return n, nil
}

// eraser returns the eraser of an instance, running or not.
func (i *Instance) eraser() *eraser {
	e := &eraser{db: i.DB, store: i.Blobs, directory: i.Directory, clock: i.clock, logger: i.logger}
	if e.directory == nil { // the instance does not run
		e.directory = access.NewDirectory(i.DB, i.clock, accessOptions(&i.config.Store, &i.config.Server))
	}
	if e.logger == nil {
		e.logger = slog.Default()
	}
	return e
}
