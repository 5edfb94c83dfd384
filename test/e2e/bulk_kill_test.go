package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/test/seed"
	"kartei/test/waittest"
)

// TestWholeListsSurviveKills adds a tag to all contacts of a list and undoes this, with the forms
// of the pages. The server is killed with kill -9 at random moments. No contact may be changed
// twice or left out. KARTEI_BULK_KILLS is the number of kills in each of the two parts. With
// KARTEI_ENTRIES it does the large run of docs/performance.md.
func TestWholeListsSurviveKills(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, _ string, store ...string) {
		p := &changer{mover{person: person{TB: t, email: "liste@example.com"}, store: store, random: seed.Rand(t)}}
		p.serve()
		o := found(t, store...)
		p.accept(p.on("user", "invite", "--org", o.ID, "--email", p.email, "--role", "admin")...)
		live := read[struct{ Key string }](t, p.on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "live",
			"--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1/32")...).Key
		entries := times("KARTEI_ENTRIES", 2400) / 20 * 20
		makeContacts(client{t, p.server, live}, entries)
		began := time.Now()
		page := p.begin("Messe 2026")
		p.goOn(page, "Rückgängig machen")
		t.Logf("%d entries have the tag after %s and %d kills", entries, time.Since(began).Round(time.Second), p.kills)
		if n := changedTo(client{t, p.server, live}, 2, "Messe 2026"); n != entries {
			t.Errorf("%d contacts were changed once and have the tag, want %d", n, entries)
		}
		began = time.Now()
		p.fill(page, page+"/undo")
		p.goOn(page, "rückgängig gemacht")
		t.Logf("the tag is taken back after %s and %d kills", time.Since(began).Round(time.Second), p.kills)
		if n := changedTo(client{t, p.server, live}, 3, ""); n != entries {
			t.Errorf("%d contacts were changed back once, want %d", n, entries)
		}
	}
	eachEngine(t, each)
}

// changer is a person who changes whole lists at a server that is killed repeatedly.
type changer struct{ mover }

// begin adds a tag to all contacts, and returns the path of the page about this change.
func (p *changer) begin(tag string) string {
	p.Helper()
	form := p.form("/contacts", "/bulk/contacts/tag")
	form.Del("pick")
	form.Set("whole", "1")
	form.Set("tag", tag)
	answer, err := p.browser.PostForm(p.server.URL+"/bulk/contacts/tag", form)
	p.body(answer, err)
	if !strings.HasPrefix(answer.Request.URL.Path, "/changes/") {
		p.Fatalf("the change leads to %s", answer.Request.URL)
	}
	return answer.Request.URL.Path
}

// goOn waits until the change has ended and its page contains text. It kills the server up to
// KARTEI_BULK_KILLS times, each time at a progress that had no kill before.
func (p *changer) goOn(page, text string) {
	p.Helper()
	met := map[string]bool{}
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
		shown := p.get(page)
		if strings.Contains(shown, text) && !strings.Contains(shown, "data-underway") {
			return
		}
		at := progressed.FindString(shown)
		if !met[at] && len(met) < times("KARTEI_BULK_KILLS", 2) {
			met[at] = true
			p.kill()
			continue
		}
		if watch.IsStuck(at) {
			p.Fatalf("the page never says %q: %.3000s", text, shown)
		}
	}
}

// changedTo counts the contacts with this revision that have only this tag. An empty tag stands for
// no tags.
func changedTo(s client, revision int, tag string) (n int) {
	s.Helper()
	for path := "/contacts?limit=100"; ; {
		var page struct {
			Data []struct {
				Revision int
				Tags     []string
			}
			NextCursor string
		}
		decode(s.TB, string(s.call("GET", path, "", 200, "").Body), &page)
		for _, r := range page.Data {
			if r.Revision == revision && strings.Join(r.Tags, "|") == tag {
				n++
			}
		}
		if page.NextCursor == "" {
			return n
		}
		path = fmt.Sprintf("/contacts?limit=100&cursor=%s", page.NextCursor)
	}
}
