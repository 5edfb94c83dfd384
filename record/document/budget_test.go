package document_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// budget is the allowance of one small file. So it has room only while nothing is spent.
const budget = 5 * time.Second

// budgeted returns an office with a budget for reading texts.
func budgeted(t *testing.T, d db.DB) *apitest.Office {
	return apitest.New(t, d, apitest.Working(func(w *apitest.Workshop) { w.Maker.Budget = budget }))
}

// spent returns the spent part of the office's budget.
func spent(o *apitest.Office) (total time.Duration) {
	o.Helper()
	err := o.DB.Read(context.Background(), func(tx db.Tx) error {
		var micros int64
		err := tx.QueryRow(context.Background(), `select coalesce(sum(spent), 0) from reading_time`).Scan(&micros)
		total = time.Duration(micros) * time.Microsecond
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
	return total
}

// TestReadingBudget checks that a file is read as soon as the budget of its organization has
// room, by any process. No file is lost.
func TestReadingBudget(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := budgeted(t, d)
		c := o.As(access.Member)
		c.Document("eins.txt", "text/plain", []byte("Kündigung"))
		took := spent(o)
		if took <= 0 || took >= budget {
			t.Fatalf("the first file took %s", took)
		}
		// The picture has no text, so it needs no budget.
		c.Document("bild.png", "image/png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"))
		second := c.Do("POST", "/documents", map[string]any{
			"uploadId": c.Upload("zwei.txt", "text/plain", []byte("Räumung")),
		}).Want(202)
		waiting := func() {
			t.Helper()
			o.Rest()
			if a := c.Do("GET", "/operations/"+second.Text("id"), nil).Want(200); a.Text("status") != "queued" {
				t.Fatalf("over the budget: %s", a.Body)
			}
		}
		waiting()
		o.Restart()
		waiting()
		o.Clock.Advance(59 * time.Minute)
		waiting()
		o.Clock.Advance(6*time.Minute + time.Second)
		if a := c.Await(second); a.Text("status") != "succeeded" {
			t.Fatalf("%s", a.Body)
		}
		for _, q := range []string{"kündigung", "räumung"} {
			if data := c.Do("GET", "/documents?q="+q, nil).Want(200).Data(); len(data) != 1 {
				t.Errorf("%s finds %d documents", q, len(data))
			}
		}
		if left := spent(o); left <= 0 || left >= budget {
			t.Errorf("what counts of the next hour: %s", left)
		}
		if n := strings.Count(o.Logged.String(), "documents wait"); n < 1 || n > 2 { // one line for each process
			t.Errorf("%d lines of the log say so", n)
		}
	})
}

// TestBudgetWaitIsBounded checks that a document is created without its text after longestWait.
// The log has a line about it.
func TestBudgetWaitIsBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := budgeted(t, d)
		c := o.As(access.Member)
		c.Document("eins.txt", "text/plain", []byte("Kündigung"))
		// Other files of the office use up the budget all day.
		err := d.Write(context.Background(), func(tx db.Tx) error {
			_, err := tx.Exec(context.Background(),
				`insert into reading_time (organization, at, spent) select organization, at + $1, $2 from reading_time`,
				int64(10*time.Hour/time.Microsecond), budget.Microseconds())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		second := c.Do("POST", "/documents", map[string]any{
			"uploadId": c.Upload("zwei.txt", "text/plain", []byte("Räumung")),
		}).Want(202)
		o.Rest()
		o.Clock.Advance(5 * time.Hour)
		o.Rest()
		if a := c.Do("GET", "/operations/"+second.Text("id"), nil).Want(200); a.Text("status") != "queued" {
			t.Fatalf("after five hours: %s", a.Body)
		}
		o.Clock.Advance(time.Hour)
		if a := c.Await(second); a.Text("status") != "succeeded" {
			t.Fatalf("%s", a.Body)
		}
		for q, n := range map[string]int{"räumung": 0, "zwei": 1} {
			if data := c.Do("GET", "/documents?q="+q, nil).Want(200).Data(); len(data) != n {
				t.Errorf("%s finds %d documents, want %d", q, len(data), n)
			}
		}
		if !strings.Contains(o.Logged.String(), "reason=budget") {
			t.Error("the log does not say why")
		}
	})
}

// TestBudgetIsPerOrganization checks that each organization has a budget of its own.
func TestBudgetIsPerOrganization(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := budgeted(t, d)
		c := o.As(access.Member)
		now := clock.Now(o.Clock)
		err := d.Write(context.Background(), func(tx db.Tx) error {
			_, err := tx.Exec(context.Background(),
				`insert into reading_time (organization, at, spent) values (9999, $1, $2)`, now, budget.Microseconds())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Document("eins.txt", "text/plain", []byte("Kündigung"))
	})
}

// TestConcurrentReadingKeepsBudget checks that files which arrive at the same time do not exceed
// the budget.
func TestConcurrentReadingKeepsBudget(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := budgeted(t, d)
		c := o.As(access.Member)
		var list []*apitest.Answer
		for i := range 4 {
			list = append(list, c.Do("POST", "/documents", map[string]any{
				"uploadId": c.Upload(fmt.Sprintf("%d.txt", i), "text/plain", []byte("Räumung")),
			}).Want(202))
		}
		o.Rest()
		made := 0
		for _, a := range list {
			if c.Do("GET", "/operations/"+a.Text("id"), nil).Want(200).Text("status") == "succeeded" {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%d files were read in an hour with room for one", made)
		}
		for range list[1:] {
			o.Clock.Advance(66 * time.Minute)
			o.Rest()
		}
		for _, a := range list {
			if got := c.Await(a); got.Text("status") != "succeeded" {
				t.Errorf("%s", got.Body)
			}
		}
	})
}
