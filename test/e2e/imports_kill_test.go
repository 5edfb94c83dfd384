package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/record"
	"kartei/test/dbtest"
	"kartei/test/patience"
	"kartei/test/seed"
)

// TestImportsSurviveKills imports a table with the forms of the pages. The server is
// killed with kill -9 at random times while it reads, checks, imports and undoes, and
// goes on: nothing is made twice, and nothing is left out. KARTEI_IMPORT_KILLS is
// the number of kills in each of the four parts. With KARTEI_ENTRIES it also makes the large
// run that docs/performance.md tells of.
func TestImportsSurviveKills(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, store ...string) {
		p := &mover{T: t, store: store, random: seed.Rand(t)}
		p.serve()
		o := found(t, store...)
		p.signIn(o)
		live := read[struct{ Key string }](t, p.on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "live", "--scopes", "contacts:read,companies:read", "--ip", "127.0.0.1/32")...).Key
		entries := times("KARTEI_ENTRIES", 2400)
		page := p.upload(entries)
		p.until(page, "Prüfen")
		p.send(page, "/columns")
		p.until(page, "Jetzt importieren")
		p.send(page, "/run")
		p.until(page, "Zu den Kontakten")
		made := map[string]bool{}
		for _, line := range strings.Split(p.get(page+"/report"), "\n") {
			if cells := strings.Split(line, ";"); len(cells) > 3 && cells[1] == "angelegt" {
				made[cells[2]] = true
			}
		}
		if count := (client{t, p.server, live}).call("GET", "/contacts/count", "", 200, "").Text("count"); len(made) != entries || count != fmt.Sprint(min(entries, record.CountCap)) {
			t.Errorf("%d contacts in the report and %s in the office, want %d", len(made), count, entries)
		}
		if count := (client{t, p.server, live}).call("GET", "/companies/count", "", 200, "").Text("count"); count != "30" {
			t.Errorf("%s companies, want 30", count)
		}
		p.send(page, "/undo")
		p.until(page, "wieder gelöscht")
		for _, family := range []string{"contacts", "companies"} {
			if count := (client{t, p.server, live}).call("GET", "/"+family+"/count", "", 200, "").Text("count"); count != "0" {
				t.Errorf("%s %s are left", count, family)
			}
		}
		t.Logf("%d entries, %d kills", entries, p.kills)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		each(t, "--data-dir", t.TempDir())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		each(t, "--data-dir", t.TempDir(), "--database-url", dbtest.PostgresURL(t))
	})
}

// mover is a person who imports, at a server that is killed again and again.
type mover struct {
	*testing.T
	store   []string
	server  *server
	browser *http.Client
	random  *rand.Rand
	kills   int
}

const moverPassword = "langes-kennwort-mit-zahl-7"

func (p *mover) on(args ...string) []string { return append(args, p.store...) }

func (p *mover) serve() {
	p.Helper()
	p.server = start(p.T, p.on("serve", "--no-metered")...)
}

// signIn accepts an invitation.
func (p *mover) signIn(o office) {
	p.Helper()
	out, errs, status := try(p.T, p.on("user", "invite", "--org", o.ID, "--email", "umzug@example.com", "--role", "member")...)
	_, token, found := strings.Cut(strings.TrimSpace(out), "/invitation#")
	if status != 0 || !found {
		p.Fatalf("%d %q %s", status, out, errs)
	}
	p.again()
	p.post("/invitation", neturl.Values{"form-token": {p.token(p.get("/invitation"))}, "token": {token}, "name": {"Uta Umzug"}, "password": {moverPassword}})
}

// again makes a new browser: the server has another address.
func (p *mover) again() {
	cookies, err := cookiejar.New(nil)
	if err != nil {
		p.Fatal(err)
	}
	p.browser = &http.Client{Jar: cookies}
}

// kill ends the server at a random time, and starts it anew.
func (p *mover) kill() {
	p.Helper()
	time.Sleep(time.Duration(p.random.Int64N(int64(150 * time.Millisecond)))) // anywhere in the next steps
	p.server.kill()
	p.kills++
	p.serve()
	p.again()
	p.post("/signin", neturl.Values{"form-token": {p.token(p.get("/signin"))}, "email": {"umzug@example.com"}, "password": {moverPassword}})
}

func (p *mover) body(answer *http.Response, err error) string {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatalf("%s: %d %v %.2000s", answer.Request.URL, answer.StatusCode, err, body)
	}
	return string(body)
}

func (p *mover) get(path string) string {
	p.Helper()
	return p.body(p.browser.Get(p.server.URL + path))
}

func (p *mover) post(path string, form neturl.Values) string {
	p.Helper()
	return p.body(p.browser.PostForm(p.server.URL+path, form))
}

var formToken = regexp.MustCompile(`name="form-token" value="([^"]+)"`)

func (p *mover) token(page string) string {
	p.Helper()
	found := formToken.FindStringSubmatch(page)
	if found == nil {
		p.Fatalf("no form: %.2000s", page)
	}
	return found[1]
}

// upload sends a table, and returns the page of its import.
func (p *mover) upload(entries int) string {
	p.Helper()
	table := "Nachname;Vorname;Firma;E-Mail;Notiz\n"
	for i := range entries {
		table += fmt.Sprintf("Umzug%d;Anna;Firma %d;u%d@example.com;\n", i, i%30, i)
	}
	body := new(bytes.Buffer)
	w := multipart.NewWriter(body)
	_ = w.WriteField("form-token", p.token(p.get("/settings/data/new")))
	file, err := w.CreateFormFile("file", "umzug.csv")
	if err == nil {
		_, err = io.WriteString(file, table)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		p.Fatal(err)
	}
	answer, err := p.browser.Post(p.server.URL+"/settings/data/new", w.FormDataContentType(), body)
	p.body(answer, err)
	return answer.Request.URL.Path
}

var selected = regexp.MustCompile(`(?s)<select[^>]*name="(target\.\d+)"[^>]*>(.*?)</select>`)
var chosen = regexp.MustCompile(`value="([^"]*)" selected`)

// send sends a form of the page of an import, as it is.
func (p *mover) send(page, act string) {
	p.Helper()
	shown := p.get(page)
	form := neturl.Values{"form-token": {p.token(shown)}}
	if act == "/columns" {
		form.Set("duplicates", "skip")
		for _, field := range selected.FindAllStringSubmatch(shown, -1) {
			form.Set(field[1], strings.Join(chosen.FindStringSubmatch(field[2])[1:], ""))
		}
	}
	p.post(page+act, form)
}

// progressed is what the page of an import says of how far it is.
var progressed = regexp.MustCompile(`(?s)<div class="operation-progress".*?</div>`)

// until waits until the page of an import says something. It kills the server at most so
// many times, each time in a part of the work that no kill has met.
func (p *mover) until(page, text string) {
	p.Helper()
	met := map[string]bool{}
	for watch := patience.New(); ; time.Sleep(50 * time.Millisecond) {
		shown := p.get(page)
		if strings.Contains(shown, text) {
			return
		}
		at := progressed.FindString(shown)
		if !met[at] && len(met) < times("KARTEI_IMPORT_KILLS", 2) {
			met[at] = true
			p.kill()
			continue
		}
		if watch.IsStuck(at) {
			p.Fatalf("the page never says %q: %.3000s", text, shown)
		}
	}
}
