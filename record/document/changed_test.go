package document_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/extract/clamd"
	"kartei/kit/masterkey"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// hashlessStore is a store that returns no hashes. Some S3 buckets have none.
type hashlessStore struct{ blob.Store }

func (s hashlessStore) Stat(ctx context.Context, name string) (blob.Info, error) {
	info, err := s.Store.Stat(ctx, name)
	info.SHA256 = ""
	return info, err
}

// TestChangedInStore checks that no document is created if the stored bytes have another hash
// than announced. If the store has their hash, the call is refused. Otherwise the operation reads
// the bytes and fails.
func TestChangedInStore(t *testing.T) {
	for _, knows := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
				if knows {
					return s
				}
				return hashlessStore{s}
			}))
			c := o.As(access.Member)
			file, other := []byte("Guten Tag\n"), []byte("Gute Nacht")
			send := func() string {
				s := c.Do("POST", "/uploads", session("a.txt", file, map[string]any{
					"sha256": strings.ToUpper(sum(file)),
				})).Want(201)
				c.Put(s, file).Want(204)
				return s.Text("id")
			}
			good, bad := send(), send()
			at := slices.IndexFunc(o.Stored(), func(name string) bool { return strings.HasSuffix(name, bad) })
			if _, err := o.Store.Put(t.Context(), o.Stored()[at], bytes.NewReader(other),
				blob.Expectation{Size: int64(len(other))}); err != nil {
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

// TestUnreadableStagedBytes checks that unreadable bytes of an upload count as missing. The
// client can send them again, and the log has an error for the operator.
func TestUnreadableStagedBytes(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, file := o.As(access.Member), []byte("Guten Tag\n")
		elsewhere, err := blob.NewLocal(o.Folder, blob.LocalOptions{Keys: masterkey.Ring{Current: masterkey.New()}})
		if err != nil {
			t.Fatal(err)
		}
		defer elsewhere.Close()
		for what, spoil := range map[string]func(name string) error{
			"damaged": func(name string) error {
				return os.WriteFile(filepath.Join(o.Folder, name+".sealed"), []byte("x"), 0o600)
			},
			"unknown key": func(name string) error {
				_, err := elsewhere.Put(t.Context(), name, bytes.NewReader(file), blob.Expectation{Size: int64(len(file))})
				return err
			},
		} {
			session := c.Do("POST", "/uploads", session("a.txt", file)).Want(201)
			c.Put(session, file).Want(204)
			upload := session.Text("id")
			at := slices.IndexFunc(o.Stored(), func(name string) bool { return strings.HasSuffix(name, upload) })
			if err := spoil(o.Stored()[at]); err != nil {
				t.Fatal(err)
			}
			c.Do("POST", "/documents", map[string]any{"uploadId": upload}).Want(409, "UPLOAD_INCOMPLETE")
			if !strings.Contains(o.Logged.String(), "upload="+upload) {
				t.Errorf("%s: the log does not have the error: %s", what, o.Logged)
			}
			c.Put(session, file).Want(204)
			want(t, c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": upload}).Want(202)),
				map[string]any{"status": "succeeded"})
		}
	})
}

// openCounter is a store that counts how often a file is opened.
type openCounter struct {
	hashlessStore
	times *atomic.Int64
}

func (s openCounter) Open(ctx context.Context, name string) (blob.Reader, error) {
	s.times.Add(1)
	return s.Store.Open(ctx, name)
}

// TestScannerComesBeforeReading checks that an operation does not read the file before the scan.
// While the scanner is unavailable, each attempt opens the file once, only to identify its type.
func TestScannerComesBeforeReading(t *testing.T) {
	scanner, err := clamd.New(clamd.URL("unix:" + filepath.Join(t.TempDir(), "nobody")))
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		opens, tries := new(atomic.Int64), new(atomic.Int64)
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
			w.Maker.Store, w.Maker.Scanner = attemptCounter{openCounter{hashlessStore{w.Maker.Store}, opens}, tries}, scanner
		}))
		c := o.As(access.Member)
		c.Do("POST", "/documents", map[string]any{
			"uploadId": c.Upload("a.txt", "text/plain", []byte("Guten Tag\n")),
		}).Want(202)
		for range 3 {
			o.Rest()
			o.Clock.Advance(31 * time.Second)
		}
		o.Rest()
		if n, all := tries.Load(), opens.Load(); n < 3 || all != n {
			t.Errorf("opened %d times in %d tries", all, n)
		}
	})
}
