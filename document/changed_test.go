package document_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/apitest"
	"kartei/blob"
	"kartei/db"
	"kartei/dbtest"
)

// unhashed is a store that knows no hashes, as buckets may be.
type unhashed struct{ blob.Store }

func (s unhashed) Stat(ctx context.Context, name string) (blob.Info, error) {
	info, err := s.Store.Stat(ctx, name)
	info.SHA256 = ""
	return info, err
}

// Bytes that somebody else has put in place of those that were announced become
// no document: the call says so where the store knows their hash, else the
// operation that reads them.
func TestChangedInStore(t *testing.T) {
	for _, knows := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
				if knows {
					return s
				}
				return unhashed{s}
			}))
			c := o.As(access.Member)
			file, other := []byte("Guten Tag\n"), []byte("Gute Nacht")
			send := func() string {
				s := c.Do("POST", "/uploads", session("a.txt", file, map[string]any{"sha256": strings.ToUpper(sum(file))})).Want(201)
				c.Put(s, file).Want(204)
				return s.Text("id")
			}
			good, bad := send(), send()
			at := slices.IndexFunc(o.Stored(), func(name string) bool { return strings.HasSuffix(name, bad) })
			if _, err := o.Store.Put(t.Context(), o.Stored()[at], bytes.NewReader(other), blob.Expected{Size: int64(len(other))}); err != nil {
				t.Fatal(err)
			}
			a := c.Do("POST", "/documents", map[string]any{"uploadId": bad})
			if knows {
				a.Want(422, "UPLOAD_CHECKSUM_MISMATCH")
			} else {
				failed(t, c, a.Want(202), "UPLOAD_CHECKSUM_MISMATCH", "")
			}
			ended := c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": good}).Want(202))
			want(t, ended, map[string]any{"status": "succeeded"})
			made := ended.JSON()["result"].(map[string]any)["id"].(string)
			want(t, c.Do("GET", "/documents/"+made, nil).Want(200), map[string]any{"sha256": sum(file)})
		})
	}
}
