package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record/search"
	"kartei/store/db"
)

// maxRecent is the maximum number of opened records that are stored for a person.
const maxRecent = 20

// openedRecord is a record that a person opened.
type openedRecord struct {
	Object string `json:"o"`
	ID     string `json:"i"`
	// Created is the tick of the record's creation. It is the record's key in the search index.
	Created clock.Micros `json:"c"`
}

// openings are the records that a person opened recently, the last first. They have no times,
// because the list is only for this person and must not show when they worked.
type openings struct {
	// off says that the person has switched the list off.
	off     bool
	records []openedRecord
}

const (
	selectRecents = `select switched_off, records from recents where organization = $1 and principal = $2`
	storeRecents  = `insert into recents (organization, principal, switched_off, records) values ($1, $2, $3, $4)
		on conflict (organization, principal) do update set switched_off = excluded.switched_off, records = excluded.records`
)

// OpenedIDs are the records that a person opened recently in one organization. They are part of
// the export about a person.
type OpenedIDs struct {
	// Remembered is false if the person has switched the list off.
	Remembered bool `json:"remembered"`
	// Records are the ids of the records, the last opened first.
	Records []string `json:"records"`
}

// OpenedBy returns the records that a person opened recently in an organization.
func OpenedBy(ctx context.Context, tx db.Tx, organization int64, principal string) (OpenedIDs, error) {
	o, err := readOpenings(ctx, tx, organization, principal)
	out := OpenedIDs{!o.off, make([]string, len(o.records))}
	for i, r := range o.records {
		out.Records[i] = r.ID
	}
	return out, err
}

// readOpenings reads the records that a person opened recently.
func readOpenings(ctx context.Context, tx db.Tx, organization int64, principal string) (o openings, err error) {
	var text string
	err = tx.QueryRow(ctx, selectRecents, organization, principal).Scan(&o.off, &text)
	if errors.Is(err, db.ErrNoRows) {
		return openings{}, nil
	}
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal([]byte(text), &o.records)
}

// store stores the list of the caller for an organization, which is the caller's own or its
// sandbox.
func (o *openings) store(ctx context.Context, c *op.Call, organization int64) error {
	text, err := json.Marshal(append([]openedRecord{}, o.records...))
	if err != nil {
		return err
	}
	_, err = c.Tx.Exec(ctx, storeRecents, organization, c.Actor.PrincipalID(), o.off, string(text))
	return err
}

// RecentInput is the input of Recent.
type RecentInput struct {
	// Limit is the maximum number of records, from 1 to 20. Zero means 20.
	Limit int `json:"limit,omitempty"`
}

// Recents is the output of Recent.
type Recents struct {
	// Remembered is false if the caller has switched the list off.
	Remembered bool  `json:"remembered"`
	Data       []Hit `json:"data"`
}

// Records returns 1, like for the hits that appear while a user types.
func (Recents) Records() int { return 1 }

// Recent returns the records that the caller opened recently, the last first. It leaves out
// records that the caller no longer sees.
var Recent = op.New("lookup.recent", op.Read, recent, op.By(op.Member))

func recent(ctx context.Context, c *op.Call, in RecentInput) (Recents, error) {
	if in.Limit < 0 || in.Limit > maxRecent {
		return Recents{}, fault.Invalid(fault.Field{
			Name:  "limit",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: maxRecent},
		})
	}
	o, err := readOpenings(ctx, c.Tx, c.Actor.Org(), c.Actor.PrincipalID())
	if err != nil {
		return Recents{}, err
	}
	byID, err := o.look(ctx, c)
	if err != nil {
		return Recents{}, err
	}
	var list []*draft
	for _, x := range o.records {
		if d := byID[x.ID]; d != nil && (in.Limit == 0 || len(list) < in.Limit) {
			list = append(list, d)
		}
	}
	titles, err := titlesFor(ctx, c, list)
	out := Recents{Remembered: !o.off, Data: []Hit{}}
	for _, d := range list {
		d.Opened = true
		out.Data = append(out.Data, d.finish(search.Marker{}, titles))
	}
	return out, err
}

// look returns the records of the list that the caller sees, by id.
func (o *openings) look(ctx context.Context, c *op.Call) (map[string]*draft, error) {
	byID := map[string]*draft{}
	for _, f := range allowed(c) {
		var ids []string
		for _, x := range o.records {
			if x.Object == f.Object {
				ids = append(ids, x.ID)
			}
		}
		found, err := f.look(ctx, c, ids)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			byID[d.ID] = d
		}
	}
	return byID, nil
}

// OpenedInput is the input of Opened.
type OpenedInput struct {
	// ID is the id of the record that the caller has opened.
	ID string `json:"id"`
}

// Opened moves a record to the head of the caller's recently opened records. It fails with
// NOT_FOUND if the caller does not see the record.
var Opened = op.New("lookup.opened", op.Note, opened, op.By(op.Member))

func opened(ctx context.Context, c *op.Call, in OpenedInput) (op.Nothing, error) {
	f := familyOfID(in.ID)
	if f == nil || !c.Actor.May(f.ReadScope()) {
		return op.Nothing{}, fault.New(fault.NotFound)
	}
	seen, err := f.look(ctx, c, []string{in.ID})
	if err != nil {
		return op.Nothing{}, err
	}
	if len(seen) == 0 {
		return op.Nothing{}, fault.New(fault.NotFound)
	}
	o, err := readOpenings(ctx, c.Tx, c.Actor.Org(), c.Actor.PrincipalID())
	if err != nil || o.off || len(o.records) > 0 && o.records[0].ID == in.ID {
		return op.Nothing{}, err
	}
	o.records = slices.DeleteFunc(o.records, func(x openedRecord) bool { return x.ID == in.ID })
	o.records = slices.Insert(o.records, 0, openedRecord{f.Object, in.ID, seen[0].CreatedAt})
	o.records = o.records[:min(len(o.records), maxRecent)]
	return op.Nothing{}, o.store(ctx, c, c.Actor.Org())
}

// Remember switches the caller's list on or off, in the organization and its sandbox. Switching
// it off also empties it. The profile of a person has the switch.
func Remember(ctx context.Context, c *op.Call, on bool) error {
	here, err := access.OrganizationIn(ctx, c.Tx, c.Actor.Organization().ID)
	if err != nil {
		return err
	}
	other := here.SandboxID + here.SandboxOf
	there, err := access.OrganizationIn(ctx, c.Tx, other)
	if err != nil {
		return err
	}
	o, err := readOpenings(ctx, c.Tx, c.Actor.Org(), c.Actor.PrincipalID())
	if err != nil || o.off == !on {
		return err
	}
	for _, organization := range []int64{here.Number, there.Number} {
		if err := (&openings{off: !on}).store(ctx, c, organization); err != nil {
			return err
		}
	}
	return nil
}
