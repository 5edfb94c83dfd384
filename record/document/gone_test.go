package document_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"kartei/access"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// vanishingStore is a store that calls a function when a file is opened, and then does not find
// the file.
type vanishingStore struct {
	blob.Store
	before *atomic.Pointer[func()]
}

func (s vanishingStore) Open(ctx context.Context, name string) (blob.Reader, error) {
	f := s.before.Swap(nil)
	if f == nil {
		return s.Store.Open(ctx, name)
	}
	(*f)()
	return nil, blob.ErrNotExist
}

// TestDeletedDuringDownload checks a document that is deleted between the read of its row and the
// opening of its file. The response is 404. If a document exists and its file is missing, the
// response is 500 with this reason.
func TestDeletedDuringDownload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		before := new(atomic.Pointer[func()])
		o := apitest.New(t, d, apitest.Replicas(1),
			apitest.Stored(func(s blob.Store) blob.Store { return vanishingStore{s, before} }))
		c := o.As(access.Member)
		id := c.Document("a.txt", "text/plain", []byte("Guten Tag\n"))
		remove := func() { c.Do("DELETE", "/documents/"+id, nil, "If-Match", "*").Want(204) }
		before.Store(&remove)
		download(c, id).Want(404, "NOT_FOUND")
		if said := o.Logged.String(); strings.Contains(said, "internal error") {
			t.Errorf("the log has %s", said)
		}
		id = c.Document("b.txt", "text/plain", []byte("Guten Abend\n"))
		nothing := func() {}
		before.Store(&nothing)
		if answer := download(c, id).Want(500,
			"INTERNAL"); !strings.Contains(string(answer.Body), "fehlt im Speicher des Servers") {
			t.Errorf("the file is missing: %s", answer.Body)
		}
	})
}
