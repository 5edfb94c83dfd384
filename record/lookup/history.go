package lookup

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
	"kartei/store/db"
)

// maxChanges is the default size of a page of history.
const maxChanges = 50

const selectChanges = `select revision, changed_at, act, members, principal, door, request_id, credential from record_changes
	where organization = $1 and record_id = $2 and revision < $3 order by revision desc limit $4`

// HistoryInput is the input of History.
type HistoryInput struct {
	// ID is the id of a record of any family.
	ID string `json:"id"`
	// Before is the revision of the last line of the previous page.
	Before int64 `json:"before,omitempty"`
	// Limit is the maximum number of lines, from 1 to 1,000. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// History returns the changes of a record, the newest first. It returns at most the last 200
// changes and the creation. The caller must have the right to read the family, and must see the
// record. A caller who saw a deleted record gets the line of its deletion.
var History = op.New("records.history", op.Read, history, op.By(op.Member))

func history(ctx context.Context, c *op.Call, in HistoryInput) (op.Entries[record.Change], error) {
	none := op.Entries[record.Change]{}
	limit, err := op.PageSize(in.Limit, maxChanges)
	if err != nil {
		return none, err
	}
	i := slices.IndexFunc(c.Services.Families, func(f op.Family) bool { return id.Valid(f.Prefix, in.ID) })
	if i < 0 {
		return none, fault.New(fault.NotFound)
	}
	f := c.Services.Families[i]
	if scope := f.ReadScope(); !c.Actor.May(scope) {
		return none, access.Lacking(scope)
	}
	created, living, err := creation(ctx, c, f, in.ID)
	if err != nil {
		return none, err
	}
	before := in.Before
	if before == 0 {
		before = math.MaxInt64
	}
	changes, err := db.List(ctx, c.Tx, scanChange, selectChanges, c.Actor.Org(), in.ID, before, limit+1)
	if err != nil {
		return none, err
	}
	if living && len(changes) <= limit && before > created.Revision {
		changes = append(changes, created)
	}
	page := op.PageOf(changes, limit)
	return page, nameKeys(ctx, c, page.Data)
}

// nameKeys sets Key in the lines whose credential is an API key.
func nameKeys(ctx context.Context, c *op.Call, lines []record.Change) error {
	var ids []string
	for _, l := range lines {
		if id.Valid(id.Key, l.Credential) && !slices.Contains(ids, l.Credential) {
			ids = append(ids, l.Credential)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	keys := map[string]*record.ChangeKey{}
	_, err := db.List(ctx, c.Tx, func(row db.Row) (none struct{}, err error) {
		var name, kid string
		k := &record.ChangeKey{}
		err = row.Scan(&name, &k.Name, &kid, &k.Environment, &k.MadeBy)
		k.KidShort = kid[:min(len(kid), access.KidShortLength)]
		keys[name] = k
		return none, err
	}, `select id, name, kid, environment, made_by from api_keys where organization = $1 and id `+
		c.Tx.Dialect().In("$2"), c.Actor.Org(), db.Texts(ids))
	for i := range lines {
		lines[i].Key = keys[lines[i].Credential]
	}
	return err
}

// creation returns the first line of a record's history. living is false for a deleted record.
// creation fails with NOT_FOUND if the actor does not see the record, or did not see it when it
// was deleted.
func creation(ctx context.Context, c *op.Call, f op.Family, name string) (line record.Change, living bool, err error) {
	line = record.Change{Revision: 1, Act: "created", Members: []string{}}
	var deleted bool
	err = c.Tx.QueryRow(ctx, `select created_at, deleted, created_by, created_door, created_request, created_credential from `+f.Plural+` as r
		where r.organization = $1 and r.id = $2 and `+op.Visible("r", c.Actor, "$3"), c.Actor.Org(), name,
		c.Actor.PrincipalID()).
		Scan(&line.ChangedAt, &deleted, &line.Principal, &line.Door, &line.RequestID, &line.Credential)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.New(fault.NotFound)
	}
	return line, !deleted, err
}

func scanChange(row db.Row) (line record.Change, err error) {
	var members string
	err = row.Scan(&line.Revision, &line.ChangedAt, &line.Act, &members, &line.Principal, &line.Door, &line.RequestID,
		&line.Credential)
	line.Members = strings.Fields(members)
	return line, err
}
