package upload_test

import (
	"context"
	"io"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/door/rest"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// askingStore is a store that calls ask before it returns the address of a file.
type askingStore struct {
	blob.Store
	ask func()
}

func (s askingStore) Target(ctx context.Context, u blob.Upload) (blob.Target, error) {
	s.ask()
	return s.Store.Target(ctx, u)
}

// TestOthersWriteWhileTheStoreIsAsked checks that only the call that begins the session waits for
// the store.
func TestOthersWriteWhileTheStoreIsAsked(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		var other *apitest.Client
		asked := 0
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
			return askingStore{s, func() {
				asked++
				other.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
			}}
		}))
		other = o.As(access.Member)
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		session := open(c, len(file))
		c.Put(session, file).Want(204)
		if got := document(c, session); got != "202" || asked != 1 {
			t.Errorf("%s, asked %d times", got, asked)
		}
		c.Do("POST", "/uploads", map[string]any{"fileName": "a/b", "contentType": "text/plain", "size": 1}).Want(422,
			"VALIDATION_FAILED")
		if asked != 1 {
			t.Error("the store was asked for a session that is not to be")
		}
	})
}

// panickingReceiver is a receiver that panics.
type panickingReceiver struct {
	*upload.Receiver
	before func()
}

func (p panickingReceiver) Receive(context.Context, blob.Upload, io.Reader, int64) error {
	p.before()
	panic("out of order")
}

// TestPanicEndsTheTransfer checks that a transfer ends even if the receiver panics.
func TestPanicEndsTheTransfer(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	c := o.As(access.Member)
	session := open(c, 1)
	c.Handler = rest.UploadHandler(&api.Uploads{API: o.API,
		Receiver: panickingReceiver{&upload.Receiver{Clock: o.Clock, Addresses: o.Store}, func() {
			if n := o.API.Transfers(); n != 1 {
				t.Errorf("%d transfers", n)
			}
		}}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing was out of order")
			}
		}()
		c.Put(session, []byte("x"))
	}()
	if n := o.API.Transfers(); n != 0 {
		t.Errorf("%d transfers go on", n)
	}
}
