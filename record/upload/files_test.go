package upload

import (
	"strings"
	"testing"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestSessionsEndAlongAnIndex checks that the job of an hour reads only the sessions of that
// hour, however many sessions the organization has.
func TestSessionsEndAlongAnIndex(t *testing.T) {
	d := dbtest.SQLite(t)
	err := d.Read(t.Context(), func(tx db.Tx) error {
		for _, statement := range []string{selectOver, selectCleared, selectNextEnd} {
			const index = "uploads_expires_at (organization=? AND expires_at>? AND expires_at<?)"
			args := []any{1, 0, 1, 2, expirePage}
			if statement == selectNextEnd {
				args = []any{1, 0, 1, clearAfter}
			}
			plan, err := dbtest.SQLitePlan(t.Context(), tx, statement, args...)
			if err != nil || !strings.Contains(plan, index) || strings.Contains(plan, "TEMP B-TREE") ||
				strings.Contains(plan, "SCAN") {
				t.Errorf("%s: not along %s but %s, %v", statement, index, plan, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSessionsShareTheirJob checks that sessions whose time ends within the same hour have one
// job.
func TestSessionsShareTheirJob(t *testing.T) {
	for at, key := range map[clock.Micros]string{
		48 * clock.Hour: "172800000000", 49*clock.Hour - 1: "172800000000", 49 * clock.Hour: "176400000000",
	} {
		if s := expiry(at); s.Key != key || s.Due != at {
			t.Errorf("%d: %+v", at, s)
		}
	}
}
