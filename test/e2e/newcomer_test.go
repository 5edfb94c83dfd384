package e2e

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFirstHour checks a newcomer's first hour: the command demo, and then the calls of README and
// guide in order. The script ci/readme.sh runs the exact lines of the pages.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	demo := startDemo(t)
	line := introduction(t, demo)
	signIn(t, demo.URL, line.Login.Email, line.Login.Password)
	answersInBothFamilies(t, demo, line.Keys.Full)

	full, reader := client{t, demo, line.Keys.Full}, client{t, demo, line.Keys.Read}
	knowsItsSandbox(t, full, line.SandboxID)
	hasSampleData(t, reader)
	path, seen := lifeOfContact(t, full, reader)
	deletionIsSeen(t, full, path, seen)
	lifeIsInFeed(t, full, path)
	for _, page := range []string{"/docs", "/problems", "/problems/PRECONDITION_FAILED"} {
		get(t, demo.URL+page, 200)
	}
	demo.cmd.Process.Signal(syscall.SIGHUP) // Its terminal is closed.
	demo.wait(t)
	leftNothing(t, demo.temp)
}

// demoIntro is the first line of the demo's output.
type demoIntro struct {
	BaseURL, WebURL, OrganizationID, SandboxID string
	Keys                                       struct{ Full, Read string }
	Login                                      struct{ Email, Password string }
}

func introduction(t *testing.T, demo *server) (line demoIntro) {
	t.Helper()
	decode(t, demo.First, &line)
	if line.BaseURL != demo.URL+"/v1" || line.Login.Email == "" || line.Login.Password == "" {
		t.Fatalf("the demo's line is %s", demo.First)
	}
	return line
}

// answersInBothFamilies checks that the URL has a host name, which passkeys need. The demo must
// respond on IPv4 and IPv6.
func answersInBothFamilies(t *testing.T, demo *server, key string) {
	t.Helper()
	port, named := strings.CutPrefix(demo.URL, "http://localhost:")
	if !named {
		t.Errorf("the demo's address is %s", demo.URL)
	}
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		free, err := net.Listen("tcp", host+":0")
		if err != nil {
			continue // The machine lacks this address family.
		}
		free.Close()
		at := &server{URL: "http://" + host + ":" + port}
		client{t, at, key}.call("GET", "/me", "", 200, "")
	}
}

func knowsItsSandbox(t *testing.T, full client, sandbox string) {
	t.Helper()
	me := full.call("GET", "/me", "", 200, "")
	var who struct {
		Organization struct{ ID string }
		Scopes       []string
		APIVersion   string
	}
	decode(t, string(me.Body), &who)
	if who.Organization.ID != sandbox || len(who.Scopes) == 0 || who.APIVersion != "2026-11-01" {
		t.Errorf("/me says %s", me.Body)
	}
}

func hasSampleData(t *testing.T, reader client) {
	t.Helper()
	if n := len(pageOf(t, reader.call("GET", "/contacts?limit=100", "", 200, "")).Data); n != 100 {
		t.Errorf("the sample office has %d contacts on its first page", n)
	}
	hits := pageOf(t, reader.call("GET", "/contacts?limit=5&q=mueller", "", 200, ""))
	if len(hits.Data) == 0 || !strings.Contains(hits.Data[0].LastName, "Müller") {
		t.Errorf("q=mueller finds %+v", hits.Data)
	}
}

// lifeOfContact creates, changes and deletes a contact, and repeats the creation. It returns the
// path of the contact and its last updatedAt.
func lifeOfContact(t *testing.T, full, reader client) (path, seen string) {
	t.Helper()
	anna := `{"firstName":"Anna","lastName":"Berg"}`
	full.call("POST", "/contacts", anna, 404, "OPERATION_NOT_IN_VERSION", "Svc-Preview", "", "Idempotency-Key", "first")
	full.call("POST", "/contacts", anna, 400, "INVALID_REQUEST")
	made := full.call("POST", "/contacts", anna, 201, "", "Idempotency-Key", "first")
	again := full.call("POST", "/contacts", anna, 201, "", "Idempotency-Key", "first")
	if again.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(again.Body, made.Body) {
		t.Errorf("sent again: %v %s", again.Header, again.Body)
	}
	path = strings.TrimPrefix(made.Header.Get("Location"), "/v1")
	full.call("PATCH", path, `{"jobTitle":"Notarin"}`, 428, "PRECONDITION_REQUIRED")
	full.call("PATCH", path, `{"jobTitle":"Notarin"}`, 200, "", "If-Match", made.Header.Get("ETag"))
	full.call("PATCH", path, `{"jobTitle":"Richterin"}`, 412, "PRECONDITION_FAILED", "If-Match", made.Header.Get("ETag"))
	reader.call("PATCH", path, `{"jobTitle":"Richterin"}`, 403, "FORBIDDEN", "If-Match", "*")
	seen = pageOf(t, full.call("GET", "/contacts?limit=1", "", 200, "")).Data[0].UpdatedAt
	full.call("DELETE", path, "", 204, "", "If-Match", `"r2"`)
	full.call("GET", path, "", 404, "NOT_FOUND")
	return path, seen
}

// deletionIsSeen reads the changes since a time, as a mirror does. The deletion must be the only
// one.
func deletionIsSeen(t *testing.T, full client, path, since string) {
	t.Helper()
	changes := pageOf(t, full.call("GET", "/contacts?includeDeleted=true&updatedSince="+since, "", 200, ""))
	if len(changes.Data) != 1 || !changes.Data[0].Deleted || "/contacts/"+changes.Data[0].ID != path {
		t.Errorf("changes since %s: %+v", since, changes.Data)
	}
}

// lifeIsInFeed checks the events of the contact in the feed. It ignores events of documents, which
// the demo is still creating.
func lifeIsInFeed(t *testing.T, full client, path string) {
	t.Helper()
	var events page[feedEntry]
	decode(t, string(full.call("GET", "/events?limit=100", "", 200, "").Body), &events)
	events.Data = slices.DeleteFunc(events.Data, func(e feedEntry) bool { return "/contacts/"+e.Data.ID != path })
	if len(events.Data) != 3 {
		t.Fatalf("the feed has %+v of it", events.Data)
	}
	for i, want := range []string{"contact.deleted", "contact.updated", "contact.created"} {
		if events.Data[i].Type != want {
			t.Errorf("event %d is %+v, want %s", i, events.Data[i], want)
		}
	}
}

// leftNothing fails the test if the temporary folder has files of a demo.
func leftNothing(t *testing.T, temp string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("the demo left %v", left)
	}
}

// signIn signs in as a browser without scripts does, and opens the start page.
func signIn(t *testing.T, url, email, password string) {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: cookies}
	read := func(answer *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v %.500s", answer.Request.URL, answer.StatusCode, err, body)
		}
		return string(body)
	}
	form := regexp.MustCompile(`name="form-token" value="([^"]+)"`).FindStringSubmatch(read(browser.Get(url + "/signin")))
	if form == nil {
		t.Fatal("the sign-in page has no form")
	}
	read(browser.PostForm(url+"/signin", neturl.Values{"form-token": {form[1]}, "email": {email}, "password": {password}}))
	if list := read(browser.Get(url + "/contacts?q=mueller")); !strings.Contains(list, "Müller") {
		t.Errorf("signed in, the list of contacts has no Müller: %.300s", list)
	}
}

// startDemo starts the demo with a temporary folder of its own.
func startDemo(t *testing.T) *server {
	t.Helper()
	c := command("demo", "--json", "--listen", "127.0.0.1:0")
	temp := t.TempDir()
	c.Env = append(c.Env, "TMPDIR="+temp)
	s, err := launchCommand(c)
	if err != nil {
		t.Fatal(err)
	}
	s.temp = temp
	t.Cleanup(s.kill)
	return s
}

func pageOf(t testing.TB, a *answer) (p page[contact]) {
	t.Helper()
	decode(t, string(a.Body), &p)
	return p
}

// missing skips the test, or fails it if CI is set.
func missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// TestFirstDelivery checks the webhook deliveries that a newcomer sees: first without any call,
// then after the call that the demo suggests. The demo prints a line for each delivery that its
// receiver has verified. With --data, the next demo has the same endpoint. The demo ends after an
// interrupt, and when the reader of its output closes the pipe.
func TestFirstDelivery(t *testing.T) {
	t.Parallel()
	temp, data := t.TempDir(), filepath.Join(t.TempDir(), "demo")
	words := regexp.MustCompile(`kart_test_\w+|http://[^/]+/v1|whe_\w+`)
	endpoint := ""
	for _, unread := range []bool{false, true} {
		c := command("demo", "--listen", "127.0.0.1:0", "--data", data)
		c.Env = append(c.Env, "TMPDIR="+temp)
		demo := startCommand(t, c)
		line := func(with ...string) string {
			t.Helper()
			for {
				if s := demo.next(); !slices.ContainsFunc(with, func(word string) bool { return !strings.Contains(s, word) }) {
					return s
				}
			}
		}
		api := words.FindString(line("API"))
		key := words.FindString(line("key, everything"))
		tested := words.FindString(line("webhook.test", "signature verified"))
		if endpoint != "" && tested != endpoint {
			t.Errorf("the second start has made another endpoint, %s beside %s", tested, endpoint)
		}
		endpoint = tested
		s := client{t, &server{URL: strings.TrimSuffix(api, "/v1")}, key}
		id := s.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", rand.Text()).Text("id")
		line("contact.created", id, "signature verified")
		var endpoints page[struct{ Status string }]
		decode(t, string(s.call("GET", "/webhook_endpoints", "", 200, "").Body), &endpoints)
		if len(endpoints.Data) != 1 || endpoints.Data[0].Status != "active" {
			t.Errorf("the demo has %+v", endpoints.Data)
		}
		if unread { // The pipe closes, as with head, so the next line ends the demo.
			demo.out.Close()
			s.call("POST", "/contacts", `{"lastName":"Thal"}`, 201, "", "Idempotency-Key", rand.Text())
		} else {
			demo.cmd.Process.Signal(syscall.SIGTERM)
		}
		for range demo.lines {
		}
		if err := demo.cmd.Wait(); err != nil {
			t.Errorf("the demo ended with %v: %s", err, demo.errs.String())
		}
		if said := demo.errs.String(); strings.Contains(said, "for development") {
			t.Errorf("the demo warns of its own settings: %s", said)
		}
		leftNothing(t, temp)
	}
}
