package record

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/record/search"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestListsGoAlongIndexes checks the plans of all list statements. No statement sorts or reads
// rows that the page does not show. So a page costs the same in a table of any size.
func TestListsGoAlongIndexes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		insertSome(t, d)
		s := statementsFor("contacts", nil, nil)
		look := func(title, statement string, indexes, but []string, args ...any) {
			err := d.Write(ctx, func(tx db.Tx) error {
				plan, err := planOf(ctx, tx, statement, args...)
				for _, bad := range []string{"TEMP B-TREE", "CO-ROUTINE", "SCAN", "->  Sort", "Seq Scan"} {
					if strings.Contains(plan, bad) && !slices.Contains(but, bad) {
						t.Errorf("%s: %s in\n%s", title, bad, plan)
					}
				}
				for _, index := range indexes {
					if !strings.Contains(plan, index) {
						t.Errorf("%s: not along %s but\n%s", title, index, plan)
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		for l, statement := range s.list[d.Dialect()] {
			look(fmt.Sprintf("%+v", l), statement, nil, nil)
			if l.deleted { // cannot be combined with filters
				continue
			}
			// If only few rows can match, an engine may sort them.
			few := []string{"TEMP B-TREE", "->  Sort"}
			counting := []string{"CO-ROUTINE", "SCAN"} // the scan reads only the matching rows
			company, email := &filter{column: column{name: "company_id"}}, &filter{column: column{name: "email"}, few: true}
			external := &filter{column: column{name: "external_id"}}
			tag, owner := &filter{
				parameter: "tag",
				column:    column{name: "tag"},
				tags:      true,
			}, &filter{column: column{name: ownerID}}
			name := &order{parameter: "name", column: "sort_name"}
			for _, n := range []struct {
				but []string
				selection
			}{
				{nil, selection{filters: []*filter{company}, values: []any{"cmp_4"}}},
				{few, selection{filters: []*filter{email}, values: []any{"a7"}}},
				{few, selection{filters: []*filter{external}, values: []any{"x8"}}},
				{few, selection{filters: []*filter{external, email, company}, values: []any{"x8", "a7", "cmp_4"}}},
				{few, selection{filters: []*filter{email, company}, values: []any{"a7", "cmp_4"}}},
				{nil, selection{filters: []*filter{company, tag, owner}, values: []any{"cmp_4", "mandant", "usr_1"}}},
				{nil, selection{filters: []*filter{tag}, values: []any{"mandant"}}},
				{nil, selection{filters: []*filter{tag, owner}, values: []any{"mandant", "usr_1"}}},
				{nil, selection{filters: []*filter{owner}, values: []any{"usr_1"}}},
				{nil, selection{order: name}},
				{nil, selection{order: name, filters: []*filter{company}, values: []any{"cmp_4"}}},
				{nil, selection{order: name, filters: []*filter{company, tag, owner}, values: []any{"cmp_4", "mandant", "usr_1"}}},
				{nil, selection{order: name, filters: []*filter{tag}, values: []any{"mandant"}}},
				{nil, selection{order: name, filters: []*filter{tag, owner}, values: []any{"mandant", "usr_1"}}},
				{nil, selection{order: name, filters: []*filter{owner}, values: []any{"usr_1"}}},
				{few, selection{order: name, filters: []*filter{email, tag}, values: []any{"a7", "mandant"}}},
			} {
				indexes := leading(d.Dialect(), n.selection, l)
				title := fmt.Sprintf("%+v by %v, order %v", l, n.selection, n.order != nil)
				look(title, s.page(d.Dialect(), l, n.selection), indexes, n.but, n.values...)
				if n.order == nil {
					look("count "+title, s.counting(d.Dialect(), l, n.selection), indexes[:1], counting, n.values...)
				}
			}
		}
	})
}

// leading returns the indexes that a plan must name for the streams of a list. For a list by
// owner in the order of changes, it leaves out the index of the private records.
func leading(d *db.Dialect, n selection, l listVariant) []string {
	mine := map[bool]string{true: "_private", false: "_own"}[l.all]
	name := "contacts_sort_name"
	switch {
	case len(n.filters) == 0:
		return []string{name + "_shared", name + mine}
	case n.filters[0].tags && n.order != nil:
		return []string{tagsKey(d, "sorted_tags"), name + "_shared", name + mine}
	case n.filters[0].tags:
		return []string{tagsKey(d, "tags"), "contacts_live"}
	case n.filters[0].name == ownerID && n.order != nil:
		return []string{"contacts_owner_id_sort_name_shared", name + "_own"}
	case n.filters[0].name == ownerID:
		return []string{"contacts_owner_id_shared"}
	case n.filters[0].name == "company_id" && n.order != nil:
		return []string{"contacts_company_id_sort_name_shared", "contacts_company_id_sort_name" + mine}
	}
	return indexesOf(n, "contacts", l)
}

// indexesOf returns the indexes for the streams of a filtered list.
func indexesOf(n selection, table string, l listVariant) (list []string) {
	for _, p := range audiences(l) {
		list = append(list, n.index(table, p))
	}
	return list
}

// tagsKey returns the name of a tag table's primary key in a plan.
func tagsKey(d *db.Dialect, table string) string {
	if d.Name == "sqlite" {
		return "SEARCH g USING PRIMARY KEY"
	}
	return table + "_pkey"
}

// TestListWithoutPrivateRecords checks an office without private records. A list does not search
// all records for the member's private records.
func TestListWithoutPrivateRecords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		err := d.Write(ctx, func(tx db.Tx) error {
			for i := range 5000 {
				tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content, company_id)
					values (1, $1, 1, $2, $2, false, 'usr_1', '', 1, '{}', 'cmp_1')`, fmt.Sprint("con_", i), i+1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s := statementsFor("contacts", nil, nil)
		company := selection{filters: []*filter{{column: column{name: "company_id"}}}, values: []any{"cmp_2"}}
		err = d.Write(ctx, func(tx db.Tx) error {
			if d.Dialect().Name == "postgres" {
				if _, err := tx.Exec(ctx, "analyze contacts"); err != nil {
					return err
				}
			}
			for _, statement := range []string{
				s.list[d.Dialect()][listVariant{}], s.count[listVariant{}],
				s.page(d.Dialect(), listVariant{}, company), s.counting(d.Dialect(), listVariant{}, company),
				s.page(d.Dialect(), listVariant{all: true}, company), s.counting(d.Dialect(), listVariant{all: true}, company),
			} {
				var values []any
				if strings.Contains(statement, "$6") {
					values = company.values
				}
				plan, err := planOf(ctx, tx, statement, values...)
				if err != nil {
					return err
				}
				if readsAndThrowsAway.MatchString(plan) {
					t.Errorf("%s\nrows are read and thrown away:\n%s", statement, plan)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// readsAndThrowsAway matches a plan line of a scan that discards rows. Such a scan compares rows
// with a parameter that is not in the index. It covers both engines.
var readsAndThrowsAway = regexp.MustCompile(`(?m)^ *Filter: .*\$|\(organization=\? AND updated_at`)

// TestPairOfFilters checks the open tasks of a person who has completed thousands of tasks. The
// query must find them without reading the completed ones. The same must hold for the open tasks
// of a company.
func TestPairOfFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		err := d.Write(ctx, func(tx db.Tx) error {
			for i := range 5000 {
				status := "completed"
				if i%1000 == 0 {
					status = "open"
				}
				tx.Queue(`insert into tasks (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content, assignee_id, company_id, status)
					values (1, $1, 1, $2, $2, false, 'usr_1', '', 1, '{}', 'usr_2', 'cmp_2', $3)`, fmt.Sprint("tsk_", i), i+1, status)
			}
			return nil
		})
		if err == nil && d.Dialect().Name == "postgres" {
			err = d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "analyze tasks")
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := statementsFor("tasks", nil, nil)
		for parameter, value := range map[string]string{"assigneeId": "usr_2", "companyId": "cmp_2"} {
			n := selection{filters: []*filter{
				{parameter: parameter, column: column{name: columnName(parameter)}, with: "status"},
				{parameter: "status", column: column{name: "status"}},
			}, values: []any{value, "open"}}
			for _, all := range []bool{false, true} {
				l := listVariant{all: all}
				for _, statement := range []string{s.page(d.Dialect(), l, n), s.counting(d.Dialect(), l, n)} {
					err := d.Write(ctx, func(tx db.Tx) error {
						plan, err := planOf(ctx, tx, statement, n.values...)
						for _, index := range indexesOf(n, "tasks", l) {
							if !strings.Contains(plan, index) {
								t.Errorf("%s, all %t: not along %s:\n%s", parameter, all, index, plan)
							}
						}
						if strings.Contains(plan, "->  Sort") || strings.Contains(plan, "TEMP B-TREE") {
							t.Errorf("%s, all %t:\n%s", parameter, all, plan)
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}

// insertSome inserts thousands of contacts in two organizations, and a few in each of many
// others. So the statistics of PostgreSQL say that an organization has few contacts.
func insertSome(t *testing.T, d db.DB) {
	ctx := context.Background()
	err := d.Write(ctx, func(tx db.Tx) error {
		for i := range 8_000 {
			tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content)
				values ($1, $2, 1, $3, $3, false, 'usr_1', '', 1, '{}')`, 3+i/2, fmt.Sprint("con_", i), i+1)
		}
		for i := range 20_000 {
			audience := ""
			if i%20 == 0 {
				audience = fmt.Sprint("usr_", i%7)
			}
			tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, company_id, email, sort_name)
				values ($1, $2, 1, $3, $3, $4, 'usr_1', $5, $6, 1, '{}', $7, $8, $9)`, 1+i%2, fmt.Sprint("con_", i), i+1,
				i%10 == 1, audience,
				fmt.Sprint("x", i), fmt.Sprint("cmp_", i%50), fmt.Sprint("a", i/3), fmt.Sprint("name ", i*7919%20_000))
			if i%10 != 1 && i%3 == 0 {
				for _, reader := range search.Audiences(audience) {
					tx.Queue(`insert into tags (organization, family, reader, tag, tick) values ($1, 'contacts', $2, $3, $4)`,
						1+i%2, reader, []string{"mandant", "erbrecht"}[i/3%2], i+1)
					tx.Queue(`insert into sorted_tags (organization, family, reader, tag, sort_key) values ($1, 'contacts', $2, $3, $4)`,
						1+i%2, reader, []string{"mandant", "erbrecht"}[i/3%2], fmt.Sprint("name ", i*7919%20_000))
				}
			}
			if i%5 == 0 {
				tx.Queue(`insert into visibility_losses (organization, record_id, principal, family, tick) values ($1, $2, $3, 'contacts', $4)`,
					1+i%2, fmt.Sprint("con_", i), fmt.Sprint("usr_", i%3), i+1)
			}
		}
		return nil
	})
	if err == nil && d.Dialect().Name == "postgres" {
		err = d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "analyze contacts, tags, sorted_tags, visibility_losses")
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// planOf returns the plan that a connection of d keeps for the statement. On PostgreSQL, this is
// the plan for all values (plan_cache_mode). An explain with values would not show it.
func planOf(ctx context.Context, tx db.Tx, statement string, more ...any) (string, error) {
	args := append([]any{1, "usr_0", 0, 1 << 40, 26}, more...)
	if tx.Dialect().Name == "sqlite" {
		return dbtest.SQLitePlan(ctx, tx, statement, args...)
	}
	var mode string
	if err := tx.QueryRow(ctx, "select current_setting('plan_cache_mode')").Scan(&mode); err != nil {
		return "", err
	}
	if mode == "auto" { // a cluster
		return planLines(ctx, tx, "explain "+statement, args...)
	}
	if _, err := tx.Exec(ctx, "prepare explained as "+statement); err != nil {
		return "", err
	}
	none := strings.TrimSuffix(strings.Repeat("null, ", parameters(statement)), ", ")
	plan, err := planLines(ctx, tx, "explain execute explained ("+none+")")
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, "deallocate explained")
	return plan, err
}

// parameters returns the number of parameters of a statement.
func parameters(statement string) int {
	n := 0
	for strings.Contains(statement, fmt.Sprint("$", n+1)) {
		n++
	}
	return n
}

// planLines returns the lines of an explain on PostgreSQL.
func planLines(ctx context.Context, tx db.Tx, query string, args ...any) (string, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		plan.WriteString(line + "\n")
	}
	return plan.String(), rows.Err()
}
