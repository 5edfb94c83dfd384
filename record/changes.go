package record

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kartei/access"
	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// mostChanged bounds a page of Changes. More is not read, only counted on.
const mostChanged = 200

// The records of a family that changed last, by the range of an index each: those of
// an audience, or of all for admins. The revision leads to the line of the history; a
// record that was only created has none.
const (
	selectChanged = `select r.id, r.revision, r.updated_at, coalesce(h.act, 'created'), coalesce(h.principal, r.created_by) from (
			select r.organization, r.id, r.revision, r.updated_at, r.created_by from {table} as r
			where r.organization = $1 and r.deleted = false and {whose} and {visible} and r.updated_at >= $2 order by r.updated_at desc limit $3) as r
		left join record_changes as h on h.organization = r.organization and h.record_id = r.id and h.revision = r.revision`
	ofAll      = `$4 = $4`
	ofAudience = `r.audience = $4`
)

// Changed is a record with its last change. It names no content.
type Changed struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	Revision  int64        `json:"revision"`
	ChangedAt clock.Micros `json:"changedAt"`
	Act       string       `json:"act"`
	// Principal is empty if the operator had the records of somebody handed over.
	Principal string `json:"principalId"`
}

// ChangesInput is the input of Changes.
type ChangesInput struct {
	// Since is the time of the first change.
	Since clock.Micros `json:"since"`
	// Limit is the number of records, 1 to 200; zero means 50.
	Limit int `json:"limit,omitempty"`
}

// Changes returns the records that changed since a time, with the last change of each,
// the newest first. They are those of the families that the caller may read, and that
// the caller sees.
func Changes(ctx context.Context, c *app.Call, in ChangesInput) (access.List[Changed], error) {
	limit := cmp.Or(in.Limit, mostChanges)
	if limit < 1 || limit > mostChanged {
		return access.List[Changed]{}, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: mostChanged}})
	}
	all := []Changed{}
	for _, f := range c.Services.Families {
		if !c.Actor.May(f.ReadScope()) {
			continue
		}
		for _, whose := range audiencesOf(c.Actor) {
			statement := strings.NewReplacer("{table}", f.Plural, "{whose}", whose.condition, "{visible}", app.Visible("r", c.Actor, "$5")).Replace(selectChanged)
			found, err := db.List(ctx, c.Tx, scanChanged(f.Object), statement, c.Actor.Org(), in.Since, limit+1, whose.value, c.Actor.PrincipalID())
			if err != nil {
				return access.List[Changed]{}, err
			}
			all = append(all, found...)
		}
	}
	slices.SortFunc(all, func(a, b Changed) int { return cmp.Or(cmp.Compare(b.ChangedAt, a.ChangedAt), cmp.Compare(a.ID, b.ID)) })
	return access.PageOf(all[:min(len(all), limit+1)], limit), nil
}

// audience is a set of records that an actor sees, which one range of an index has.
type audience struct{ condition, value string }

func audiencesOf(a *access.Actor) []audience {
	if a.SeesAll() {
		return []audience{{ofAll, ""}}
	}
	return []audience{{ofAudience, ""}, {ofAudience, a.PrincipalID()}}
}

func scanChanged(object string) func(db.Row) (Changed, error) {
	return func(row db.Row) (Changed, error) {
		line := Changed{Object: object}
		return line, row.Scan(&line.ID, &line.Revision, &line.ChangedAt, &line.Act, &line.Principal)
	}
}
