package document_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
)

// TestHold checks that the files of deleted documents stay during a hold, and are deleted after
// it.
func TestHold(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ctx := context.Background()
		c := o.As(access.Member)
		id := c.Document("Vollmacht.txt", "text/plain", []byte("Vollmacht"))
		if err := o.DB.Write(ctx, func(tx db.Tx) error {
			return document.Hold(ctx, tx, clock.Now(o.Clock).Add(10*time.Minute))
		}); err != nil {
			t.Fatal(err)
		}
		var organization int64
		ask := func(query string, args ...any) (n int64) {
			t.Helper()
			if err := o.DB.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&n) }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		organization = ask(`select organization from documents where id = $1`, id)
		c.Do("DELETE", "/documents/"+id, nil, "If-Match", "*").Want(204)
		there := func() bool {
			_, err := o.Store.Stat(ctx, document.Kept(organization, id))
			if err != nil && !errors.Is(err, blob.ErrNotExist) {
				t.Fatal(err)
			}
			return err == nil
		}
		jobs := `select count(*) from jobs where kind = $1`
		o.Rest()
		if !there() || ask(jobs, document.EraseKind) != 1 {
			t.Fatal("the file was removed while it was held")
		}
		o.Clock.Advance(11 * time.Minute)
		o.Rest()
		if there() || ask(jobs, document.EraseKind) != 0 {
			t.Error("the file is still there after the hold")
		}
	})
}
