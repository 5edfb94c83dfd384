package instance

import (
	"context"
	"errors"
	"log/slog"

	"kartei/api"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/schema"
)

// atStart is the door in the audit log for acts that the server does at its start because of its
// settings.
const atStart = "start"

// act is an act of the process in the audit log.
type act struct {
	// name is the name of the act, and word the word in the audit log.
	name, word string
	// target is the object of the act, for example the file of a backup.
	target string
	door   string
}

// line appends a line for the act to the audit log of the instance. If the act changes the
// database, it calls line in the same transaction.
func (a act) line(tx db.Tx, c clock.Clock, changes ...audit.Change) error {
	about := new(audit.Act)
	about.About(audit.Instance, a.target)
	for _, change := range changes {
		about.Changed(change.Member, change.From, change.To)
	}
	if a.door == "" {
		a.door = string(api.Admin)
	}
	return audit.Append(tx, about, audit.Line{
		Time: clock.Now(c), CredentialKind: audit.OperatorKind, Door: a.door, Operation: a.name, Word: a.word,
	})
}

// begin appends the line in a separate transaction before the act.
func (a act) begin(ctx context.Context, d db.DB, c clock.Clock, changes ...audit.Change) error {
	return d.Write(ctx, func(tx db.Tx) error { return a.line(tx, c, changes...) })
}

// beginAnyway is like begin, for an act that must also work on a full disk or on the database of
// another release. If the line cannot be stored, beginAnyway logs a warning.
func (a act) beginAnyway(ctx context.Context, d db.DB, c clock.Clock, changes ...audit.Change) {
	state, err := schema.Status(ctx, d)
	switch {
	case err != nil:
	case !state.Current():
		err = errOtherRelease
	default:
		err = a.begin(ctx, d, c, changes...)
	}
	if err == nil {
		return
	}
	slog.Warn("an administrative act is not in the audit log", "act", a.name, "word", a.word, "target", a.target,
		"reason", err)
}

// errOtherRelease is the reason why a line was not stored.
var errOtherRelease = errors.New("the database has the schema of another release")
