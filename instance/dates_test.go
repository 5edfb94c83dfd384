package instance

import (
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/store/db"
)

// TestDatesAhead checks that a date ahead of the clock is reported until the right time has passed
// it. All changes until then have wrong dates too.
func TestDatesAhead(t *testing.T) {
	const month = 30 * 24 * time.Hour // longer than the test waits
	c, now := configOf(t.TempDir()), clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	c.Clock = now
	i := begin(t, c)
	if err := i.door().Call(t.Context(), "organizations.create", organization.New{Name: "Haas & Partner"},
		nil); err != nil {
		t.Fatal(err)
	}
	changedAt := func(at time.Duration) {
		t.Helper()
		if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
			var organization int64
			if err := tx.QueryRow(t.Context(), `select min(organization) from clocks`).Scan(&organization); err != nil {
				return err
			}
			_, err := tx.Tick(t.Context(), organization, clock.Now(now).Add(at))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	changedAt(30 * time.Second) // by a replica whose clock differs a little
	shows(t, i, now, "kartei_changes_dated_by_clock 1\n", `"name":"clock","ok":true`)
	changedAt(month)
	shows(t, i, now, "kartei_changes_dated_by_clock 0\n", `"name":"clock","ok":false`,
		"the newest change is dated 2026-12-02T")
	end(t, i)

	i = begin(t, c)
	defer end(t, i)
	shows(t, i, now, "kartei_changes_dated_by_clock 0\n")
	now.Advance(month)
	shows(t, i, now, "kartei_changes_dated_by_clock 1\n", `"name":"clock","ok":true`)
}
