package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKillFiles kills the server with kill -9 at any instant while files are
// sent, made documents of, read and deleted. The client's retries bring each to
// its end; then there is one file for each document, with its bytes, and
// nothing else, and no operation goes on.
func TestKillFiles(t *testing.T) {
	both := func(name string, open func(t *testing.T) *house) {
		t.Run(name, func(t *testing.T) { killFiles(t, open(t)) })
	}
	both("sqlite", func(t *testing.T) *house {
		dir := t.TempDir()
		return newHouse(t, 1, "sqlite:"+dir+"/kartei.db", "--data-dir", dir)
	})
	both("postgres", func(t *testing.T) *house { return newPostgresHouse(t, 1) })
}

func killFiles(t *testing.T, h *house) {
	key := documentsKey(t, h.office, h.store...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	stop := make(chan struct{})
	senders := make([]*sender, 4)
	var working sync.WaitGroup
	for i := range senders {
		s := &sender{house: h, as: newClient(key), number: i, random: rand.New(rand.NewPCG(uint64(i), 2)), documents: map[string][]byte{}}
		senders[i] = s
		working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.step(ctx, n); err != nil {
					t.Errorf("sender %d: %v", i, err)
					cancel()
				}
			}
		})
	}
	for range times("KARTEI_KILLS", 3) {
		if h.written(ctx, h.writes.Load()+1+rand.Int64N(12), nil) != nil {
			break
		}
		time.Sleep(rand.N(20 * time.Millisecond)) // anywhere in what comes next
		h.killOne(0)
		h.open()
	}
	close(stop)
	working.Wait()
	if t.Failed() {
		t.FailNow()
	}
	h.at(0).idle(h.store...)
	documents := 0
	for _, s := range senders {
		for id, file := range s.documents {
			documents++
			if a, err := s.insist(ctx, s.as, "GET", "/documents/"+id+"/content", ""); err != nil || a.Status != 200 || !bytes.Equal(a.Body, file) {
				t.Errorf("%s: %v %v, %d bytes were acknowledged", id, err, a, len(file))
			}
		}
	}
	a, err := senders[0].insist(ctx, senders[0].as, "GET", "/documents/count", "")
	if err != nil || a.Text("count") != fmt.Sprint(documents) {
		t.Errorf("%v %s, %d documents were acknowledged", err, a.Body, documents)
	}
	h.close()
	files := 0
	err = filepath.WalkDir(filepath.Join(h.store[1], "files"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "folder-id" || strings.Contains(path, "unfinished") { // swept later
			return err
		}
		files++
		id, _, _ := strings.Cut(entry.Name(), ".")
		for _, s := range senders {
			if s.documents[id] != nil {
				return nil
			}
		}
		t.Errorf("%s is no document's", path)
		return nil
	})
	if err != nil || files != documents || documents == 0 {
		t.Errorf("%d files, %d documents, %v", files, documents, err)
	}
	t.Logf("%d calls, %d documents", h.writes.Load(), documents)
}

// sender makes documents and remembers what was acknowledged.
type sender struct {
	*house
	as        *client
	number    int
	random    *rand.Rand
	documents map[string][]byte
}

// step brings one file to its end.
func (s *sender) step(ctx context.Context, n int) error {
	name := fmt.Sprintf("s%d-%d", s.number, n)
	file := bytes.Repeat([]byte(name+" Guten Tag\n"), 1+s.random.IntN(40_000))
	bad := s.random.IntN(4) == 0
	if bad {
		file = append([]byte("MZ\x90\x00\x03\x00\x00\x00"), file...)
	}
	session, err := s.insist(ctx, s.as, "POST", "/uploads", fmt.Sprintf(`{"fileName":"%s.txt","contentType":"text/plain","size":%d}`, name, len(file)), "Idempotency-Key", "upload "+name)
	if err != nil || session.Status != 201 {
		return fmt.Errorf("session: %v %v", err, session)
	}
	s.wrote()
	if err := s.send(ctx, session, file); err != nil {
		return err
	}
	s.wrote()
	begun, err := s.insist(ctx, s.as, "POST", "/documents", fmt.Sprintf(`{"uploadId":%q}`, session.Text("id")), "Idempotency-Key", "document "+name)
	if err != nil || begun.Status != 202 {
		return fmt.Errorf("document: %v %d %s", err, begun.Status, begun.Body)
	}
	s.wrote()
	var ended *answer
	for {
		if ended, err = s.insist(ctx, s.as, "GET", "/operations/"+begun.Text("id"), ""); err != nil || ended.Status != 200 {
			return fmt.Errorf("operation: %v %v", err, ended)
		}
		if status := ended.Text("status"); status == "succeeded" || status == "failed" {
			break
		}
		time.Sleep(20 * time.Millisecond) // as a client polls
	}
	s.wrote()
	var o struct {
		Result *struct{ ID string }
		Error  *struct{ Code string }
	}
	decode(s.house, string(ended.Body), &o)
	switch {
	case bad && (o.Error == nil || o.Error.Code != "UPLOAD_REJECTED"), !bad && o.Result == nil:
		return fmt.Errorf("bad %t: %s", bad, ended.Body)
	case bad:
		return nil
	}
	if s.random.IntN(3) > 0 {
		s.documents[o.Result.ID] = file
		return nil
	}
	deleted, err := s.insist(ctx, s.as, "DELETE", "/documents/"+o.Result.ID, "", "If-Match", "*")
	if err != nil || deleted.Status != 204 && deleted.Status != 404 {
		return fmt.Errorf("deletion: %v %v", err, deleted)
	}
	s.wrote()
	return nil
}

// send sends a file until it is taken.
func (s *sender) send(ctx context.Context, session *answer, file []byte) error {
	target, err := url.Parse(session.Text("url"))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		base, err := s.address(ctx)
		if err != nil {
			return err
		}
		r, _ := http.NewRequestWithContext(ctx, "PUT", strings.TrimSuffix(base, "/v1")+target.Path, bytes.NewReader(file))
		r.Header.Set("Content-Type", "text/plain")
		a, err := s.as.http.Do(r)
		if err != nil {
			continue
		}
		a.Body.Close()
		switch a.StatusCode {
		case 204:
			return nil
		case 429, 503:
		default:
			return fmt.Errorf("file: %d", a.StatusCode)
		}
	}
	return ctx.Err()
}
