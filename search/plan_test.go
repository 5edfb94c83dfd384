package search

import (
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// Merged blocks of a large segment are found at its beginning, not by a look at each block.
func TestPlanOfMergedBlocks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		const fill = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
			insert into search_blocks (organization, family, segment, audience, rank, word, position, postings)
			select cast($1 as bigint), 'contact', 1, '', 0, 'w' || i, i, '' from n`
		want := "SEARCH search_blocks USING PRIMARY KEY (organization=? AND family=? AND segment=? AND audience=? AND rank=? AND word=?)"
		if d.Dialect().Name == "postgres" {
			want = "Tid Scan on search_blocks"
		}
		w.write(t, func(tx db.Tx) error {
			_, err := tx.Exec(w.ctx, fill, w.organization)
			return err
		})
		w.write(t, func(tx db.Tx) error {
			if _, err := tx.Exec(w.ctx, "analyze search_blocks"); err != nil {
				return err
			}
			plan, err := dbtest.Plan(w.ctx, tx, deleteFirst(d.Dialect()), w.organization, "contact", 1, 3)
			if !strings.Contains(plan, want) || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("the plan is not %s:\n%s", want, plan)
			}
			return err
		})
	})
}
