package record

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kartei/db"
	"kartei/dbtest"
)

// A page must cost the same however large the table is: nothing is sorted, and
// nothing read to its end, but what the page holds.
func TestListsGoAlongIndexes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		insertSome(t, d)
		explain := map[string]string{"sqlite": "explain query plan ", "postgres": "explain "}[d.Dialect().Name]
		for l, statement := range statementsFor("contacts").list[d.Dialect()] {
			err := d.Read(ctx, func(tx db.Tx) error {
				plan, err := planOf(ctx, tx, explain+statement)
				for _, bad := range []string{"TEMP B-TREE", "CO-ROUTINE", "SCAN", "->  Sort", "Seq Scan"} {
					if strings.Contains(plan, bad) {
						t.Errorf("%+v: %s in\n%s", l, bad, plan)
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func insertSome(t *testing.T, d db.DB) {
	ctx := context.Background()
	err := d.Write(ctx, func(tx db.Tx) error {
		for i := range 20_000 {
			audience := ""
			if i%20 == 0 {
				audience = fmt.Sprint("usr_", i%7)
			}
			tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, shape, content)
				values ($1, $2, 1, $3, $3, $4, 'usr_1', $5, 1, '{}')`, 1+i%2, fmt.Sprint("con_", i), i+1, i%10 == 1, audience)
		}
		return nil
	})
	if err == nil && d.Dialect().Name == "postgres" {
		err = d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "analyze contacts")
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func planOf(ctx context.Context, tx db.Tx, query string) (string, error) {
	rows, err := tx.Query(ctx, query, 1, "usr_0", 0, 1<<40, 26)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		var n [3]int
		if tx.Dialect().Name == "postgres" {
			err = rows.Scan(&line)
		} else {
			err = rows.Scan(&n[0], &n[1], &n[2], &line)
		}
		if err != nil {
			return "", err
		}
		plan.WriteString(line + "\n")
	}
	return plan.String(), rows.Err()
}
