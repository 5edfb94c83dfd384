package match

import (
	"fmt"
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestNamesAreFoundByIndexes checks that queries by name use the indexes of names, also for callers
// who see private records. Otherwise a query among 100,000 contacts took 8 ms for each entry.
func TestNamesAreFoundByIndexes(t *testing.T) {
	d := dbtest.SQLite(t)
	for _, family := range []string{"contacts", "companies"} {
		for v, index := range map[visibility]string{forEveryone: "shared", ownToo: "own", privateToo: "private"} {
			parts := v.parts()
			if err := d.Read(t.Context(), func(tx db.Tx) error {
				statement := fmt.Sprintf(selectNextNamed(family, parts), fmt.Sprintf(tx.Dialect().Rows, "$2"))
				args := []any{1, db.Tuples([][]any{{"a", "a\t", "a\n"}}), "usr_a"}
				plan, err := dbtest.SQLitePlan(t.Context(), tx, statement, args[:2+min(v, 1)]...)
				if n := strings.Count(plan, "sort_name>?)"); n != len(parts) ||
					!strings.Contains(plan, family+"_sort_name_"+index) || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s, visibility %d:\n%s", family, v, plan)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
