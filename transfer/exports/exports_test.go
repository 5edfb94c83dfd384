package exports_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/people/principal"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/transfer/exports"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d, apitest.Replicas(1))) })
}

// taker is a caller who exports, and the door of the calls.
type taker struct {
	*apitest.Office
	door api.Door
	as   api.Credential
}

// inSandbox returns a person with a session of the web application, in the sandbox like test
// keys.
func inSandbox(o *apitest.Office, principal string) taker {
	return taker{o, api.Web, api.Cookie(o.Session(principal), true)}
}

// atHome returns a person with a session of the web application in the live organization.
func atHome(o *apitest.Office, principal string) taker {
	return taker{o, api.Web, api.Cookie(o.Session(principal), false)}
}

// byCommand returns the operator at the command line.
func byCommand(o *apitest.Office) taker { return taker{o, api.Admin, api.Local()} }

func (by taker) send(row string, in any) *api.Response {
	by.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		by.Fatal(err)
	}
	return by.API.Do(by.Context(), &api.Request{
		Operation: api.ByID(row), Door: by.door, Credential: by.as, Address: netip.MustParseAddr("192.0.2.7"),
		Header: map[string][]string{"Accept-Language": {"de"}}, HasBody: true,
		Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// begin begins an export.
func (by taker) begin(row string, in exports.Input) (begun exports.BeginOutput) {
	by.Helper()
	if got := by.send(row, in); got.Fault != nil || json.Unmarshal(got.Body, &begun) != nil {
		by.Fatalf("%s: %d %s", row, got.Status, got.Body)
	}
	return begun
}

// largest is the maximum size of the parts in one response, in bytes.
const largest = 256 << 10

// parts reads the rest of an export and returns its files. It calls between after each response.
func (by taker) parts(cursor string, between func(files map[string][]byte)) map[string][]byte {
	by.Helper()
	files := map[string][]byte{}
	last := ""
	for cursor != "" {
		got := by.send("exports.parts", exports.PartsInput{Cursor: cursor})
		var next exports.Parts
		if got.Fault != nil || json.Unmarshal(got.Body, &next) != nil {
			by.Fatalf("exports.parts: %d %s", got.Status, got.Body)
		}
		size := 0
		for _, p := range next.Parts {
			if _, known := files[p.Name]; known && p.Name != last {
				by.Errorf("%s goes on after %s", p.Name, last)
			}
			files[p.Name] = append(files[p.Name], p.Content...)
			size += len(p.Content)
			last = p.Name
		}
		if size > largest {
			by.Errorf("one answer has %d bytes", size)
		}
		if cursor = next.Cursor; between != nil {
			between(files)
		}
	}
	return files
}

// take exports something and returns its files.
func (by taker) take(row string, in exports.Input) map[string][]byte {
	by.Helper()
	return by.parts(by.begin(row, in).Cursor, nil)
}

// lines decodes lines of JSON.
func lines(t *testing.T, b []byte) (list []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(b) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %s", err, line)
		}
		list = append(list, one)
	}
	return list
}

// members returns the values of a member in all lines.
func members(t *testing.T, b []byte, name string) (list []string) {
	t.Helper()
	for _, l := range lines(t, b) {
		list = append(list, fmt.Sprint(l[name]))
	}
	return list
}

// newest returns the newest line of the audit log with a word.
func newest(t *testing.T, o *apitest.Office, word string) audit.Line {
	t.Helper()
	page, err := operator.Run(t.Context(), o.Operator, auditlog.List, auditlog.Input{Word: word, Limit: 1})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("%s: %v %v", word, page.Data, err)
	}
	return page.Data[0]
}

// TestContact checks the export about a contact. It has everything about the contact, through
// both doors, and the audit log has the same line. A caller who sees less gets less.
func TestContact(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, boss := o.As(access.Member), o.As(access.Admin)
		make := func(path string, body map[string]any) string { return c.Do("POST", path, body).Want(201).Text("id") }
		firm := make("/companies", map[string]any{"name": "Weingut <Haas> & Söhne"})
		anna := make("/contacts", map[string]any{
			"lastName":         "Berg",
			"firstName":        "Anna",
			"companyId":        firm,
			"salutation":       "ms",
			"note":             "<script>alert(1)</script>",
			"tags":             []string{"Mandant"},
			"address":          map[string]any{"city": "Wien", "country": "AT"},
			"additionalEmails": []any{map[string]any{"email": "berg@verein.example", "label": "<Verein>"}},
			"additionalPhones": []any{
				map[string]any{"phone": "0221 7", "label": "work"}, map[string]any{"phone": "0221 8"},
			},
			"additionalAddresses": []any{
				map[string]any{"street": "Weg 1", "postalCode": "1010", "city": "Linz", "country": "CH", "label": "home"},
			},
			"attributes": map[string]any{"crmStage": "won"},
		})
		make("/contacts", map[string]any{"lastName": "Andere"})
		c.Do("PATCH", "/contacts/"+anna, map[string]any{"phone": "+49 221 1"}, "If-Match", `"r1"`).Want(200)
		make("/tasks", map[string]any{"title": "Klage prüfen", "contactId": anna})
		make("/tasks", map[string]any{"title": "Andere Aufgabe"})
		secret := boss.Do("POST", "/tasks", map[string]any{
			"title": "Vertraulich", "contactId": anna, "visibility": "private",
		}).Want(201).Text("id")
		file := bytes.Repeat([]byte("Seite aus Köln. "), 50_000) // more than one part
		letter := c.Document("Brief: März?.txt", "text/plain", file, map[string]any{"contactId": anna})
		c.Document("fremd.txt", "text/plain", []byte("fremd"))
		o.Rest()

		doors := map[string]taker{
			"member": inSandbox(o, c.Principal), "admin": inSandbox(o, boss.Principal), "operator": byCommand(o),
		}
		for who, by := range doors {
			in := exports.Input{ID: anna}
			if who == "operator" {
				in.Organization = o.SandboxID
			}
			files := by.take("exports.contact", in)
			var one map[string]any
			if err := json.Unmarshal(files["contact.json"], &one); err != nil || one["id"] != anna ||
				one["phone"] != "+49 221 1" {
				t.Errorf("%s: %s", who, files["contact.json"])
			}
			if direct := c.Do("GET", "/contacts/"+anna, nil).Want(200).JSON(); fmt.Sprint(direct) != fmt.Sprint(one) {
				t.Errorf("%s: %v is not what the API returns: %v", who, one, direct)
			}
			want := 2
			if who == "member" {
				want = 1
			}
			if got := members(t, files["tasks.jsonl"], "title"); len(got) != want || !slices.Contains(got, "Klage prüfen") ||
				slices.Contains(got, "Vertraulich") != (who != "member") {
				t.Errorf("%s: tasks %q", who, got)
			}
			if strings.Contains(string(files["tasks-history.jsonl"]), secret) != (who != "member") {
				t.Errorf("%s: %s", who, files["tasks-history.jsonl"])
			}
			if got := members(t, files["documents.jsonl"], "id"); !slices.Equal(got, []string{letter}) {
				t.Errorf("%s: documents %q", who, got)
			}
			if got := files["files/"+letter+"/Brief_ März_.txt"]; !bytes.Equal(got, file) {
				t.Errorf("%s: the file has %d bytes of %d: %q", who, len(got), len(file), keys(files))
			}
			history := lines(t, files["contact-history.jsonl"])
			if len(history) != 2 || history[0]["act"] != "created" || fmt.Sprint(history[1]["members"]) != "[phone]" ||
				history[1]["principalId"] != c.Principal || history[1]["principalName"] != "Petra Morgenstern" {
				t.Errorf("%s: %v", who, history)
			}
			page := string(files["auskunft.html"])
			for _, word := range []string{
				"Berg", "Weingut &lt;Haas&gt; &amp; Söhne", "&lt;script&gt;alert(1)", "Österreich", "Frau",
				"Klage prüfen", "geändert: Telefon", "Petra Morgenstern",
				"berg@verein.example (&lt;Verein&gt;)", "0221 7 (geschäftlich)\n0221 8<",
				"Weg 1, 1010 Linz, Schweiz (privat)", "crmStage: won",
			} {
				if !strings.Contains(page, word) {
					t.Errorf("%s: the summary lacks %q:\n%s", who, word, page)
				}
			}
			if strings.Contains(page, "<script") || strings.Contains(page, "Vertraulich") != (who != "member") ||
				strings.Contains(page, "Andere") {
				t.Errorf("%s: %s", who, page)
			}
			if _, has := files["audit.jsonl"]; has != (who != "member") {
				t.Errorf("%s has the audit log: %t", who, has)
			}
			l := newest(t, o, "records.exportContact")
			if l.Target != anna || l.Operation != "exports.contact" || len(l.Changes) != 1 ||
				fmt.Sprint(l.Changes[0].To) != fmt.Sprint(want+2) || l.Door != string(by.door) || l.OrganizationID != o.SandboxID {
				t.Errorf("%s: %+v", who, l)
			}
		}
		english := doors["member"].take("exports.contact", exports.Input{ID: anna, Language: "en"})
		if !strings.Contains(string(english["summary.html"]), "Austria") || english["auskunft.html"] != nil {
			t.Errorf("%q", keys(english))
		}
	})
}

func keys(files map[string][]byte) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestContactOfOthers checks that a caller gets only the data that they may see. A caller cannot
// continue the export of another caller, or continue after losing the right.
func TestContactOfOthers(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other := o.As(access.Member), o.As(access.Member)
		private := c.Do("POST", "/contacts", map[string]any{
			"lastName": "Geheim", "visibility": "private",
		}).Want(201).Text("id")
		public := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		them := inSandbox(o, other.Principal)
		for id, want := range map[string]int{private: 404, "con_x": 404, o.ID: 404, public: 200} {
			if got := them.send("exports.contact", exports.Input{ID: id}); got.Status != want {
				t.Errorf("%s: %d %s", id, got.Status, got.Body)
			}
		}
		if got := byCommand(o).send("exports.contact", exports.Input{ID: public}); got.Status != 422 {
			t.Errorf("the operator without an organization: %d %s", got.Status, got.Body)
		}
		if got := them.send("exports.contact", exports.Input{ID: public, Language: "fr"}); got.Status != 422 {
			t.Errorf("in French: %d %s", got.Status, got.Body)
		}
		begun := inSandbox(o, c.Principal).begin("exports.contact", exports.Input{ID: public})
		for who, by := range map[string]taker{
			"another person": them, "the operator": byCommand(o),
			"the same person at home": atHome(o, c.Principal),
		} {
			if got := by.send("exports.parts", exports.PartsInput{Cursor: begun.Cursor}); got.Status != 404 {
				t.Errorf("%s goes on: %d", who, got.Status)
			}
		}
		for _, cursor := range []string{"", "x", begun.Cursor[:len(begun.Cursor)-2]} {
			if got := them.send("exports.parts", exports.PartsInput{Cursor: cursor}); got.Status != 404 {
				t.Errorf("%q: %d", cursor, got.Status)
			}
		}
		mine := them.begin("exports.contact", exports.Input{ID: public})
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     other.Principal,
			Rights: access.Rights{"contacts": access.NoRight},
		}); err != nil {
			t.Fatal(err)
		}
		if got := them.send("exports.parts", exports.PartsInput{Cursor: mine.Cursor}); got.Status != 403 {
			t.Errorf("after losing the right: %d %s", got.Status, got.Body)
		}
	})
}

// TestPrincipal checks the export about a person. The person and admins get the data about that
// person, and others get nothing. The export has no secrets.
func TestPrincipal(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		person, boss, other := o.User(access.Member), o.User(access.Admin), o.User(access.Member)
		key := o.Key(person, "contacts:read")
		for range 50 { // all calls in one microsecond
			(&apitest.Client{Office: o, Principal: person, Key: key}).Do("GET", "/contacts", nil).Want(200)
		}
		self, admin := atHome(o, person), atHome(o, boss)
		admin.take("exports.person", exports.Input{ID: person})
		for who, by := range map[string]taker{"self": self, "admin": admin, "operator": byCommand(o)} {
			files := by.take("exports.person", exports.Input{ID: person})
			if !strings.Contains(string(files["person.json"]), `"name": "Petra Morgenstern"`) {
				t.Errorf("%s: %s", who, files["person.json"])
			}
			if n := len(lines(t, files["keys.jsonl"])); n != 1 {
				t.Errorf("%s: %d keys: %q", who, n, keys(files))
			}
			if n := len(lines(t, files["sessions.jsonl"])); n != 1 {
				t.Errorf("%s: %d sessions", who, n)
			}
			if got := lines(t, files["calls-keys.jsonl"]); len(got) != 50 || got[0]["operation"] != "contacts.list" ||
				got[0]["requestId"] == got[49]["requestId"] {
				t.Errorf("%s: %d calls: %v", who, len(got), got)
			}
			if got := members(t, files["audit-about.jsonl"], "word"); !slices.Contains(got, "records.exportPerson") {
				t.Errorf("%s: the log about them says %q", who, got)
			}
			for _, l := range append(lines(t, files["audit-about.jsonl"]), lines(t, files["audit-acts.jsonl"])...) {
				hidden := who == "self" && l["principalId"] != person
				if (l["credentialId"] == "") != (hidden || l["credentialKind"] == "operator") || (l["address"] == "") != hidden {
					t.Errorf("%s: %v", who, l)
				}
			}
			if _, has := files["account.json"]; has != (who != "admin") {
				t.Errorf("%s has the account: %t", who, has)
			}
			_, secret, _ := strings.Cut(strings.TrimPrefix(key, "kart_test_"), "_")
			for name, content := range files {
				for _, word := range []string{key, secret, "$argon2", "token_hash"} {
					if word != "" && strings.Contains(string(content), word) {
						t.Errorf("%s: %s holds %q", who, name, word)
					}
				}
			}
			if l := newest(t, o, "records.exportPerson"); l.Target != person || l.Operation != "exports.person" ||
				l.OrganizationID != o.ID || l.Door != string(by.door) {
				t.Errorf("%s: %+v", who, l)
			}
		}
		foreign, _ := o.Organization("Andere")
		for who, by := range map[string]taker{
			"another member": atHome(o, other), "an admin elsewhere": atHome(o, o.User(access.Admin, foreign)),
		} {
			if got := by.send("exports.person", exports.Input{ID: person}); got.Status != 404 {
				t.Errorf("%s: %d %s", who, got.Status, got.Body)
			}
		}
	})
}

// TestPrincipalIsWhole checks more data in the export about a person. It has their identities of
// single sign-on, their sign-ins, their recently opened records and their acts in the sandbox.
func TestPrincipalIsWhole(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, boss := o.As(access.Member), o.User(access.Admin)
		person := c.Principal
		anna := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		self := atHome(o, person)
		insertImport(t, o, "imp_1", person, anna, clock.Now(o.Clock))
		err := o.DB.Write(t.Context(), func(tx db.Tx) error {
			tx.Queue(`insert into identities (id, account_id, issuer, subject, label, created_at, last_used_at)
				select 'idt_1', account_id, 'https://login.example', 'sub-1', 'petra@login.example', 1, 2 from principals where id = $1`, person)
			tx.Queue(`insert into devices (token_hash, network, account_id, created_at, seen_at)
				select 'hash-1', 'hash-2', account_id, 86400000000, 86400000000 from principals where id = $1`, person)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := inSandbox(o, person).send("lookup.opened", map[string]any{"id": anna}); got.Fault != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		inSandbox(o, person).begin("exports.contact", exports.Input{ID: anna})
		for who, by := range map[string]taker{"self": self, "admin": atHome(o, boss), "operator": byCommand(o)} {
			files := by.take("exports.person", exports.Input{ID: person})
			if account := string(files["account.json"]); strings.Contains(account,
				"petra@login.example") != (who != "admin") || strings.Contains(account, "1970-01-02") != (who != "admin") {
				t.Errorf("%s: %s", who, files["account.json"])
			}
			if got := members(t, files["sessions.jsonl"], "method"); len(got) == 0 || got[0] != "password" {
				t.Errorf("%s: signed in with %q", who, got)
			}
			if strings.Contains(string(files["recents.jsonl"]), anna) != (who != "admin") {
				t.Errorf("%s: %s", who, files["recents.jsonl"])
			}
			if got := members(t, files["imports.jsonl"], "id"); !slices.Equal(got, []string{"imp_1"}) {
				t.Errorf("%s: imports %q", who, got)
			}
			if got := members(t, files["audit-acts.jsonl"], "word"); !slices.Contains(got, "records.exportContact") {
				t.Errorf("%s: the acts are %q", who, got)
			}
		}
	})
}

// TestOrganization checks the export of an organization while others work. Each record that
// exists during the whole export is in the file exactly once.
func TestOrganization(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, boss := o.As(access.Member), o.As(access.Admin)
		var stay []string
		for i := range 130 {
			stay = append(stay, c.Do("POST", "/contacts", map[string]any{
				"lastName": fmt.Sprintf("N%03d", i), "visibility": []string{"organization", "private"}[i%2],
			}).Want(201).Text("id"))
		}
		slices.Sort(stay)
		var documents []string
		for i := range 3 {
			documents = append(documents, c.Document(fmt.Sprintf("d%d.txt", i), "text/plain",
				[]byte(strings.Repeat(fmt.Sprint(i), 1<<20))))
		}
		slices.Sort(documents)
		o.Rest()
		for who, by := range map[string]taker{"admin": inSandbox(o, boss.Principal), "operator": byCommand(o)} {
			begun := by.begin("exports.organization", exports.Input{ID: o.SandboxID})
			changed := map[string]bool{}
			files := by.parts(begun.Cursor, func(files map[string][]byte) {
				if files["contacts.jsonl"] == nil || changed["contact"] {
					return
				}
				changed["contact"] = true // in the middle of the contacts
				last := c.Do("GET", "/contacts/"+stay[len(stay)-1], nil).Want(200)
				c.Do("PATCH", "/contacts/"+stay[len(stay)-1], map[string]any{"note": "neu für " + who}, "If-Match",
					last.Header.Get("Etag")).Want(200)
				c.Do("POST", "/contacts", map[string]any{"lastName": "Später"}).Want(201)
			})
			got := members(t, files["contacts.jsonl"], "id")
			got = slices.DeleteFunc(got, func(id string) bool { _, old := slices.BinarySearch(stay, id); return !old })
			if !slices.Equal(got, stay) {
				t.Errorf("%s: %d contacts of %d", who, len(got), len(stay))
			}
			if n := len(lines(t, files["contacts-history.jsonl"])); n < 130 {
				t.Errorf("%s: %d lines of history", who, n)
			}
			for i, id := range documents {
				if n := len(files["files/"+id+"/"+fmt.Sprintf("d%d.txt", i)]); n != 1<<20 {
					t.Errorf("%s: the file of %s has %d bytes: %q", who, id, n, keys(files))
				}
			}
			for _, name := range []string{
				"README.txt", "organization.json", "people.jsonl", "keys.jsonl", "audit.jsonl", "calls.jsonl",
			} {
				if len(files[name]) == 0 {
					t.Errorf("%s: %s is missing or empty", who, name)
				}
			}
			if l := newest(t, o, "records.exportOrganization"); l.Target != o.SandboxID ||
				l.Operation != "exports.organization" || l.Door != string(by.door) {
				t.Errorf("%s: %+v", who, l)
			}
		}
		if got := inSandbox(o, c.Principal).send("exports.organization", exports.Input{ID: o.SandboxID}); got.Status != 403 {
			t.Errorf("a member: %d", got.Status)
		}
		by := inSandbox(o, boss.Principal)
		begun := by.begin("exports.organization", exports.Input{ID: o.SandboxID})
		role := access.Member
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: boss.Principal, Role: &role}); err != nil {
			t.Fatal(err)
		}
		if got := by.send("exports.parts", exports.PartsInput{Cursor: begun.Cursor}); got.Status != 401 && got.Status != 403 {
			t.Errorf("after losing the role: %d %s", got.Status, got.Body)
		}
	})
}

// TestDeletedMeanwhile checks a document that is deleted while its file is read. The archive has
// a note about it, and the export continues.
func TestDeletedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		var ids []string
		for i := range 2 {
			ids = append(ids, c.Document(fmt.Sprintf("d%d.txt", i), "text/plain", bytes.Repeat([]byte("x"), 1<<20)))
		}
		slices.Sort(ids)
		o.Rest()
		gone := false
		files := byCommand(o).parts(byCommand(o).begin("exports.organization", exports.Input{ID: o.SandboxID}).Cursor,
			func(files map[string][]byte) {
				if begun := slices.ContainsFunc(keys(files),
					func(name string) bool { return strings.HasPrefix(name, "files/"+ids[0]) }); begun && !gone {
					gone = true
					c.Do("DELETE", "/documents/"+ids[0], nil, "If-Match", `"r1"`).Want(204)
					o.Rest()
				}
			})
		if files["files/"+ids[0]+"/gelöscht.txt"] == nil || len(files["files/"+ids[0]+"/d0.txt"]) == 1<<20 {
			t.Errorf("%q", keys(files))
		}
		if n := len(files["files/"+ids[1]+"/d1.txt"]); n != 1<<20 {
			t.Errorf("the other file has %d bytes", n)
		}
	})
}

// TestRenamedMeanwhile checks that a document which is renamed during the export stays one file
// of the archive.
func TestRenamedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		content := bytes.Repeat([]byte("x"), 1<<20)
		letter := c.Document("alt.txt", "text/plain", content)
		o.Rest()
		renamed := false
		files := byCommand(o).parts(byCommand(o).begin("exports.organization", exports.Input{ID: o.SandboxID}).Cursor,
			func(files map[string][]byte) {
				if files["files/"+letter+"/alt.txt"] != nil && !renamed {
					renamed = true
					c.Do("PATCH", "/documents/"+letter, map[string]any{"name": "neu.txt"}, "If-Match", `"r1"`).Want(200)
				}
			})
		if !bytes.Equal(files["files/"+letter+"/alt.txt"], content) || files["files/"+letter+"/neu.txt"] != nil {
			t.Errorf("%d bytes of alt.txt: %q", len(files["files/"+letter+"/alt.txt"]), keys(files))
		}
	})
}

// TestLostFile checks a document whose file is missing in the store. The archive has a note about
// it, and the operator's log has an error.
func TestLostFile(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		lost, kept := c.Document("a.txt", "text/plain", []byte("verloren")), c.Document("b.txt", "text/plain", []byte("da"))
		o.Rest()
		for info, err := range o.Store.List(t.Context(), blob.Kept) {
			if err == nil && strings.HasSuffix(info.Name, "/"+lost) {
				err = o.Store.Delete(t.Context(), info.Name)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		files := byCommand(o).take("exports.organization", exports.Input{ID: o.SandboxID})
		if !strings.Contains(string(files["files/"+lost+"/fehlt.txt"]), "Betreiber") ||
			string(files["files/"+kept+"/b.txt"]) != "da" {
			t.Errorf("%q", keys(files))
		}
		if log := o.Logged.String(); !strings.Contains(log, "lacks the file") || !strings.Contains(log, lost) {
			t.Errorf("the log says %q", log)
		}
	})
}

// TestSmallFiles checks that one response has many small files.
func TestSmallFiles(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		want := map[string]string{}
		for i := range 30 {
			text := fmt.Sprintf("Brief %d", i)
			want["files/"+c.Document("brief.txt", "text/plain", []byte(text))+"/brief.txt"] = text
		}
		o.Rest()
		answers, known := 0, 0
		files := byCommand(o).parts(byCommand(o).begin("exports.organization", exports.Input{ID: o.SandboxID}).Cursor,
			func(files map[string][]byte) {
				n := 0
				for name := range files {
					if strings.HasPrefix(name, "files/") {
						n++
					}
				}
				if n > known {
					answers, known = answers+1, n
				}
			})
		for name, text := range want {
			if string(files[name]) != text {
				t.Errorf("%s: %q", name, files[name])
			}
		}
		if known != len(want) || answers != 2 {
			t.Errorf("%d files in %d answers", known, answers)
		}
	})
}

// shortFiles is a store whose files end before their size.
type shortFiles struct{ blob.Store }

type shortFile struct{ blob.Reader }

func (s shortFiles) Open(ctx context.Context, name string) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	return shortFile{r}, err
}

func (s shortFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.Reader.ReadAt(p, at)
	return max(0, min(n, int(s.Size()/2-at))), cmp.Or(err, io.EOF)
}

// TestShortFile checks that a file which ends before its size fails the export. Otherwise the
// archive would seem complete.
func TestShortFile(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store { return shortFiles{s} }))
		o.As(access.Admin).Document("a.txt", "text/plain", bytes.Repeat([]byte("x"), 1<<20))
		o.Rest()
		by := byCommand(o)
		cursor := by.begin("exports.organization", exports.Input{ID: o.SandboxID}).Cursor
		for {
			got := by.send("exports.parts", exports.PartsInput{Cursor: cursor})
			if got.Fault != nil {
				return
			}
			var next exports.Parts
			if err := json.Unmarshal(got.Body, &next); err != nil || next.Cursor == "" {
				t.Fatalf("the export ends: %v", err)
			}
			cursor = next.Cursor
		}
	})
}

// TestContactIsGone checks that an export about a contact fails after the contact was deleted, or
// if the caller no longer sees it.
func TestContactIsGone(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other := o.As(access.Member), o.As(access.Member)
		gone := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		private := c.Do("POST", "/contacts", map[string]any{"lastName": "Tal"}).Want(201).Text("id")
		by := inSandbox(o, other.Principal)
		first, second := by.begin("exports.contact",
			exports.Input{ID: gone}), by.begin("exports.contact", exports.Input{ID: private})
		c.Do("DELETE", "/contacts/"+gone, nil, "If-Match", `"r1"`).Want(204)
		c.Do("PATCH", "/contacts/"+private, map[string]any{"visibility": "private"}, "If-Match", `"r1"`).Want(200)
		for _, begun := range []exports.BeginOutput{first, second} {
			if got := by.send("exports.parts", exports.PartsInput{Cursor: begun.Cursor}); got.Status != 404 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}
	})
}

// TestContactLater checks that an export about a contact leaves out data that was created after
// its beginning.
func TestContactLater(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, boss := o.As(access.Member), o.As(access.Admin)
		anna := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		task := func(title string) {
			c.Do("POST", "/tasks", map[string]any{"title": title, "contactId": anna}).Want(201)
		}
		task("Vorher")
		c.Document("Vorher.txt", "text/plain", []byte("vorher"), map[string]any{"contactId": anna})
		o.Rest()
		by := inSandbox(o, boss.Principal)
		begun := by.begin("exports.contact", exports.Input{ID: anna})
		o.Clock.Advance(time.Second)
		task("Nachher")
		c.Document("Nachher.txt", "text/plain", []byte("nachher"), map[string]any{"contactId": anna})
		c.Do("PATCH", "/contacts/"+anna, map[string]any{"phone": "+49 221 1"}, "If-Match", `"r1"`).Want(200)
		by.begin("exports.contact", exports.Input{ID: anna})
		o.Rest()
		files := by.parts(begun.Cursor, nil)
		if got := members(t, files["tasks.jsonl"], "title"); !slices.Equal(got, []string{"Vorher"}) {
			t.Errorf("tasks: %q", got)
		}
		if got := members(t, files["documents.jsonl"], "name"); !slices.Equal(got, []string{"Vorher.txt"}) {
			t.Errorf("documents: %q", got)
		}
		for _, name := range []string{"tasks-history.jsonl", "contact-history.jsonl", "audit.jsonl"} {
			if n := len(lines(t, files[name])); n != 1 {
				t.Errorf("%s: %d lines: %s", name, n, files[name])
			}
		}
		for name, content := range files {
			if strings.Contains(name, "Nachher") || strings.Contains(string(content), "Nachher") {
				t.Errorf("%s: %s", name, content)
			}
		}
	})
}

// TestContactImports checks that a member gets only the imports that they began, and an admin
// gets all of them.
func TestContactImports(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other, boss := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		anna := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		for name, begun := range map[string]clock.Micros{
			"imp_1": clock.Now(o.Clock), "imp_later": clock.Now(o.Clock) + clock.Hour,
		} {
			insertImport(t, o, name, c.Principal, anna, begun)
		}
		for who, want := range map[string]int{c.Principal: 1, other.Principal: 0, boss.Principal: 1} {
			files := inSandbox(o, who).take("exports.contact", exports.Input{ID: anna})
			if got := members(t, files["imports.jsonl"], "importId"); len(got) != want {
				t.Errorf("%s learns of %q", who, got)
			}
		}
	})
}

// insertImport inserts an import in the sandbox that created a contact.
func insertImport(t *testing.T, o *apitest.Office, name, principal, contact string, begun clock.Micros) {
	t.Helper()
	err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		tx.Queue(`insert into imports (organization, id, principal, state, sealed_key, content, progress, requested_by, kind, door, request_id, created_at, expires_at, forgotten_at)
			select number, $2, $3, 'finished', '', '', '{}', $3, 'session', 'web', '', $4, 0, 0 from organizations where id = $1`, o.SandboxID, name, principal, begun)
		tx.Queue(`insert into import_lines (organization, import_id, number, line, content, state, record_id) 
			select number, $2, 1, 2, '', 'created', $3 from organizations where id = $1`, o.SandboxID, name, contact)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
