package lookup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// maxChanged is the maximum number of records that Changes counts in a family. If there are more,
// the page says "more than".
const maxChanged = 1000

// namedOfGroup is the maximum number of record ids in a ChangeGroup.
const namedOfGroup = 3

// selectChanged reads the records of a family that changed last. It reads one range of an index:
// the records of an audience, or all private records for admins. The revision joins a record with
// the line of its last change in the history. A record that was only created has no such line.
const (
	selectChanged = `select r.id, r.updated_at, coalesce(h.act, 'created'), coalesce(h.principal, r.created_by) from (
			select r.organization, r.id, r.revision, r.updated_at, r.created_by from {table} as r
			where r.organization = $1 and r.deleted = false and {whose} and {visible} and r.updated_at >= $2 order by r.updated_at desc limit $3) as r
		left join record_changes as h on h.organization = r.organization and h.record_id = r.id and h.revision = r.revision`
	ofAudience = `r.audience = $4`
	ofPrivate  = `r.audience <> '' and $4 = $4`
)

// ChangeGroup has the records of a family whose last changes are the same act of the same
// principal. It has only their ids, and no content.
type ChangeGroup struct {
	Object string `json:"object"`
	// Act is created, completed or updated. All acts besides created and completed count as
	// updated.
	Act string `json:"act"`
	// Principal is the principal who made the changes. It is empty if the operator handed over
	// the records of another principal.
	Principal string       `json:"principalId"`
	ChangedAt clock.Micros `json:"changedAt"`
	// Count is the number of records. IDs are the ids of at most 3 of them, the last changed
	// first.
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// ChangeReport has the groups of the records that changed since a time. The groups with the
// newest changes come first.
type ChangeReport struct {
	Groups []ChangeGroup `json:"data"`
	// Capped says that more than 1,000 records of a family changed. Groups does not count the
	// oldest of these.
	Capped bool `json:"capped"`
}

// ChangesInput is the input of Changes.
type ChangesInput struct {
	// Since is the time of the first change.
	Since clock.Micros `json:"since"`
}

// Changes returns the records that changed since a time, grouped by family, act and
// principal of their last change. It leaves out families that the caller may not read,
// and records that the caller does not see.
var Changes = op.New("records.changes", op.Read, changes, op.By(op.Member))

func changes(ctx context.Context, c *op.Call, in ChangesInput) (ChangeReport, error) {
	out := ChangeReport{Groups: []ChangeGroup{}}
	for _, f := range c.Services.Families {
		if !c.Actor.May(f.ReadScope()) {
			continue
		}
		lines, err := changesOf(ctx, c, f, in.Since)
		if err != nil {
			return ChangeReport{}, err
		}
		out.Capped = out.Capped || len(lines) > maxChanged
		out.Groups = append(out.Groups, grouped(f.Object, lines[:min(len(lines), maxChanged)])...)
	}
	slices.SortFunc(out.Groups, func(a, b ChangeGroup) int { return cmp.Compare(b.ChangedAt, a.ChangedAt) })
	return out, nil
}

// lastChange is the last change of a record.
type lastChange struct {
	id, act, principal string
	at                 clock.Micros
}

// changesOf returns the last changes of at most maxChanged+1 records of a family, the newest
// first.
func changesOf(ctx context.Context, c *op.Call, f op.Family, since clock.Micros) ([]lastChange, error) {
	var all []lastChange
	for _, whose := range audiencesOf(c.Actor) {
		statement := strings.NewReplacer("{table}", f.Plural, "{whose}", whose.condition, "{visible}",
			op.Visible("r", c.Actor, "$5")).Replace(selectChanged)
		found, err := db.List(ctx, c.Tx, scanLastChange, statement, c.Actor.Org(), since, maxChanged+1, whose.value,
			c.Actor.PrincipalID())
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b lastChange) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.id, b.id)) })
	return all[:min(len(all), maxChanged+1)], nil
}

// grouped returns the groups of the changes in lines, which are sorted with the newest first.
func grouped(object string, lines []lastChange) (groups []ChangeGroup) {
	for _, l := range lines {
		act := l.act
		if act != "created" && act != "completed" {
			act = "updated"
		}
		i := slices.IndexFunc(groups, func(g ChangeGroup) bool { return g.Act == act && g.Principal == l.principal })
		if i < 0 {
			i, groups = len(groups), append(groups, ChangeGroup{
				Object: object, Act: act, Principal: l.principal, ChangedAt: l.at,
			})
		}
		g := &groups[i]
		g.Count++
		if len(g.IDs) < namedOfGroup {
			g.IDs = append(g.IDs, l.id)
		}
	}
	return groups
}

// audience is a set of records that an actor sees and that are one range of an index. The
// condition compares the column audience, and the value is its parameter.
type audience struct{ condition, value string }

func audiencesOf(a *access.Actor) []audience {
	if a.SeesAll() {
		return []audience{{ofAudience, ""}, {ofPrivate, ""}}
	}
	return []audience{{ofAudience, ""}, {ofAudience, a.PrincipalID()}}
}

func scanLastChange(row db.Row) (l lastChange, err error) {
	return l, row.Scan(&l.id, &l.at, &l.act, &l.principal)
}
