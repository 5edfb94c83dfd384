package upload

import (
	"strings"
	"testing"

	"kartei/db"
	"kartei/dbtest"
)

// What is asked of each staged file reads the few rows it is about, whatever
// else an organization has.
func TestStagedAreAskedForAlongAnIndex(t *testing.T) {
	d := dbtest.SQLite(t)
	err := d.Read(t.Context(), func(tx db.Tx) error {
		const index = "jobs_unique (organization=? AND kind=? AND key=?)"
		plan, err := dbtest.SQLitePlan(t.Context(), tx, countEnding, 1, ExpireKind, ClearKind, "upl_a")
		if err != nil || !strings.Contains(plan, index) {
			t.Errorf("not along %s but %s, %v", index, plan, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
