package upload_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/id"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// open begins a session for a text file of the given size.
func open(c *apitest.Client, size int, members ...map[string]any) *apitest.Answer {
	c.Helper()
	body := map[string]any{"fileName": "a.txt", "contentType": "text/plain", "size": size}
	for _, more := range members {
		for k, v := range more {
			body[k] = v
		}
	}
	return c.Do("POST", "/uploads", body).Want(201)
}

// document begins a document from a session. It returns 202, or the status and the code of the
// problem.
func document(c *apitest.Client, session *apitest.Answer) string {
	c.Helper()
	a := c.Do("POST", "/documents", map[string]any{"uploadId": session.Text("id")})
	if a.Status == 202 {
		return "202"
	}
	return fmt.Sprint(a.Status, " ", a.Text("code"))
}

// target returns the path of a session's address.
func target(session *apitest.Answer) string {
	session.Helper()
	u, err := url.Parse(session.Text("url"))
	if err != nil {
		session.Fatal(err)
	}
	return u.Path
}

// put sends a body to a session. If length is negative, the request has no Content-Length.
func put(c *apitest.Client, path string, body io.Reader, length int64, headers ...string) *apitest.Answer {
	r := httptest.NewRequest("PUT", path, body)
	r.ContentLength = length
	r.Header.Set("Content-Type", "text/plain")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	return &apitest.Answer{TB: c.TB, Status: w.Code, Header: w.Result().Header, Body: w.Body.Bytes()}
}

// TestSizes checks that a declared size is at least one byte, and at most the limit of the
// instance.
func TestSizes(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for _, size := range []int{0, -1, apitest.MaxFile + 1} {
			a := c.Do("POST", "/uploads", map[string]any{
				"fileName": "a.txt", "contentType": "text/plain", "size": size,
			}).Want(422, "VALIDATION_FAILED")
			if got := a.Fields(); len(got) != 1 || got[0] != "size OUT_OF_RANGE" {
				t.Errorf("%d bytes: %q", size, got)
			}
		}
		short := c.Do("POST", "/uploads", map[string]any{
			"fileName": "a.txt", "contentType": "text/plain", "size": 0, "sha256": "abc",
		}).Want(422)
		for _, said := range []string{"Der Wert muss mindestens 1 betragen.", "Mindestens 64 Zeichen sind nötig."} {
			if !bytes.Contains(short.Body, []byte(said)) {
				t.Errorf("%s does not say %q", short.Body, said)
			}
		}
		for _, size := range []int{1, apitest.MaxFile} {
			file := bytes.Repeat([]byte("a"), size)
			s := open(c, size, map[string]any{"sha256": sum(file)})
			c.Put(s, append(file, 'b')).Want(422, "UPLOAD_CHECKSUM_MISMATCH")
			c.Put(s, file[:size-1]).Want(409, "UPLOAD_INCOMPLETE")
			if left := o.Stored(); len(left) > 0 {
				t.Fatalf("%q is left of what was refused", left)
			}
			c.Put(s, file).Want(204)
			if got := document(c, s); got != "202" {
				t.Errorf("%d bytes: %s", size, got)
			}
			o.Clock.Advance(time.Second)
			o.Rest() // operations move the files, and the documents are then deleted
			for _, d := range c.Do("GET", "/documents", nil).Want(200).Data() {
				c.Do("DELETE", "/documents/"+d["id"].(string), nil, "If-Match", "*").Want(204)
			}
			o.Rest()
			if left := o.Stored(); len(left) > 0 {
				t.Errorf("%d bytes: %q is left", size, left)
			}
		}
	})
}

// TestRefusedPuts checks that a PUT which differs from the announcement is refused. POST
// /documents is then refused too.
func TestRefusedPuts(t *testing.T) {
	file := []byte("Guten Tag, meine Damen und Herren\n")
	other := bytes.ToUpper(file)
	n := int64(len(file))
	broken := func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b), failingBody{}) }
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for _, test := range []struct {
			name   string
			body   io.Reader
			length int64
			header []string
			put    string // status and code of the PUT
			then   string // status and code of POST /documents
			said   string // part of the detail
		}{
			{
				"nothing", strings.NewReader(""), 0, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE",
				"für 34 Bytes begonnen, gesendet: 0 Bytes",
			},
			{
				"one byte", bytes.NewReader(file[:1]), 1, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE",
				"gesendet: 1 Byte.",
			},
			{
				"all but one", bytes.NewReader(file[:n-1]), n - 1, nil, "409 UPLOAD_INCOMPLETE",
				"409 UPLOAD_INCOMPLETE", "gesendet: 33 Bytes",
			},
			{
				"all but one, not announced", bytes.NewReader(file[:n-1]), -1, nil, "409 UPLOAD_INCOMPLETE",
				"409 UPLOAD_INCOMPLETE", "gesendet: weniger",
			},
			{
				"one more", bytes.NewReader(append(file, 'x')), n + 1, nil, "422 UPLOAD_CHECKSUM_MISMATCH",
				"422 UPLOAD_CHECKSUM_MISMATCH", "gesendet: 35 Bytes",
			},
			{
				"one more, not announced", bytes.NewReader(append(file, 'x')), -1, nil,
				"422 UPLOAD_CHECKSUM_MISMATCH", "422 UPLOAD_CHECKSUM_MISMATCH", "gesendet: mehr",
			},
			{"endless", endless{}, -1, nil, "422 UPLOAD_CHECKSUM_MISMATCH", "422 UPLOAD_CHECKSUM_MISMATCH", "gesendet: mehr"},
			{
				"other bytes", bytes.NewReader(other), n, nil, "422 UPLOAD_CHECKSUM_MISMATCH",
				"422 UPLOAD_CHECKSUM_MISMATCH", "anderen SHA-256-Wert",
			},
			{
				"another type",
				bytes.NewReader(file),
				n,
				[]string{"Content-Type", "application/pdf"},
				"415 UNSUPPORTED_MEDIA_TYPE",
				"409 UPLOAD_INCOMPLETE",
				"text/plain",
			},
			{
				"a part",
				bytes.NewReader(file),
				n,
				[]string{"Content-Range", "bytes 0-33/34"},
				"400 INVALID_REQUEST",
				"409 UPLOAD_INCOMPLETE",
				"ohne Content-Range",
			},
			{
				"compressed",
				bytes.NewReader(file),
				n,
				[]string{"Content-Encoding", "gzip"},
				"415 UNSUPPORTED_MEDIA_TYPE",
				"409 UPLOAD_INCOMPLETE",
				"unkomprimiert",
			},
			{
				"no type",
				bytes.NewReader(file),
				n,
				[]string{"Content-Type", ""},
				"415 UNSUPPORTED_MEDIA_TYPE",
				"409 UPLOAD_INCOMPLETE",
				"text/plain",
			},
			{"cut at once", broken(nil), n, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE", "fehlen noch Daten"},
			{
				"cut after one byte", broken(file[:1]), n, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE",
				"fehlen noch Daten",
			},
			{
				"cut in the middle", broken(file[:n/2]), n, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE",
				"fehlen noch Daten",
			},
			{
				"cut before the last byte", broken(file[:n-1]), n, nil, "409 UPLOAD_INCOMPLETE",
				"409 UPLOAD_INCOMPLETE", "fehlen noch Daten",
			},
			{
				"cut after the last byte", broken(file), n, nil, "409 UPLOAD_INCOMPLETE", "409 UPLOAD_INCOMPLETE",
				"fehlen noch Daten",
			},
		} {
			s := open(c, len(file), map[string]any{"sha256": strings.ToUpper(sum(file))})
			a := put(c, target(s), test.body, test.length, test.header...)
			if got := fmt.Sprint(a.Status, " ", a.Text("code")); got != test.put {
				t.Errorf("%s: %s", test.name, got)
			}
			if said := test.said; !strings.Contains(a.Text("detail"), said) {
				t.Errorf("%s: %q", test.name, a.Text("detail"))
			}
			if a.Text("instance") != "/uploads" || a.Header.Get("Content-Type") != "application/problem+json" ||
				a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v %s", test.name, a.Header, a.Body)
			}
			if got := document(c, s); got != test.then {
				t.Errorf("%s, then: %s", test.name, got)
			}
			if left := o.Stored(); len(left) > 0 {
				t.Fatalf("%s: %q is left", test.name, left)
			}
			// The client may send the file again. It may use chunks without a Content-Length, and
			// a media type with a parameter. A refused file does not replace a good one.
			taken := put(c, target(s), bytes.NewReader(file), -1, "Content-Type", "Text/Plain; charset=utf-8",
				"Content-Encoding", "identity").Want(204)
			if !id.Valid(id.Request, taken.Header.Get("Request-Id")) || taken.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", test.name, taken.Header)
			}
			put(c, target(s), bytes.NewReader(other), n).Want(422)
			if got := document(c, s); got != "202" {
				t.Errorf("%s, then the file: %s", test.name, got)
			}
			o.Rest()
			for _, name := range o.Stored() { // the next case begins with an empty store
				o.Store.Delete(context.Background(), name)
			}
		}
	})
}

// failingBody is a body whose client disconnects.
type failingBody struct{}

func (failingBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// endless is a body that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestAddresses checks that an address is valid for one session, until its end, and only
// unchanged.
func TestAddresses(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		s := open(c, len(file))
		path := target(s)
		send := func(path string) *apitest.Answer { return put(c, path, bytes.NewReader(file), int64(len(file))) }
		for i := len("/uploads/"); i < len(path); i++ {
			for _, b := range []byte{path[i] ^ 1, path[i] ^ 4} {
				if b < '0' || b > 'z' {
					b = 'A' + path[i]%16
				}
				if b == path[i] {
					continue
				}
				changed := path[:i] + string(b) + path[i+1:]
				if a := send(changed); a.Status != 404 || a.Text("code") != "NOT_FOUND" {
					t.Fatalf("byte %d changed: %d %s", i, a.Status, a.Body)
				}
			}
		}
		for _, changed := range []string{
			"/uploads/", path[:len(path)-1], path + "A", path + "=", path + "/", path[:len(path)/2],
			"/uploads/" + strings.Repeat("A", 5000),
		} {
			if a := send(changed); a.Status != 404 {
				t.Errorf("%s: %d", changed, a.Status)
			}
		}
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH", "OPTIONS"} {
			r := httptest.NewRequest(method, path, bytes.NewReader(file))
			w := httptest.NewRecorder()
			c.Handler.ServeHTTP(w, r)
			if w.Code != 405 || w.Header().Get("Allow") != "PUT" {
				t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
			}
		}
		if left := o.Stored(); len(left) > 0 {
			t.Fatalf("%q", left)
		}
		// The session is consumed, so its file no longer changes.
		send(path).Want(204)
		accepted := c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(202)
		if a := send(path).Want(404, "NOT_FOUND"); !strings.Contains(a.Text("detail"), "schon verwendet") {
			t.Errorf("%s", a.Body)
		}
		c.Await(accepted)
		send(path).Want(404, "NOT_FOUND")

		// The session has expired, so it accepts neither a file nor a document.
		late, unused := open(c, len(file)), open(c, len(file))
		c.Put(unused, file).Want(204)
		o.Clock.Advance(24*time.Hour - time.Second)
		if got := document(c, late); got != "409 UPLOAD_INCOMPLETE" {
			t.Errorf("before its end: %s", got)
		}
		o.Clock.Advance(2 * time.Second)
		if a := send(target(late)).Want(404, "NOT_FOUND"); !strings.Contains(a.Text("detail"), "abgelaufen") {
			t.Errorf("%s", a.Body)
		}
		for _, session := range []*apitest.Answer{late, unused} {
			if got := document(c, session); got != "422 VALIDATION_FAILED" {
				t.Errorf("after its end: %s", got)
			}
		}
		o.Rest()
		if left := o.Stored(); len(left) != 1 || !strings.HasPrefix(left[0], "files/") {
			t.Errorf("%q", left)
		}
	})
}

// TestSentTwiceAtOnce checks two clients that send different files of the same size at the same
// time. One of the files is stored whole.
func TestSentTwiceAtOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		files := [][]byte{bytes.Repeat([]byte("a\n"), 100_000), bytes.Repeat([]byte("b\n"), 100_000)}
		s := open(c, len(files[0]))
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if a := put(c, target(s), bytes.NewReader(files[i%2]), -1); a.Status != 204 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		all.Wait()
		ended := c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(202))
		id := ended.JSON()["result"].(map[string]any)["id"].(string)
		d := c.Do("GET", "/documents/"+id, nil).Want(200)
		content := c.Do("GET", "/documents/"+id+"/content", nil).Want(200)
		if sum(content.Body) != d.Text("sha256") ||
			!bytes.Equal(content.Body, files[0]) && !bytes.Equal(content.Body, files[1]) {
			t.Errorf("%d bytes, %s", len(content.Body), d.Body)
		}
		if left := o.Stored(); len(left) != 1 {
			t.Errorf("%q", left)
		}
	})
}

// TestCutOnTheWire checks interrupted uploads over a real connection. An interrupted file is not
// stored. A whole file gets a response, whatever length was announced.
func TestCutOnTheWire(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, server := o.As(access.Member), o.Listen()
		file := bytes.Repeat([]byte("Guten Tag\n"), 20_000)
		for _, cut := range []int{0, 1, len(file) / 2, len(file) - 1} {
			for _, chunked := range []bool{false, true} {
				s := open(c, len(file))
				conn := server.Dial()
				length := fmt.Sprintf("Content-Length: %d", len(file))
				body := string(file[:cut])
				if chunked {
					length = "Transfer-Encoding: chunked"
					if cut > 0 {
						body = fmt.Sprintf("%x\r\n%s\r\n", cut, body)
					}
				}
				fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n%s\r\n\r\n%s", target(s),
					length, body)
				conn.(*net.TCPConn).CloseWrite()
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				problem, _ := io.ReadAll(answer.Body)
				if answer.StatusCode != 409 || !strings.Contains(string(problem), `"code":"UPLOAD_INCOMPLETE"`) {
					t.Errorf("cut after %d bytes, chunked %t: %d %s", cut, chunked, answer.StatusCode, problem)
				}
				if got := document(c, s); got != "409 UPLOAD_INCOMPLETE" {
					t.Errorf("cut after %d bytes: %s", cut, got)
				}
				if left := o.Stored(); len(left) > 0 {
					t.Fatalf("cut after %d bytes: %q", cut, left)
				}
			}
		}
		s := open(c, len(file))
		r, _ := http.NewRequest("PUT", server.URL+target(s), struct{ io.Reader }{bytes.NewReader(file)}) // chunked
		r.Header.Set("Content-Type", "text/plain")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 204 || document(c, s) != "202" {
			t.Errorf("chunked: %d", answer.StatusCode)
		}
	})
}

// TestReplay checks that a replay of POST /uploads has the same bytes. No cache stores the
// response, and the database does not have the address in plain text.
func TestReplay(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		body := `{"fileName":"a.txt","contentType":"text/plain","size":10}`
		first := c.Do("POST", "/uploads", body, "Idempotency-Key", "one").Want(201)
		again := c.Do("POST", "/uploads", body, "Idempotency-Key", "one").Want(201)
		if !bytes.Equal(first.Body, again.Body) || again.Header.Get("Idempotent-Replayed") != "true" ||
			first.Header.Get("Location") != again.Header.Get("Location") {
			t.Errorf("%s\n%s", first.Body, again.Body)
		}
		for _, a := range []*apitest.Answer{first, again} {
			if got := a.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q", got)
			}
		}
		c.Do("POST", "/uploads", `{"fileName":"b.txt","contentType":"text/plain","size":10}`, "Idempotency-Key",
			"one").Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
		token := strings.TrimPrefix(target(first), "/uploads/")
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			for _, table := range []string{"idempotency", "uploads", "jobs"} {
				column := map[string]string{"idempotency": "body", "uploads": "file_name", "jobs": "payload"}[table]
				rows, err := tx.Query(t.Context(), "select "+column+" from "+table)
				if err != nil {
					return err
				}
				n := 0
				for ; rows.Next(); n++ {
					var kept string
					if err := rows.Scan(&kept); err != nil {
						return err
					}
					if strings.Contains(kept, token[:20]) || strings.Contains(kept, "/uploads/") ||
						table == "jobs" && strings.Contains(kept, "a.txt") {
						t.Errorf("%s holds %s", table, kept)
					}
				}
				rows.Close()
				if n == 0 {
					t.Errorf("nothing in %s", table)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(o.Logged.String(), token[:20]) {
			t.Error("the log holds the address")
		}
	})
}

// TestNoSecondDocument checks that one upload does not become two documents, whenever and by
// whomever it is used.
func TestNoSecondDocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(2))
		c := o.As(access.Member)
		for round := range 5 {
			body := map[string]any{"uploadId": c.Upload("a.txt", "text/plain", []byte("Guten Tag\n"))}
			same := fmt.Sprint("same-", round)
			var mu sync.Mutex
			operations, refused := map[string]bool{}, 0
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					key := same
					if i%2 > 0 {
						key = apitest.Fresh()
					}
					for {
						a := c.Do("POST", "/documents", body, "Idempotency-Key", key)
						if a.Status == 409 && a.Text("code") == "IDEMPOTENCY_IN_PROGRESS" {
							continue
						}
						mu.Lock()
						defer mu.Unlock()
						switch {
						case a.Status == 202:
							operations[a.Text("id")] = true
						case a.Status == 422 && strings.Join(a.Fields(), "") == "uploadId DUPLICATE":
							refused++
						default:
							t.Errorf("%d %s", a.Status, a.Body)
						}
						return
					}
				})
			}
			all.Wait()
			if len(operations) != 1 {
				t.Errorf("%d operations, %d refused", len(operations), refused)
			}
			for id := range operations {
				o.Rest()
				if ended := c.Do("GET", "/operations/"+id, nil).Want(200); ended.Text("status") != "succeeded" {
					t.Errorf("%s", ended.Body)
				}
			}
		}
		if n := len(c.Do("GET", "/documents", nil).Want(200).Data()); n != 5 || len(o.Stored()) != 5 {
			t.Errorf("%d documents, %q", n, o.Stored())
		}
	})
}

// TestStoreInTrouble checks that no file is accepted while the store is full or unavailable. The
// response says when to try again.
func TestStoreInTrouble(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		store := &failingStore{}
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
			if store.Store == nil {
				store.Store = s
			}
			return store
		}))
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		s := open(c, len(file))
		for _, cause := range []error{blob.ErrFull, blob.ErrUnavailable} {
			store.set(fmt.Errorf("test: %w", cause))
			a := c.Put(s, file).Want(503, "INSTANCE_PENDING")
			if a.Header.Get("Retry-After") == "" || !strings.Contains(a.Text("detail"), "Gespeichert wurde nichts") {
				t.Errorf("%v %s", a.Header, a.Body)
			}
			store.set(nil)
			if got := document(c, s); got != "409 UPLOAD_INCOMPLETE" {
				t.Error(got)
			}
		}
		c.Put(s, file).Want(204)
		store.set(fmt.Errorf("test: %w", blob.ErrUnavailable))
		c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(502, "UPSTREAM")
		store.set(nil)
		begin := func() *apitest.Answer {
			return c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}, "Idempotency-Key", "lost")
		}
		accepted := begin().Want(202)
		if ended := c.Await(accepted); ended.Text("status") != "succeeded" {
			t.Errorf("%s", ended.Body)
		}
		// A client that lost the response gets it again, even if the store fails. A different
		// body with the same key is refused.
		store.set(fmt.Errorf("test: %w", blob.ErrUnavailable))
		if again := begin().Want(202); again.Text("id") != accepted.Text("id") ||
			again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%v %s", again.Header, again.Body)
		}
		c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id"), "name": "b.txt"}, "Idempotency-Key",
			"lost").Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
		if !strings.Contains(o.Logged.String(), "does not answer") {
			t.Errorf("the operator is not told: %s", o.Logged)
		}
	})
}

// TestAcknowledgedStays checks that an acknowledged file stays if the client sends it again and
// the database fails after the bytes are stored. It also stays if the client does not wait for
// the response.
func TestAcknowledgedStays(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		again := func(session *apitest.Answer, d db.DB, then func()) error {
			t.Helper()
			granted, err := o.Store.Verify(strings.TrimPrefix(target(session), "/uploads/"), o.Clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := &upload.Receiver{
				DB: d, Clock: o.Clock, Store: &reportingStore{o.Store, func() { cancel(); then() }},
				Access: o.Directory,
			}
			return r.Receive(ctx, granted, bytes.NewReader(file), -1)
		}
		asked, left := open(c, len(file)), open(c, len(file))
		d := &mute{DB: o.DB}
		c.Put(asked, file).Want(204)
		if err := again(asked, d, func() { d.silent.Store(true) }); !errors.Is(err, errMute) {
			t.Errorf("%v", err)
		}
		c.Put(left, file[1:]).Want(409) // the session stores the refusal until it gets a whole file
		if err := again(left, o.DB, func() {}); err != nil {
			t.Errorf("%v", err)
		}
		for _, session := range []*apitest.Answer{asked, left} {
			if got := document(c, session); got != "202" {
				t.Error(got)
			}
		}
	})
}

// TestSentWhileUsed checks a document that is made while the client sends the file again. The
// late file is refused with a reason.
func TestSentWhileUsed(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		other := bytes.ToUpper(file)
		s := open(c, len(file))
		c.Put(s, file).Want(204)
		reader, writer := io.Pipe()
		answered := make(chan *apitest.Answer, 1)
		go func() { answered <- put(c, target(s), reader, -1) }()
		if _, err := writer.Write(other[:1]); err != nil { // the transfer has begun
			t.Fatal(err)
		}
		ended := c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(202))
		if _, err := writer.Write(other[1:]); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		if a := (<-answered).Want(404, "NOT_FOUND"); !strings.Contains(a.Text("detail"), "schon verwendet") {
			t.Errorf("%s", a.Body)
		}
		id := ended.JSON()["result"].(map[string]any)["id"].(string)
		if got := c.Do("GET", "/documents/"+id+"/content", nil).Want(200).Body; !bytes.Equal(got, file) {
			t.Errorf("%q", got)
		}
	})
}

// TestDeletedDocumentLeavesNothing checks that a deleted document leaves no data in its upload
// session. Another use of the session is refused because it is consumed.
func TestDeletedDocumentLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		s := open(c, len(file), map[string]any{"fileName": "Morgenstern.txt", "sha256": sum(file)})
		c.Put(s, file).Want(204)
		ended := c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(202))
		document := "/documents/" + ended.JSON()["result"].(map[string]any)["id"].(string)
		if d := c.Do("GET", document, nil).Want(200); d.Text("name") != "Morgenstern.txt" || d.Text("sha256") != sum(file) {
			t.Errorf("%s", d.Body)
		}
		c.Do("DELETE", document, nil, "If-Match", "*").Want(204)
		var name, hash string
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select file_name, sha256 from uploads where id = $1`, s.Text("id")).Scan(&name,
				&hash)
		})
		if err != nil || name != "" || hash != "" {
			t.Errorf("%q %q, %v", name, hash, err)
		}
		again := c.Do("POST", "/documents", map[string]any{"uploadId": s.Text("id")}).Want(422, "VALIDATION_FAILED")
		if got := again.Fields(); len(got) != 1 || got[0] != "uploadId DUPLICATE" {
			t.Errorf("%q", got)
		}
	})
}

// TestFileAfterItsSession checks a file that arrives after the end of its session. This happens
// with a bucket, which checks the time only at the beginning. The file is deleted together with
// the session's row.
func TestFileAfterItsSession(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ended := make(chan string, 10)
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
			tell := w.Options.Observe
			w.Options.Observe = func(kind, outcome string, took time.Duration) {
				tell(kind, outcome, took)
				if strings.HasPrefix(kind, "uploads.") {
					ended <- kind + " " + outcome
				}
			}
		}))
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		s := open(c, len(file))
		granted, err := o.Store.Verify(strings.TrimPrefix(target(s), "/uploads/"), o.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		await := func(want string) {
			t.Helper()
			select {
			case got := <-ended:
				if got != want {
					t.Fatalf("%s, not %s", got, want)
				}
			case <-time.After(waittest.Bound):
				t.Fatalf("no %s\n%s", want, o.Logged)
			}
		}
		known := func(want bool) {
			t.Helper()
			var has bool
			err := o.DB.Read(t.Context(), func(tx db.Tx) (err error) {
				has, err = upload.HasStaged(t.Context(), tx, granted.Organization(), s.Text("id"))
				return err
			})
			if err != nil || has != want {
				t.Errorf("%t, %v", has, err)
			}
		}
		o.Clock.Advance(24*time.Hour + time.Second)
		await("uploads.expire later")
		if _, err := o.Store.Put(t.Context(), granted.Name, bytes.NewReader(file),
			blob.Expectation{Size: granted.Size}); err != nil {
			t.Fatal(err)
		}
		known(true)
		o.Clock.Advance(3*time.Hour + time.Second)
		await("uploads.expire finished")
		if left := o.Stored(); len(left) > 0 {
			t.Errorf("%q", left)
		}
		known(false)
	})
}

var errMute = errors.New("test: no answer")

// mute is a database whose reads fail while silent is set.
type mute struct {
	db.DB
	silent atomic.Bool
}

func (m *mute) Read(ctx context.Context, f func(db.Tx) error) error {
	if m.silent.Load() {
		return errMute
	}
	return m.DB.Read(ctx, f)
}

// reportingStore is a store that calls then after each Put.
type reportingStore struct {
	blob.Store
	then func()
}

func (s *reportingStore) Put(ctx context.Context, name string, r io.Reader, want blob.Expectation) (blob.Info, error) {
	info, err := s.Store.Put(ctx, name, r, want)
	s.then()
	return info, err
}

// failingStore is a store whose calls fail with err while err is set.
type failingStore struct {
	blob.Store
	mu  sync.Mutex
	err error
}

func (s *failingStore) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *failingStore) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *failingStore) Put(ctx context.Context, name string, r io.Reader, want blob.Expectation) (blob.Info, error) {
	if err := s.trouble(); err != nil {
		return blob.Info{}, err
	}
	return s.Store.Put(ctx, name, r, want)
}

func (s *failingStore) Stat(ctx context.Context, name string) (blob.Info, error) {
	if err := s.trouble(); err != nil {
		return blob.Info{}, err
	}
	return s.Store.Stat(ctx, name)
}

// changeCounter is a database that counts the writes in organizations.
type changeCounter struct {
	db.DB
	n atomic.Int64
}

func (w *changeCounter) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if organization > 0 {
		w.n.Add(1)
	}
	return w.DB.WriteIn(ctx, organization, f)
}

// TestRepeatedRefusalWritesNothing checks that repeated refusals of files write nothing to the
// database. Only a new reason is written.
func TestRepeatedRefusalWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := &changeCounter{DB: d}
		c := apitest.New(t, w, apitest.Replicas(1)).As(access.Member)
		s := open(c, 3)
		for _, step := range []struct {
			body   string
			status int
			writes int64
		}{
			{"ab", 409, 1},
			{"ab", 409, 0},
			{"a", 409, 0},
			{"abcd", 422, 1},
			{"abcde", 422, 0},
			{"abc", 204, 1},
			{"abc", 204, 0},
		} {
			before := w.n.Load()
			put(c, target(s), strings.NewReader(step.body), int64(len(step.body))).Want(step.status)
			if n := w.n.Load() - before; n != step.writes {
				t.Errorf("%q: %d writes, want %d", step.body, n, step.writes)
			}
		}
		if got := document(c, s); got != "202" {
			t.Errorf("the file: %s", got)
		}
	})
}
