package blob

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/test/s3test"
)

// brokenBucket is a store whose responses can break off after half of their bytes.
type brokenBucket struct {
	*S3

	mu    sync.Mutex
	left  int                        // number of responses that still break off
	which func(r *http.Request) bool // selects the requests whose responses break off
}

// newBreaking returns a store that reaches the bucket of another store through a proxy. The proxy
// breaks off responses.
func newBreaking(t *testing.T, behind *S3, e Encryption) *brokenBucket {
	b := new(brokenBucket)
	front := serve(t, func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		forward(t, whole, r)
		maps.Copy(w.Header(), whole.Header())
		body := whole.Body.Bytes()
		b.mu.Lock()
		breaks := r.Method == "GET" && b.left > 0 && b.which(r)
		if breaks {
			b.left--
			body = body[:len(body)/2]
		}
		b.mu.Unlock()
		w.WriteHeader(whole.Code)
		w.Write(body)
		if breaks {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	b.S3 = openBucket(t, s3test.Location(front, behind.bucket), Options{Encryption: e})
	return b
}

// next makes the next responses break off. left is their number, and part is a part of the names of
// their objects.
func (b *brokenBucket) next(left int, part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.which = left, func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// TestBrokenAnswersAreContinued checks that reading continues at the right offset after a response
// has broken off.
func TestBrokenAnswersAreContinued(t *testing.T) {
	for _, e := range []Encryption{Never, Always} {
		t.Run(string(e), func(t *testing.T) {
			b := content(3_000_000)
			behind := newBucket(t, e)
			put(t, behind, kept, b)
			s := newBreaking(t, behind, e)
			for _, left := range []int{1, attempts - 1} {
				s.next(left, "doc_")
				if info, err := Read(ctx, s, kept); err != nil || info.SHA256 != sum(b) {
					t.Errorf("%d times in a row: %+v, %v", left, info, err)
				}
				r, err := s.Open(ctx, kept)
				if err != nil {
					t.Fatal(err)
				}
				s.next(left, "doc_")
				part := make([]byte, 200_000)
				if n, err := r.ReadAt(part, 1_000_000); err != nil || !bytes.Equal(part, b[1_000_000:1_200_000]) {
					t.Errorf("%d times in a row: %d bytes at a place, %v", left, n, err)
				}
				r.Close()
			}
			s.next(1<<30, "doc_")
			if _, err := Read(ctx, s, kept); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDamaged) {
				t.Errorf("again and again: %v", err)
			}
		})
	}
}

// TestRotateOfAnUnreadableFile checks that an object is not reported as damaged if the bucket fails
// to return it.
func TestRotateOfAnUnreadableFile(t *testing.T) {
	behind := newBucket(t, Always)
	put(t, behind, kept, content(100_000))
	s := newBreaking(t, behind, Always)
	s.next(1<<30, "doc_")
	if changed, err := s.Rotate(ctx, kept); changed || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDamaged) {
		t.Errorf("%t, %v", changed, err)
	}
	o, err := behind.look(ctx, kept)
	if err != nil {
		t.Fatal(err)
	}
	o.Size = envelopeSize - 1
	if _, err := behind.rotateKey(ctx, o, kept); !errors.Is(err, ErrDamaged) {
		t.Errorf("a short one: %v", err)
	}
}

// TestCheckGoesOn checks that a Check continues after a file that the bucket fails to return. It
// must end if the bucket fails for many files in a row.
func TestCheckGoesOn(t *testing.T) {
	behind := newBucket(t, Never)
	b := content(1000)
	data := new(rows)
	for _, name := range strings.Fields("files/1/doc_a files/1/doc_bad files/1/doc_c") {
		put(t, behind, name, b)
		data.wanted = append(data.wanted, Reference{name, int64(len(b)), sum(b)})
	}
	s := newBreaking(t, behind, Never)
	check := func() (found []Finding, done CheckCounts, err error) {
		c := Check{Store: s, Rows: data, Before: time.Now(), Found: func(f Finding) { found = append(found, f) }}
		done, err = c.Run(ctx)
		return found, done, err
	}
	s.next(1<<30, "doc_bad")
	found, done, err := check()
	if err != nil || done.Wanted != 3 || done.Stored != 3 || done.Bytes != 2000 || len(found) != 1 ||
		found[0].State != Unread || found[0].Name != "files/1/doc_bad" || found[0].Reason == "" {
		t.Errorf("%+v, %+v, %v", found, done, err)
	}
	s.next(1<<30, "doc_")
	for range maxUnread {
		data.wanted = append(data.wanted, data.wanted[0])
	}
	if found, _, err := check(); !errors.Is(err, ErrUnavailable) || len(found) != maxUnread {
		t.Errorf("all of them: %+v, %v", found, err)
	}
}
