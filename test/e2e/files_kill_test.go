package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKillFiles kills the server with kill -9 while files are transferred.
func TestKillFiles(t *testing.T) {
	t.Parallel()
	together(t, map[string]func(t *testing.T){
		"any instant": func(t *testing.T) {
			places(t, everywhere, func(t *testing.T, h *cluster, s client, p place) { killFiles(t, h, s.key, p) })
		},
		"each request": func(t *testing.T) { places(t, []string{"bucket"}, killAtEachRequest) },
	})
}

// killFiles kills the server at random moments while files are sent, made into documents, read and
// deleted. The client repeats calls until they succeed. In the end each document has its file,
// there are no other files, and no operation is in progress.
func killFiles(t *testing.T, h *cluster, key string, p place) {
	ctx, cancel := h.going()
	defer cancel()
	stop := make(chan struct{})
	senders := make([]*sender, 4)
	var working sync.WaitGroup
	for i := range senders {
		s := &sender{
			cluster:   h,
			as:        newHTTPClient(key),
			place:     p,
			number:    i,
			random:    h.numbers(1 + i),
			documents: map[string][]byte{},
		}
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
		if h.written(ctx, h.writes.Load()+1+h.random.Int64N(12), nil) != nil {
			break
		}
		time.Sleep(time.Duration(h.random.Int64N(int64(20 * time.Millisecond)))) // at a random moment
		h.killOne(0)
		h.open()
	}
	close(stop)
	working.Wait()
	cancel()
	if t.Failed() {
		t.FailNow()
	}
	h.at(0).idle(h.store...)
	documents := 0
	for _, s := range senders {
		for id, file := range s.documents {
			documents++
			if a, err := s.insist(t.Context(), s.as, "GET", "/documents/"+id+"/content", ""); err != nil ||
				a.Status != 200 || !bytes.Equal(a.Body, file) {
				t.Errorf("%s: %v %v, %d bytes were acknowledged", id, err, a, len(file))
			}
		}
	}
	a, err := senders[0].insist(t.Context(), senders[0].as, "GET", "/documents/count", "")
	if err != nil || a.Text("count") != fmt.Sprint(documents) {
		t.Errorf("%v %s, %d documents were acknowledged", err, a.Body, documents)
	}
	h.close()
	files := 0
	for _, name := range p.files(t) {
		// A single server on SQLite removes unfinished files when it starts. Other servers do so
		// later.
		if strings.HasPrefix(name, "unfinished/") && p.front == nil && !strings.HasPrefix(h.database, "sqlite:") {
			continue
		}
		files++
		id, _, _ := strings.Cut(path.Base(name), ".")
		if !slices.ContainsFunc(senders, func(s *sender) bool { return s.documents[id] != nil }) {
			t.Errorf("%s is no document's", name)
		}
	}
	if files != documents || documents == 0 {
		t.Errorf("%d files, %d documents", files, documents)
	}
	t.Logf("%d calls, %d documents", h.writes.Load(), documents)
}

// killAtEachRequest kills the server at each request to its bucket, from the upload of a file to
// the end of the operation. Each request has one kill before the bucket receives it, and one after
// the bucket has executed it. The client repeats calls until they succeed.
func killAtEachRequest(t *testing.T, h *cluster, s client, p place) {
	begun, as := map[string][]byte{}, newHTTPClient(s.key)
	for _, fault := range []string{"before", "after"} {
		for n := 0; ; n++ {
			file := fmt.Appendf(nil, "Guten Tag, %s %d\n", fault, n)
			session, dead := s.open("Brief.txt", file), make(chan struct{})
			p.front.meets(fault, n, func() { h.killOne(0); close(dead) })
			a, err := s.put(session, file)
			if err != nil || a.Status != 200 { // The kill may interrupt this response.
				if a, err = s.put(session, file); err != nil || a.Status != 200 {
					t.Fatalf("%s request %d: %+v, %v", fault, n, a, err)
				}
			}
			begin := func() (*answer, error) {
				return as.call(s.URL+"/v1", "POST", "/documents", s.of(session), "Idempotency-Key", fmt.Sprint(fault, n))
			}
			for a, err = begin(); err == nil && a.Status == 202; { // until the operation or the server has ended
				a, err = as.call(s.URL+"/v1", "GET", "/operations/"+a.Text("id"), "")
				if err == nil && a.Text("status") == "succeeded" {
					break
				}
				if err == nil {
					a.Status = 202
				}
			}
			ended := err == nil
			if met := p.front.heal(t); met || !ended { // The server also checks by itself whether the bucket is reachable.
				ended = false
				await(t, dead)
				h.open()
				s.server = h.servers[0]
				get(t, s.server.Operator+"/readyz", 200, `"name":"files","ok":true`) // Before that, the server does not use the bucket.
			}
			if a, err = begin(); err != nil || a.Status != 202 {
				t.Fatalf("%s request %d: %+v, %v", fault, n, a, err)
			}
			begun[a.Text("id")] = file
			if ended {
				if n < 4 {
					t.Errorf("a document took no more than %d requests", n)
				}
				break
			}
		}
	}
	for operation, file := range begun {
		s.has(s.made(s.await(operation)), file)
	}
	s.idle(h.store...)
	check(t, len(begun), h.store...)
	if files := p.stored(t); len(files) != len(begun) {
		t.Errorf("%d documents, %q", len(begun), files)
	}
}

// sender creates documents and remembers the acknowledged ones.
type sender struct {
	*cluster
	as        *httpClient
	place     place
	number    int
	random    *rand.Rand
	documents map[string][]byte
}

// step uploads a file and makes a document of it. The server must refuse some of the files, because
// their content does not match their type. Some of the documents are deleted again.
func (s *sender) step(ctx context.Context, n int) error {
	name := fmt.Sprintf("s%d-%d", s.number, n)
	file := bytes.Repeat([]byte(name+" Guten Tag\n"), 1+s.random.IntN(40_000))
	bad := s.random.IntN(4) == 0 && len(s.documents) > 0 // The first file stays, so that there is one to read.
	if bad {
		file = append([]byte("MZ\x90\x00\x03\x00\x00\x00"), file...)
	}
	session, err := s.insist(ctx, s.as, "POST", "/uploads",
		fmt.Sprintf(`{"fileName":"%s.txt","contentType":"text/plain","size":%d}`, name, len(file)), "Idempotency-Key",
		"upload "+name)
	if err != nil || session.Status != 201 {
		return fmt.Errorf("session: %v %v", err, session)
	}
	s.wrote()
	if err := s.send(ctx, session, file); err != nil {
		return err
	}
	s.wrote()
	begun, err := s.insist(ctx, s.as, "POST", "/documents", fmt.Sprintf(`{"uploadId":%q}`, session.Text("id")),
		"Idempotency-Key", "document "+name)
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
		time.Sleep(20 * time.Millisecond) // like a client that polls
	}
	s.wrote()
	var o struct {
		Result *struct{ ID string }
		Error  *struct{ Code string }
	}
	decode(s.cluster, string(ended.Body), &o)
	switch {
	case bad && (o.Error == nil || o.Error.Code != "UPLOAD_REJECTED"), !bad && o.Result == nil:
		return fmt.Errorf("bad %t: %s", bad, ended.Body)
	case bad:
		return nil
	}
	if s.random.IntN(3) > 0 || len(s.documents) == 0 {
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

// send sends a file until the server accepts it.
func (s *sender) send(ctx context.Context, session *answer, file []byte) error {
	target, err := url.Parse(session.Text("url"))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if s.place.front == nil { // the current address of the server
			base, err := s.address(ctx)
			if err != nil {
				return err
			}
			target.Host = strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1")
		}
		r, _ := http.NewRequestWithContext(ctx, "PUT", target.String(), bytes.NewReader(file))
		r.Header.Set("Content-Type", "text/plain")
		a, err := s.as.http.Do(r)
		if err != nil {
			continue
		}
		a.Body.Close()
		switch a.StatusCode {
		case 204, 200:
			return nil
		case 429, 503:
		default:
			return fmt.Errorf("file: %d", a.StatusCode)
		}
	}
	return ctx.Err()
}
