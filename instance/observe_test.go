package instance

import (
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// TestWaitingWordsAreCounted checks the metric for records whose words in the search index wait to
// be moved.
func TestWaitingWordsAreCounted(t *testing.T) {
	c, now := configOf(t.TempDir()), clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	c.Clock = now
	i := begin(t, c)
	defer end(t, i)
	shows(t, i, now, "kartei_search_records_moving 0\n")
	// This organization has no clock row, so that its words cannot be moved.
	if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
		tx.Queue(`insert into search_moves (organization, family, created, number, audiences, words) values (99, 'document', 1, 0, '', '0000berg')`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	shows(t, i, now, "kartei_search_records_moving 1\n")
}
