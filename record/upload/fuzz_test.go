package upload_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// fuzzSession is a session of the fuzz target. It has the file, its name in the store and its
// upload path.
type fuzzSession struct {
	file         []byte
	staged, path string
}

// hashed, large and already are the properties of a session that FuzzPut varies.
const (
	hashed  = 1 << iota // the session has the hash of the file
	large               // the file has more than one segment
	already             // another file of the same size was stored before
	kinds
)

const typed = "Host: localhost\r\nContent-Type: text/plain\r\n"

// rawRequest is the text of a request: the request line, the header and the body.
type rawRequest struct{ line, head, body string }

// commonPuts are requests that usual clients send.
var commonPuts = []rawRequest{
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\n", "{hex}\r\n{file}\r\n0\r\n\r\n"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{other}"},
}

// oddPuts are requests that few or no clients send.
var oddPuts = []rawRequest{
	{
		"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\n",
		"{file}PUT {path} HTTP/1.1\r\n" + typed + "Content-Length: {length}\r\n\r\n{other}",
	},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nExpect: 100-continue\r\n", "{file}"},
	{
		"PUT {path} HTTP/1.1",
		"Host: localhost\r\nContent-Type: TEXT/plain ; charset=x\r\nContent-Encoding: Identity\r\nContent-Length: {length}\r\n",
		"{file}",
	},
	{"PUT {path} HTTP/1.0", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT http://localhost{path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\n", ""},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "x"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}0\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: 0\r\n", ""},
	{"PUT {path} HTTP/1.1", typed, "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: -1\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: 99999999999999999999\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: 9223372036854775807\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nContent-Length: {length}\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nContent-Length: 1\r\n", "{file}"},
	{
		"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n",
		"{hex}\r\n{file}\r\n0\r\n\r\n",
	},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: gzip, chunked\r\n", "{hex}\r\n{file}\r\n0\r\n\r\n"},
	{
		"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\nTrailer: Digest\r\n",
		"{hex};x=y\r\n{file}\r\n0\r\nDigest: x\r\n\r\n",
	},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\n", "{hex}\r\n{file}\r\n0\r\n"},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\n", "{hex}\r\n{file}\r\n"},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\n", "{hex}\r\n{file}1\r\nx\r\n0\r\n\r\n"},
	{"PUT {path} HTTP/1.1", typed + "Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nContent-Range: bytes 0-1/2\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", typed + "Content-Length: {length}\r\nContent-Encoding: gzip\r\n", "{file}"},
	{
		"PUT {path} HTTP/1.1",
		typed + "Content-Length: {length}\r\nContent-MD5: x\r\nRepr-Digest: sha-256=:AA==:\r\nX-Amz-Checksum-Sha256: x\r\nIf-Match: *\r\nAuthorization: x\r\n",
		"{file}",
	},
	{"PUT {path} HTTP/1.1", "Host: localhost\r\nContent-Type: application/pdf\r\nContent-Length: {length}\r\n", "{file}"},
	{"PUT {path} HTTP/1.1", "Content-Type: text/plain\r\nContent-Length: {length}\r\n", "{file}"},
	{"PUT {path}= HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {path}/../{path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {path}%0a?x HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {late} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT {used} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"PUT /uploads/ HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"POST {path} HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"HEAD {path} HTTP/1.1", typed, ""},
	{"PUT x:y HTTP/1.1", typed + "Content-Length: {length}\r\n", "{file}"},
	{"CONNECT localhost:80 HTTP/1.1", typed, ""},
	{"PUT {path} HTTP/3.0", typed + "Content-Length: {length}\r\n", "{file}"},
	{"\x00", "\xff:\r\n", "\r\n"},
}

// FuzzPut sends a text that resembles the PUT of a file over a real connection. It checks that
// the text does not harm a session. If the text contains the whole announced file, that file is
// stored. Otherwise the earlier file stays. Nothing else is stored, and the instance logs no
// error.
//
// The text contains placeholders. {path}, {file}, {length} and {hex} stand for values of the
// session, where {hex} is the length. {other} stands for other bytes of the same size. {late} and
// {used} stand for addresses of sessions that no longer accept files.
func FuzzPut(f *testing.F) {
	for kind := range byte(kinds) {
		for _, s := range commonPuts {
			f.Add(kind, s.line, s.head, s.body)
		}
	}
	for _, s := range oddPuts {
		f.Add(byte(already), s.line, s.head, s.body)
		f.Add(byte(hashed), s.line, s.head, s.body)
	}
	office := apitest.New(f, dbtest.SQLite(f))
	sessions, late, usedUp := putSessions(f, office)
	others := office.Stored()

	complaints := new(dbtest.LogCollector)
	server := httptest.NewUnstartedServer(office.Handler)
	server.Config.ErrorLog = log.New(complaints, "", 0)
	server.Start()
	f.Cleanup(server.Close)

	f.Fuzz(func(t *testing.T, kind byte, line, head, body string) {
		o := *office
		o.TB = t
		kind %= kinds
		to := sessions[kind]
		other := bytes.ToUpper(to.file)
		defer o.Store.Delete(context.Background(), to.staged)
		var there []byte
		if kind&already > 0 {
			there = bytes.Repeat([]byte("-"), len(to.file))
			if _, err := o.Store.Put(t.Context(), to.staged, bytes.NewReader(there),
				blob.Expectation{Size: blob.AnySize}); err != nil {
				t.Fatal(err)
			}
		}
		sent := strings.NewReplacer("{path}", to.path, "{late}", late.path, "{used}", usedUp.path, "{file}",
			string(to.file), "{other}", string(other),
			"{length}", fmt.Sprint(len(to.file)), "{hex}",
			fmt.Sprintf("%x", len(to.file))).Replace(line + "\r\n" + head + "\r\n" + body)

		if len(sent) > 1<<20 {
			t.Skip() // more requests of the same kind would not help
		}
		asked := requests(sent)
		for i, a := range answers(t, server.Listener.Addr().String(), sent, asked) {
			ours := a.Header.Get("Content-Type") == "application/problem+json"
			good := i < len(asked) && asked[i].good(to, kind&hashed > 0)
			switch {
			case a.StatusCode == http.StatusNoContent && good:
				there = asked[i].body
			case a.StatusCode == http.StatusNoContent:
				t.Errorf("answer %d to %.300q is %d", i, sent, a.StatusCode)
			case ours && good && i == 0, ours && a.StatusCode >= 500:
				// later requests may fail, because the client stops sending
				t.Errorf("answer %d to %.300q is %d", i, sent, a.StatusCode)
			}
		}
		if now := bytesOf(&o, to.staged); !bytes.Equal(now, there) {
			t.Errorf("after %.300q %d bytes are there, of %d", sent, len(now), len(there))
		}
		now := slices.DeleteFunc(o.Stored(), func(name string) bool { return name == to.staged })
		if unfinished, err := os.ReadDir(filepath.Join(o.Folder, "unfinished")); err != nil || len(unfinished) > 0 ||
			!slices.Equal(now, others) {
			t.Errorf("after %.300q: %q, %q, %v", sent, now, unfinished, err)
		}
		if text := o.Logged.Take() + complaints.Take(); text != "" {
			t.Fatalf("after %.300q: %s", sent, text)
		}
	})
}

// putSessions begins a session of each kind. It also returns a session that has ended, and a
// session whose file has become a document.
func putSessions(f *testing.F, office *apitest.Office) (sessions []fuzzSession, late, usedUp fuzzSession) {
	f.Helper()
	c := office.As(access.Member)
	letter := []byte("Guten Tag, meine Damen und Herren\n")
	files := map[bool][]byte{false: letter, true: bytes.Repeat(letter, 4000)}
	sessions = make([]fuzzSession, kinds)
	begin := func(file []byte, members map[string]any) (*apitest.Answer, fuzzSession) {
		session := open(c, len(file), members)
		to := target(session)
		granted, err := office.Store.Verify(strings.TrimPrefix(to, "/uploads/"), office.Clock.Now())
		if err != nil {
			f.Fatal(err)
		}
		return session, fuzzSession{file, granted.Name, to}
	}
	_, late = begin(letter, nil)
	office.Clock.Advance(time.Duration(upload.Lifetime) * time.Microsecond)
	used, usedUp := begin(letter, nil)
	c.Put(used, letter).Want(204)
	c.Await(c.Do("POST", "/documents", map[string]any{"uploadId": used.Text("id")}).Want(202))
	office.Rest()
	for kind := range sessions {
		file, members := files[kind&large > 0], map[string]any{}
		if kind&hashed > 0 {
			members["sha256"] = sum(file)
		}
		_, sessions[kind] = begin(file, members)
	}
	return sessions, late, usedUp
}

// request is a request in a text, as net/http reads it.
type request struct {
	*http.Request
	body  []byte
	whole bool
}

// requests returns the requests in a text, up to the first part that is not a request.
func requests(sent string) (list []request) {
	for r := bufio.NewReader(strings.NewReader(sent)); ; {
		asked, err := http.ReadRequest(r)
		if err != nil {
			return list
		}
		body, err := io.ReadAll(asked.Body)
		list = append(list, request{asked, body, err == nil})
		if err != nil {
			return list
		}
	}
}

// good reports whether a request sends the right file of a session.
func (r *request) good(to fuzzSession, hashed bool) bool {
	address, err := url.Parse(to.path)
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	coding := r.Header.Get("Content-Encoding")
	return err == nil && r.Method == "PUT" && r.URL.Path == address.Path &&
		strings.EqualFold(strings.TrimSpace(kind), "text/plain") &&
		(coding == "" || strings.EqualFold(coding, "identity")) && r.Header["Content-Range"] == nil &&
		r.whole && len(r.body) == len(to.file) && (!hashed || bytes.Equal(r.body, to.file))
}

// answers sends a text and returns the responses until the server closes the connection. It
// leaves out responses with a status below 200. If net/http refuses a request itself, it does not
// read the rest. Then the response may be lost.
func answers(t *testing.T, address, sent string, asked []request) (list []*http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		io.WriteString(conn, sent)
		conn.(*net.TCPConn).CloseWrite()
	}()
	for r := bufio.NewReader(conn); ; {
		method := ""
		if len(list) < len(asked) {
			method = asked[len(list)].Method
		}
		a, err := http.ReadResponse(r, &http.Request{Method: method})
		if err == nil {
			_, err = io.Copy(io.Discard, a.Body)
		}
		switch {
		case err == nil && a.StatusCode >= 200:
			list = append(list, a)
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatalf("no answer to %.300q: %v", sent, err)
		default:
			return list
		}
	}
}

// bytesOf returns the bytes of a file in the store, or nil if there is no such file.
func bytesOf(o *apitest.Office, name string) []byte {
	o.Helper()
	if !slices.Contains(o.Stored(), name) {
		return nil
	}
	r, err := o.Store.Open(context.Background(), name)
	if err != nil {
		o.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		o.Fatal(err)
	}
	return b
}
