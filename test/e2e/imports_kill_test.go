package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/record"
	"kartei/test/seed"
	"kartei/test/waittest"
)

// TestImportsSurviveKills imports a table with the forms of the pages. The server is killed with
// kill -9 at random moments while it reads, checks, imports and undoes. Each contact must be
// created exactly once. KARTEI_IMPORT_KILLS is the number of kills in each of the four parts. With
// KARTEI_ENTRIES it does the large run of docs/performance.md.
func TestImportsSurviveKills(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, _ string, store ...string) {
		p := &mover{person: person{TB: t, email: "umzug@example.com"}, store: store, random: seed.Rand(t)}
		p.serve()
		o := found(t, store...)
		p.accept(p.on("user", "invite", "--org", o.ID, "--email", p.email, "--role", "member")...)
		live := read[struct{ Key string }](t, p.on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "live",
			"--scopes", "contacts:read,contacts:write,companies:read", "--ip", "127.0.0.1/32")...).Key
		other := (client{t, p.server, live}).call("POST", "/contacts", `{"lastName":"Bestand"}`, 201, "",
			"Idempotency-Key", "other").Text("id")
		entries := times("KARTEI_ENTRIES", 2400)
		page := p.upload(entries)
		p.until(page, "Prüfen")
		p.fill(page, page+"/columns")
		p.until(page, "Jetzt importieren")
		p.fill(page, page+"/run")
		p.until(page, "Zu den Kontakten")
		made := map[string]bool{}
		for _, line := range strings.Split(p.get(page+"/report"), "\n") {
			if cells := strings.Split(line, ";"); len(cells) > 3 && cells[1] == "angelegt" {
				made[cells[2]] = true
			}
		}
		if count := (client{t, p.server, live}).call("GET", "/contacts/count", "", 200,
			"").Text("count"); len(made) != entries || count != fmt.Sprint(min(entries+1, record.CountCap)) {
			t.Errorf("%d contacts in the report and %s in the office, want %d", len(made), count, entries)
		}
		if count := (client{t, p.server, live}).call("GET", "/companies/count", "", 200, "").Text("count"); count != "30" {
			t.Errorf("%s companies, want 30", count)
		}
		p.fill(page+"/undo", page+"/undo")
		p.until(page, "wieder gelöscht")
		for family, want := range map[string]string{"contacts": "1", "companies": "0"} {
			if count := (client{t, p.server, live}).call("GET", "/"+family+"/count", "", 200, "").Text("count"); count != want {
				t.Errorf("%s %s are left, want %s", count, family, want)
			}
		}
		(client{t, p.server, live}).call("GET", "/contacts/"+other, "", 200, "")
		t.Logf("%d entries, %d kills", entries, p.kills)
	}
	eachEngine(t, each)
}

// mover is a person who imports contacts at a server that is killed repeatedly.
type mover struct {
	person
	store  []string
	random *rand.Rand
	kills  int
}

func (p *mover) on(args ...string) []string { return append(args, p.store...) }

func (p *mover) serve() {
	p.Helper()
	p.server = start(p.TB, p.on("serve", "--no-metered")...)
}

// kill kills the server at a random moment and starts it again.
func (p *mover) kill() {
	p.Helper()
	time.Sleep(time.Duration(p.random.Int64N(int64(150 * time.Millisecond)))) // at a random moment
	p.server.kill()
	p.kills++
	p.serve()
	p.signIn()
}

// upload sends a table and returns the path of the page about its import.
func (p *mover) upload(entries int) string {
	p.Helper()
	table := "Nachname;Vorname;Firma;E-Mail;Notiz\n"
	for i := range entries {
		table += fmt.Sprintf("Umzug%d;Anna;Firma %d;u%d@example.com;\n", i, i%30, i)
	}
	return p.sendFile("/settings/data/new", "umzug.csv", table)
}

// progressed matches the progress on the page of an import.
var progressed = regexp.MustCompile(`(?s)<div class="operation-progress".*?</div>`)

// until waits until the page of an import contains text. It kills the server up to
// KARTEI_IMPORT_KILLS times, each time at a progress that had no kill before.
func (p *mover) until(page, text string) {
	p.Helper()
	met := map[string]bool{}
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
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
