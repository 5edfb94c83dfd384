package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"

	_ "modernc.org/sqlite"
)

// postman is a proxy between the server and a webhook receiver. It sends some deliveries twice,
// changes their order, and can lose some after it has accepted them. It terminates TLS for the
// receiver.
type postman struct {
	testing.TB
	*httptest.Server
	to string

	mu     sync.Mutex
	random *rand.Rand
	loses  bool
	held   []func() error
	prompt bool // whether it holds back no delivery
	counts map[string]int
}

// postHost is the host name in the certificate of httptest.
const postHost = "example.com"

func newPostman(t testing.TB, to string) *postman {
	p := &postman{TB: t, to: to, random: seed.Rand(t), counts: map[string]int{}}
	p.Server = httptest.NewTLSServer(p)
	t.Cleanup(p.Close)
	return p
}

// towards returns the flags with which a server reaches a local receiver under the name postHost.
func towards(t testing.TB, receiver *httptest.Server) []string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"--webhook-allow-nets", "127.0.0.1/32", "--webhook-ca", ca, "--webhook-dial",
		postHost + "=" + receiver.Listener.Addr().String(), "--webhook-development",
	}
}

func (p *postman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	header := r.Header.Clone()
	bring := func() error {
		again, err := http.NewRequest(http.MethodPost, p.to, bytes.NewReader(body))
		if err != nil {
			return err
		}
		again.Header = header
		answer, err := http.DefaultClient.Do(again)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			return fmt.Errorf("the receiver answers %s", answer.Status)
		}
		return nil
	}
	p.mu.Lock()
	var now []func() error
	switch n := p.random.IntN(4); {
	case p.loses && n < 2:
		p.counts["lost"]++
	case n == 2 && len(p.held) < 5 && !p.prompt: // delivered after a later delivery, alone or with others
		p.counts["held back"]++
		p.held = append(p.held, bring)
	default:
		p.counts["doubled"]++
		now = append(append([]func() error{bring, bring}, p.held...), bring)
		p.held = nil
	}
	p.mu.Unlock()
	for _, f := range now {
		if err := f(); err != nil && !p.lossy() { // Deliveries also get lost while the receiver restarts.
			p.Error(err)
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (p *postman) lossy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loses
}

// careless makes the postman lose deliveries from now on.
func (p *postman) careless() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loses, p.prompt = true, false
}

// handOver delivers all deliveries that are held back. From now on none is held back, because there
// may be no later delivery that would release it.
func (p *postman) handOver() {
	p.mu.Lock()
	held := p.held
	p.held, p.prompt = nil, true
	p.mu.Unlock()
	for _, f := range held {
		if err := f(); err != nil {
			p.Error(err)
		}
	}
}

// copyist runs the guide's example program and knows its database file.
type copyist struct {
	*cluster
	post                  *postman
	program, file, listen string
	key, admin, secret    string
	run                   *tool
	calls                 int
}

// begin starts the program, and waits until the program reports that it has read all lists once.
func (c *copyist) begin(flags ...string) {
	c.Helper()
	cmd := exec.Command(c.program, append([]string{"-base", c.front.URL, "-file", c.file, "-listen", c.listen},
		flags...)...)
	cmd.Env = []string{"KARTEI_KEY=" + c.key, "SECRET=" + c.secret}
	c.run = startCommand(c.TB, cmd)
}

// equals waits until each record of the copy equals the record that the key can read.
func (c *copyist) equals(what string) {
	c.Helper()
	want := c.source()
	for end := time.After(waittest.Bound); ; {
		got := c.copied()
		diff := ""
		for id, body := range want {
			if got[id] != body {
				diff = fmt.Sprintf("%s is %s, the source has %s", id, got[id], body)
			}
		}
		if len(got) != len(want) {
			diff += fmt.Sprintf("; %d records, the source has %d", len(got), len(want))
		}
		if diff == "" {
			c.Logf("%s: %d records", what, len(got))
			return
		}
		select {
		case _, more := <-c.run.lines: // after each round with changes
			if !more {
				c.run.cmd.Wait()
				c.Fatalf("%s: the program ended: %s", what, c.run.errs.String())
			}
		case <-end:
			c.run.kill()
			c.Fatalf("%s: %s\n%s", what, diff, c.run.errs.String())
		}
	}
}

var copiedLists = []string{"companies", "contacts", "tasks", "documents"}

func (c *copyist) source() map[string]string {
	c.Helper()
	all := map[string]string{}
	as := newHTTPClient(c.key)
	for _, name := range copiedLists {
		for cursor := ""; ; {
			p, err := list[json.RawMessage](context.Background(), c.cluster, as, "/"+name+"?limit=100"+cursor)
			if err != nil {
				c.Fatal(err)
			}
			for _, body := range p.Data {
				var r struct{ ID string }
				decode(c, string(body), &r)
				all[r.ID] = string(body)
			}
			if cursor = "&cursor=" + p.NextCursor; !p.HasMore {
				break
			}
		}
	}
	return all
}

func (c *copyist) copied() map[string]string {
	c.Helper()
	all := map[string]string{}
	d, err := sql.Open("sqlite", "file:"+c.file+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		c.Fatal(err)
	}
	defer d.Close()
	rows, err := d.Query(`select id, body from records`)
	if err != nil {
		return all // the program has no tables yet
	}
	defer rows.Close()
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			c.Fatal(err)
		}
		all[id] = body
	}
	return all
}

// TestCopyByWebhooks runs the guide's example program against a server. Deliveries are doubled,
// held back and lost, and both programs are killed and restarted. In the end the copy equals the
// source.
func TestCopyByWebhooks(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "mirror")
	if out, err := exec.Command("go", "build", "-o", program, "kartei/docs/examples/mirror").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	story := func(t *testing.T, database string, store ...string) {
		c := newCopyist(t, program, database, store...)
		c.changes(3) // These changes come before the copy and its endpoint exist.
		c.subscribe()
		paper := c.byWebhooks()
		c.byFeed(paper)
		c.byLists()
		c.postmanFailed()
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		story(t, "sqlite:"+dir+"/kartei.db", "--data-dir", dir)
	})
	t.Run("postgres", func(t *testing.T) {
		url := dbtest.PostgresURL(t)
		story(t, url, "--data-dir", t.TempDir(), "--database-url", url)
	})
}

func newCopyist(t *testing.T, program, database string, store ...string) *copyist {
	t.Helper()
	free := httptest.NewServer(nil) // This server reserves a free address.
	listen := free.Listener.Addr().String()
	free.Close()
	post := newPostman(t, "http://"+listen)
	h := newClusterWith(t, 1, towards(t, post.Server), database, store...)
	h.front = newFront(t)
	h.front.set(0, h.servers[0])
	scopes := "contacts:write,companies:write,tasks:write,documents:write,webhook_endpoints:write"
	key := func(principal string) string {
		return read[struct{ Key string }](t, append([]string{"key", "create", "--org", h.office.ID, "--principal",
			principal, "--env", "test",
			"--scopes", scopes + "," + strings.ReplaceAll(scopes, ":write", ":read"), "--ip", "127.0.0.1/32"},
			h.store...)...).Key
	}
	member := read[struct{ ID string }](t, append([]string{
		"user", "create", "--org", h.office.ID, "--name", "Jonas Adler", "--email", "jonas.adler@example.com",
		"--role", "member",
	}, h.store...)...)
	return &copyist{
		cluster: h, post: post, program: program, file: filepath.Join(t.TempDir(), "mirror.db"),
		listen: listen, key: key(member.ID), admin: key(h.office.User),
	}
}

// call sends a call with a key. It fails the test unless the call succeeds.
func (c *copyist) call(key, method, path, body string) *answer {
	c.Helper()
	c.calls++
	a, err := c.insist(c.Context(), newHTTPClient(key), method, path, body, "If-Match", "*", "Idempotency-Key",
		fmt.Sprint("call-", c.calls))
	if err != nil || a.Status > 299 {
		c.Fatalf("%s %s: %v %+v", method, path, err, a)
	}
	return a
}

// document creates a document with a small file.
func (c *copyist) document() (id string) {
	c.Helper()
	file := []byte("Anlage")
	sum := sha256.Sum256(file)
	var session struct {
		ID, URL string
		Headers map[string]string
	}
	decode(c, string(c.call(c.key, "POST", "/uploads",
		fmt.Sprintf(`{"fileName":"a.txt","contentType":"text/plain","size":%d,"sha256":%q}`, len(file),
			hex.EncodeToString(sum[:]))).Body), &session)
	r, err := http.NewRequest("PUT", session.URL, bytes.NewReader(file))
	if err != nil {
		c.Fatal(err)
	}
	for name, value := range session.Headers {
		r.Header.Set(name, value)
	}
	put, err := http.DefaultClient.Do(r)
	if err != nil || put.StatusCode > 299 {
		c.Fatal(put, err)
	}
	put.Body.Close()
	operation := c.call(c.key, "POST", "/documents", fmt.Sprintf(`{"uploadId":%q}`, session.ID)).Text("id")
	for watch := waittest.New(); ; {
		var o struct{ Result struct{ ID string } }
		a := c.call(c.key, "GET", "/operations/"+operation, "")
		switch decode(c, string(a.Body), &o); {
		case o.Result.ID != "":
			return o.Result.ID
		case watch.IsStuck(string(a.Body)):
			c.Fatalf("the operation does not end: %s", a.Body)
		}
	}
}

// changes creates n records in each list, changes some of them and deletes some.
func (c *copyist) changes(n int) {
	c.Helper()
	for i := range n {
		for path, body := range map[string]string{
			"/companies": `{"name":"Firma"}`, "/contacts": `{"lastName":"Berg"}`, "/tasks": `{"title":"Anrufen"}`,
		} {
			id := path + "/" + c.call(c.key, "POST", path, body).Text("id")
			if i%2 == 0 {
				c.call(c.key, "PATCH", id, `{"tags":["neu"]}`)
			}
			if i%3 == 0 {
				c.call(c.key, "DELETE", id, "")
			}
			if path == "/tasks" && i%3 == 1 {
				c.call(c.key, "POST", id+"/complete", "")
			}
		}
	}
}

// subscribe creates the webhook endpoint of the copy.
func (c *copyist) subscribe() {
	c.Helper()
	var endpoint struct{ Secret string }
	decode(c, string(c.call(c.key, "POST", "/webhook_endpoints",
		`{"name":"Spiegel","url":"https://`+postHost+`/hook","eventTypes":[
		"contact.created","contact.updated","contact.deleted","company.created","company.updated","company.deleted",
		"task.created","task.updated","task.completed","task.deleted","document.created","document.deleted"]}`).Body),
		&endpoint)
	c.secret = endpoint.Secret
}

// byWebhooks checks that webhooks alone suffice, although some come twice and out of order.
func (c *copyist) byWebhooks() (document string) {
	c.Helper()
	c.begin("-feed", "1h", "-all", "1h")
	c.equals("the first copy")
	c.changes(6)
	document = c.document()
	c.post.handOver()
	c.equals("by webhooks")
	return document
}

// byFeed loses deliveries, and kills the program and the server. The program gets the lost events
// from the feed.
func (c *copyist) byFeed(document string) {
	c.Helper()
	c.post.careless()
	c.run.kill()
	c.changes(2)
	c.begin("-feed", "500ms", "-all", "1h")
	c.changes(4)
	c.kill()
	c.open()
	c.changes(4)
	c.run.kill()
	c.call(c.key, "DELETE", "/documents/"+document, "")
	c.begin("-feed", "500ms", "-all", "1h")
	c.changes(4)
	c.equals("by the feed")
}

// byLists makes the two changes that have no event: a new name for a document, and a record that
// becomes invisible.
func (c *copyist) byLists() {
	c.Helper()
	c.run.kill()
	c.begin("-feed", "1h", "-all", "1s")
	c.call(c.key, "PATCH", "/documents/"+c.document(), `{"name":"b.txt"}`)
	hidden := c.call(c.admin, "POST", "/contacts", `{"lastName":"Gast"}`).Text("id")
	c.equals("by asking every list")
	c.call(c.admin, "PATCH", "/contacts/"+hidden, `{"visibility":"private"}`)
	c.equals("after a record went out of sight")
	c.run.kill()
}

// postmanFailed checks that the postman has lost, held back and doubled deliveries.
func (c *copyist) postmanFailed() {
	c.Helper()
	c.post.mu.Lock()
	defer c.post.mu.Unlock()
	c.Logf("deliveries: %v", c.post.counts)
	if c.post.counts["lost"] == 0 || c.post.counts["held back"] == 0 || c.post.counts["doubled"] == 0 {
		c.Errorf("the postman was too good: %v", c.post.counts)
	}
}
