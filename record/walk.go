package record

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Walk is a query for living records in the order of their ids. A record that exists during a
// whole walk is returned exactly once, whatever others change meanwhile.
type Walk struct {
	// Reference is the name of a member, for example contactId. The walk returns only records
	// whose member has the id To. If Reference is empty, it returns all records.
	Reference, To string
	// Until is the tick of the last creation that counts. Zero means no limit.
	Until clock.Micros
	// After is the last id of the previous page. It is empty for the first page.
	After string
	// Limit is the maximum number of records.
	Limit int
}

// WalkRecord is the id of a record and its JSON as in API responses.
type WalkRecord struct {
	ID   string
	JSON []byte
}

// Walk returns the next records that the actor sees. It does not check the right to read the
// family.
func (k *Collection[T, F, P]) Walk(ctx context.Context, c *op.Call, w Walk) ([]WalkRecord, error) {
	var column, along string
	if w.Reference != "" {
		i := slices.IndexFunc(k.references, func(r reference) bool { return r.field == w.Reference })
		if i < 0 {
			return nil, fmt.Errorf("record: %s have no reference %s", k.Plural, w.Reference)
		}
		column = k.references[i].name
		along = c.Tx.Dialect().Along(k.Plural + "_" + column + "_audience")
	}
	q := db.Statement{
		Query: `select ` + shown + `, ` + hidden(k.references, c.Actor.SeesAll(), "$2") + ` from ` + k.Plural + ` as r` +
			along + `
			where r.organization = $1 and ` + op.Visible("r", c.Actor, "$2") + ` and r.deleted = false and r.id > $3`,
		Args: []any{c.Actor.Org(), c.Actor.PrincipalID(), w.After},
	}
	q.AndIf(column != "", `r.`+column+` = ? and r.`+column+` is not null`, w.To)
	q.AndIf(w.Until != 0, `r.created_at <= ?`, w.Until)
	q.Add(` order by r.id limit ?`, w.Limit)
	rows, err := k.query(ctx, c, w.Limit, false, q.Query, q.Args...)
	list := make([]WalkRecord, len(rows))
	for i := range rows {
		list[i] = WalkRecord{rows[i].id, k.appendJSON(nil, &rows[i])}
	}
	return list, err
}

// Histories returns the changes of records of a family by the id of the record. Each list begins
// with the creation. Histories checks no rights, because its caller has already seen the records.
func Histories(
	ctx context.Context, tx db.Tx, organization int64, f op.Family, names []string,
) (map[string][]Change, error) {
	all := map[string][]Change{}
	read := func(query string, scan func(row db.Row) (string, Change, error)) error {
		_, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
			name, line, err := scan(row)
			all[name] = append(all[name], line)
			return none, err
		}, query, organization, db.Texts(names))
		return err
	}
	err := read(`select id, created_at, created_by, created_door, created_request, created_credential from `+f.Plural+`
		where organization = $1 and deleted = false and id `+tx.Dialect().In("$2"),
		func(row db.Row) (name string, line Change, err error) {
			line = Change{Revision: 1, Act: "created", Members: []string{}}
			err = row.Scan(&name, &line.ChangedAt, &line.Principal, &line.Door, &line.RequestID, &line.Credential)
			return name, line, err
		})
	if err != nil {
		return all, err
	}
	err = read(`select record_id, revision, changed_at, act, members, principal, door, request_id, credential from record_changes
			where organization = $1 and record_id `+tx.Dialect().In("$2")+` order by record_id, revision`, scanNamedChange)
	return all, err
}

func scanNamedChange(row db.Row) (name string, line Change, err error) {
	var members string
	err = row.Scan(&name, &line.Revision, &line.ChangedAt, &line.Act, &members, &line.Principal, &line.Door,
		&line.RequestID, &line.Credential)
	line.Members = strings.Fields(members)
	return name, line, err
}
