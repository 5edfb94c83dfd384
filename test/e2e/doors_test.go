package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/api"
	"kartei/people/audit"
	"kartei/test/waittest"
	"kartei/test/webtest"
	"kartei/transfer/imports"
)

// TestTwoDoors does each act on a page in one office, and by a command in an equal office. The
// state afterwards and the entry in the audit log must be the same.
func TestTwoDoors(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, _ string, store ...string) {
		receivers := http.NewServeMux()
		receiver := httptest.NewTLSServer(receivers)
		t.Cleanup(receiver.Close)
		at := freePort(t)
		flags := append(towards(t, receiver), "--smtp-url", "smtp://127.0.0.1:1", "--listen", at, "--operator-listen",
			"127.0.0.1:0", "--base-url", "http://"+at, "--log-format", "json")
		served, err := launchCommand(command(slices.Concat([]string{"serve", "--no-metered"}, store, flags)...))
		if err != nil {
			t.Fatal(err)
		}
		served.endsWith(t)
		pages, line := newDoorOffice(t, served, receivers, "one.example",
			store), newDoorOffice(t, served, receivers, "two.example", store)
		for _, a := range doorActs {
			a.page(pages)
			atPage := pages.seen(a)
			kartei(t, line.on(a.command(line)...)...)
			byCommand := line.seen(a)
			if atPage != byCommand {
				t.Errorf("%s at a page:\n%+v\nby the command line:\n%+v", a.row, atPage, byCommand)
			}
		}
	}
	eachEngine(t, each)
}

// TestEachActHasTwoDoors checks that TestTwoDoors covers each operation outside the contract, or
// that there is a reason why not.
func TestEachActHasTwoDoors(t *testing.T) {
	elsewhere := map[string]string{
		"people.create":      "has no page: people are invited",
		"invitations.accept": "has no command: the person accepts with the link",
		"bell.read":          "writes no line",
		"grants.end":         "is tried by TestApplications",
		"clients.approve":    "is tried by TestConsentOfKnown",
		"clients.disapprove": "as clients.approve",
		"webhooks.create":    "at a page for oneself, by the command line for anybody: TestWebhookCommands",
		"webhooks.change":    "as webhooks.create",
		"webhooks.rotate":    "as webhooks.create",
		"webhooks.delete":    "as webhooks.create",
	}
	for _, r := range api.Unpublished {
		both := slices.Contains(r.Doors, api.Web) && slices.Contains(r.Doors, api.Admin)
		if r.Act != "administer" {
			continue
		}
		if !both {
			family, _, _ := strings.Cut(r.ID, ".")
			if _, known := oneDoor[family]; !known && oneDoor[r.ID] == "" {
				t.Errorf("%s has one door, and oneDoor does not say why", r.ID)
			}
			continue
		}
		tried := slices.ContainsFunc(doorActs, func(a doorAct) bool { return a.row == r.ID })
		if why, excepted := elsewhere[r.ID]; tried == excepted {
			t.Errorf("%s: tried %t, and %q", r.ID, tried, why)
		}
	}
}

// oneDoor maps an operation, or the first part of its id, to the reason why it has only a page or
// only a command.
var oneDoor = map[string]string{
	"access.end":    "ends what acts for the caller's own account",
	"grants.renew":  "a person renews a connection of their own",
	"exports.audit": "a file of the log; the command line prints the log",
	"signin":        "people sign in with a browser", "session": "as signin", "sessions": "as signin",
	"factors": "as signin", "account": "as signin", "profile": "as signin",
	"oauth":                "applications and the people who let them in, with a browser",
	"webhooks.test":        "programs and people test by the API",
	"bulk":                 "a change of a whole list is what its clerk sees; programs have batches",
	"lookup.dismiss":       "who looks at two records decides whether they are the same",
	"lookup.conflicts":     "who takes a case asks, and nobody asks for others; a program finds names by q",
	"merges":               "who merged two records undoes it and sees both; programs merge by the API",
	"exports.begin":        "a list as its clerk sees it",
	"organizations":        "creating and erasing is for the operator",
	"people.resetPassword": "prints a link, which nobody but the operator gets",
	"people.unlink":        "cures a wrong link with a provider, which needs the operator",
	"jobs.retry":           "jobs are the operator's",
}

// doorAct is an act of an admin, done on a page and by a command.
type doorAct struct {
	row string
	// page does the act on pages. command returns the command line for it.
	page    func(o *doorOffice)
	command func(o *doorOffice) []string
	// show returns the command that shows the state of the changed object.
	show func(o *doorOffice) []string
	// made is the name under which the id of a new object is stored for the acts that follow.
	made string
}

const (
	people     = "/settings/people"
	accounts   = "/settings/service-accounts"
	interfaces = "/settings/interfaces"
	data       = "/settings/data"
)

var doorActs = []doorAct{
	{row: "organizations.set", show: shows("org"),
		page: func(o *doorOffice) {
			o.fill("/settings/organization", "/settings/organization", "name", "Kanzlei Neu", "secondFactor", "optional",
				"level", "read")
		},
		command: func(o *doorOffice) []string {
			return []string{"org", "set", o.id("org"), "--name", "Kanzlei Neu", "--level", "read"}
		}},
	{row: "people.invite", show: invitations, made: "invitation",
		page: func(o *doorOffice) {
			o.fill(people+"/invite", people+"/invite", "email", "gast@example.com", "role", "viewer", "right.contacts", "read")
		},
		command: func(o *doorOffice) []string {
			return []string{
				"user", "invite", "--org", o.id("org"), "--email", "gast@example.com", "--role", "viewer",
				"--language", "de", "--rights", "contacts=read", "--mail",
			}
		}},
	{row: "invitations.revoke", show: invitations,
		page: func(o *doorOffice) { o.fill(people, people+"/invitations/"+o.id("invitation")+"/revoke") },
		command: func(o *doorOffice) []string {
			return []string{"invitation", "revoke", o.id("invitation")}
		}},
	{row: "people.set", show: shows("user"),
		page: func(o *doorOffice) {
			o.fill(people+"/"+o.id("user"), people+"/"+o.id("user"), "name", "Ida Morgen", "email", "morgen@example.com",
				"language", "en", "role", "viewer", "right.contacts", "none")
		},
		command: func(o *doorOffice) []string {
			return []string{
				"user", "set", o.id("user"), "--name", "Ida Morgen", "--email", "morgen@example.com", "--language",
				"en", "--role", "viewer", "--rights", "contacts=none",
			}
		}},
	{row: "people.set", show: shows("user"), // disables the user
		page: func(o *doorOffice) {
			at := people + "/" + o.id("user") + "/leave"
			o.fill(at, at)
		},
		command: func(o *doorOffice) []string { return []string{"user", "set", o.id("user"), "--disable"} }},
	{row: "people.set", show: shows("user"), // enables the user
		page:    func(o *doorOffice) { o.fill(people+"/"+o.id("user"), people+"/"+o.id("user")+"/enable") },
		command: func(o *doorOffice) []string { return []string{"user", "set", o.id("user"), "--enable"} }},
	{row: "people.handOver", show: shows("user"),
		page: func(o *doorOffice) {
			at := people + "/" + o.id("user") + "/leave"
			o.fill(at, at, "to", o.id("boss"), "private", "true")
		},
		command: func(o *doorOffice) []string {
			return []string{"user", "hand-over", o.id("user"), "--to", o.id("boss"), "--private", "--disable"}
		}},
	{row: "people.erase", show: shows("user"),
		page: func(o *doorOffice) {
			o.handedOver()
			at := people + "/" + o.id("user") + "/erase"
			o.fill(at, at, "name", "Ida Morgen")
		},
		command: func(o *doorOffice) []string {
			o.handedOver()
			return []string{"user", "erase", o.id("user"), "--yes"}
		}},
	{row: "people.resetFactors", show: func(o *doorOffice) []string { return []string{"user", "show", o.id("second")} },
		page:    func(o *doorOffice) { o.fill(people+"/"+o.id("second"), people+"/"+o.id("second")+"/factors") },
		command: func(o *doorOffice) []string { return []string{"user", "reset-factors", o.id("second")} }},
	{row: "serviceAccounts.create", show: shows("service-account"), made: "service-account",
		page: func(o *doorOffice) {
			o.fill(accounts+"/new", accounts+"/new", "name", "Abgleich", "role", "viewer", "right.tasks", "none")
		},
		command: func(o *doorOffice) []string {
			return []string{
				"service-account", "create", "--org", o.id("org"), "--name", "Abgleich", "--role", "viewer",
				"--rights", "tasks=none",
			}
		}},
	{row: "serviceAccounts.set", show: shows("service-account"),
		page: func(o *doorOffice) {
			at := accounts + "/" + o.id("service-account")
			o.fill(at, at, "name", "Nachts")
		},
		command: func(o *doorOffice) []string {
			return []string{"service-account", "set", o.id("service-account"), "--name", "Nachts"}
		}},
	{row: "keys.create", show: shows("key"), made: "key",
		page: func(o *doorOffice) {
			o.fill(interfaces+"/keys/new?env=test&scopes=contacts:read&name=Spiegel&days=30", interfaces+"/keys/new")
		},
		command: func(o *doorOffice) []string {
			return []string{
				"key", "create", "--org", o.id("org"), "--principal", o.id("boss"), "--env", "test", "--scopes",
				"contacts:read", "--name", "Spiegel", "--expires-in", "30d",
			}
		}},
	{row: "keys.update", show: shows("key"),
		page: func(o *doorOffice) {
			o.fill(o.keyPage(), o.keyPage(), "name", "Abgleich", "networks", "192.0.2.0/24", "days", "7")
		},
		command: func(o *doorOffice) []string {
			return []string{"key", "set", o.id("key"), "--name", "Abgleich", "--ip", "192.0.2.0/24", "--expires-in", "7d"}
		}},
	{row: "keys.pause", show: shows("key"),
		page:    func(o *doorOffice) { o.fill(o.keyPage(), o.keyPage()+"/pause") },
		command: func(o *doorOffice) []string { return []string{"key", "pause", o.id("key")} }},
	{row: "keys.resume", show: shows("key"),
		page:    func(o *doorOffice) { o.fill(o.keyPage(), o.keyPage()+"/resume") },
		command: func(o *doorOffice) []string { return []string{"key", "resume", o.id("key")} }},
	{row: "keys.rotate", show: shows("key"),
		page:    func(o *doorOffice) { o.fill(o.keyPage(), o.keyPage()+"/rotate") },
		command: func(o *doorOffice) []string { return []string{"key", "rotate", o.id("key")} }},
	{row: "keys.revoke", show: shows("key"),
		page:    func(o *doorOffice) { o.fill(o.keyPage()+"/revoke", o.keyPage()+"/revoke") },
		command: func(o *doorOffice) []string { return []string{"key", "revoke", o.id("key")} }},
	{row: "keys.revoke", show: showsEndpoint, // together with the endpoints that the key has created
		page: func(o *doorOffice) {
			at := interfaces + "/keys/" + o.id("maker") + "/revoke"
			o.fill(at, at, "disable", "true")
		},
		command: func(o *doorOffice) []string {
			return []string{"key", "revoke", o.id("maker"), "--endpoints", "disable"}
		}},
	{row: "clients.create", show: clients, made: "client",
		page: func(o *doorOffice) {
			at := interfaces + "/applications/new"
			o.fill(at, at, "name", "Fax", "principalId", o.id("service-account"), "environment", "test", "scopes",
				"contacts:read")
		},
		command: func(o *doorOffice) []string {
			return []string{
				"client", "create", "--org", o.id("org"), "--name", "Fax", "--service-account",
				o.id("service-account"), "--scopes", "contacts:read",
			}
		}},
	{row: "clients.rotate", show: clients,
		page: func(o *doorOffice) {
			o.fill(interfaces+"/applications", interfaces+"/applications/"+o.id("client")+"/rotate")
		},
		command: func(o *doorOffice) []string { return []string{"client", "rotate", o.id("client")} }},
	{row: "clients.set", show: clients, // disables the application
		page: func(o *doorOffice) {
			o.fill(interfaces+"/applications", interfaces+"/applications/"+o.id("client")+"/disable")
		},
		command: func(o *doorOffice) []string { return []string{"client", "disable", o.id("client")} }},
	{row: "clients.set", show: clients, // enables the application
		page: func(o *doorOffice) {
			o.fill(interfaces+"/applications", interfaces+"/applications/"+o.id("client")+"/enable")
		},
		command: func(o *doorOffice) []string { return []string{"client", "enable", o.id("client")} }},
	{row: "webhooks.enable", show: showsEndpoint,
		page: func(o *doorOffice) {
			at := interfaces + "/webhooks/" + o.id("endpoint")
			o.fill(at, at+"/enable")
		},
		command: func(o *doorOffice) []string {
			return []string{"webhook", "enable", o.id("endpoint"), "--org", o.SandboxID}
		}},
	{row: "webhooks.resend", show: showsAttempts("contact's event", 200), // all events of a period
		page: func(o *doorOffice) {
			o.resend("since", time.Now().Add(-24*time.Hour).Format("2006-01-02T15:04"))
		},
		command: func(o *doorOffice) []string {
			return []string{"webhook", "resend", o.id("endpoint"), "--org", o.SandboxID, "--since", "24h"}
		}},
	{row: "webhooks.enable", show: showsAttempts("refused", 200, 410), // with the missed events and the failed ones
		page: func(o *doorOffice) {
			o.refuses("refused")
			o.happens("missed")
			at := interfaces + "/webhooks/" + o.id("endpoint")
			if button := `name="missed" value="1"`; !strings.Contains(o.get(at), button) {
				o.Errorf("%s has no button %s", at, button)
			}
			o.fill(at, at+"/enable", "missed", "1")
		},
		command: func(o *doorOffice) []string {
			o.refuses("refused")
			o.happens("missed")
			return []string{"webhook", "enable", o.id("endpoint"), "--org", o.SandboxID, "--missed"}
		}},
	{row: "webhooks.resend", show: showsAttempts("missed", 200, 200), // one event
		page: func(o *doorOffice) {
			o.attempted("missed", 200)
			o.resend("event", o.id("missed"))
		},
		command: func(o *doorOffice) []string {
			o.attempted("missed", 200)
			return []string{"webhook", "resend", o.id("endpoint"), "--org", o.SandboxID, "--event", o.id("missed")}
		}},
	{row: "webhooks.resend", show: showsFailed, // all failed events
		page: func(o *doorOffice) {
			o.refuses("failed")
			kartei(o.TB, o.on("webhook", "enable", o.id("endpoint"), "--org", o.SandboxID)...)
			o.resend("failed", "1")
		},
		command: func(o *doorOffice) []string {
			o.refuses("failed")
			kartei(o.TB, o.on("webhook", "enable", o.id("endpoint"), "--org", o.SandboxID)...)
			return []string{"webhook", "resend", o.id("endpoint"), "--org", o.SandboxID, "--failed"}
		}},
	{row: "imports.create", show: showsImport, made: "import",
		page: func(o *doorOffice) { o.sendFile(data+"/new", "umzug.csv", movedIn) },
		command: func(o *doorOffice) []string {
			file := filepath.Join(o.TempDir(), "umzug.csv")
			if err := os.WriteFile(file, []byte(movedIn), 0o600); err != nil {
				o.Fatal(err)
			}
			return []string{"import", "start", file, "--org", o.id("org"), "--for", o.id("boss")}
		}},
	{row: "imports.run", show: showsImport,
		page: func(o *doorOffice) {
			at := data + "/" + o.id("import")
			o.importIs(imports.Mapping)
			o.fill(at, at+"/columns")
			o.importIs(imports.Checked)
			o.fill(at, at+"/run")
			o.importIs(imports.Finished)
		},
		command: func(o *doorOffice) []string {
			kartei(o.TB, o.on("import", "check", o.id("import"), "--org", o.id("org"))...)
			return []string{"import", "run", o.id("import"), "--org", o.id("org")}
		}},
	{row: "imports.undo", show: showsImport,
		page: func(o *doorOffice) {
			at := data + "/" + o.id("import") + "/undo"
			o.fill(at, at)
			o.importIs(imports.Undone)
		},
		command: func(o *doorOffice) []string {
			return []string{"import", "undo", o.id("import"), "--org", o.id("org")}
		}},
	{row: "exports.contact", show: shows("org"),
		page: func(o *doorOffice) {
			at := "/sandbox/contacts/" + o.id("contact") + "/access"
			o.fill(at, at)
		},
		command: func(o *doorOffice) []string {
			return []string{"contact", "export", o.id("contact"), "--org", o.SandboxID, "--output", o.newFile()}
		}},
	{row: "exports.person", show: func(o *doorOffice) []string { return []string{"user", "show", o.id("boss")} },
		page: func(o *doorOffice) { o.fill(data, data+"/person", "id", o.id("boss")) },
		command: func(o *doorOffice) []string {
			return []string{"user", "export", o.id("boss"), "--output", o.newFile()}
		}},
	{row: "exports.organization", show: shows("org"),
		page: func(o *doorOffice) { o.fill(data, data+"/organization") },
		command: func(o *doorOffice) []string {
			return []string{"org", "export", o.id("org"), "--output", o.newFile()}
		}},
}

// movedIn is the content of the imported file.
const movedIn = "Nachname;Mobil\nBerg;0171 1\nHaas;0171 2\n"

// shows returns the command that shows the object with this name, which is also the command's noun.
func shows(name string) func(o *doorOffice) []string {
	return func(o *doorOffice) []string { return []string{name, "show", o.id(name)} }
}

func invitations(o *doorOffice) []string { return []string{"invitation", "list", "--org", o.id("org")} }

func clients(o *doorOffice) []string { return []string{"client", "list", "--org", o.id("org")} }

func showsImport(o *doorOffice) []string {
	return []string{"import", "show", o.id("import"), "--org", o.id("org")}
}

func showsEndpoint(o *doorOffice) []string {
	return []string{"webhook", "show", o.id("endpoint"), "--org", o.SandboxID}
}

// showsAttempts waits until an event was sent to the endpoint with these response statuses, the
// newest first. It returns the command that shows the attempts.
func showsAttempts(event string, answers ...int) func(o *doorOffice) []string {
	return func(o *doorOffice) []string {
		o.attempted(event, answers...)
		return []string{"webhook", "event", o.id(event), "--org", o.SandboxID}
	}
}

// showsFailed waits for the attempts at the failed event. Events that were delivered before must
// not be sent again.
func showsFailed(o *doorOffice) []string {
	o.Helper()
	o.attempted("failed", 200, 410)
	o.attempted("contact's event", 200)
	o.attempted("refused", 200, 410)
	o.attempted("missed", 200, 200)
	return showsAttempts("failed", 200, 410)(o)
}

// doorOffice is an office whose admin uses pages and commands.
type doorOffice struct {
	person
	office
	store []string
	// domain is the domain of the people's email addresses.
	domain string
	ids    map[string]string
	// program creates the contacts of the sandbox. receiver gets their events.
	program  client
	receiver *hook
	secret   string
}

func newDoorOffice(t *testing.T, served *server, receivers *http.ServeMux, domain string, store []string) *doorOffice {
	t.Helper()
	o := &doorOffice{
		person: person{TB: t, server: served},
		office: found(t, store...),
		store:  store,
		domain: domain,
		ids:    map[string]string{},
	}
	o.ids["org"], o.ids["sandbox"] = o.ID, o.SandboxID
	second := person{TB: t, server: served}
	second.accept(o.on("user", "invite", "--org", o.ID, "--email", "second@"+domain)...)
	o.accept(o.on("user", "invite", "--org", o.ID, "--email", "boss@"+domain, "--role", "admin")...)
	for _, p := range read[struct{ Data []struct{ ID, Email string } }](t, o.on("user", "list", "--org", o.ID)...).Data {
		if name, found := strings.CutSuffix(p.Email, "@"+domain); found {
			o.ids[name] = p.ID
		}
	}
	o.ids["user"] = read[struct{ ID string }](t,
		o.on("user", "create", "--org", o.ID, "--name", "Ida Abend", "--email", "ida@example.com")...).ID
	maker := read[struct{ ID, Key string }](t,
		o.on("key", "create", "--org", o.ID, "--principal", o.ids["boss"], "--env", "test", "--ip", "127.0.0.1/32",
			"--scopes", "contacts:read,contacts:write,webhook_endpoints:read,webhook_endpoints:write")...)
	o.ids["maker"] = maker.ID
	o.program = client{
		t, served,
		read[struct{ Key string }](t, o.on("key", "create", "--org", o.ID, "--principal", o.ids["boss"], "--env", "test",
			"--ip", "127.0.0.1/32", "--scopes", "contacts:read,contacts:write")...).Key,
	}
	o.ids["contact"] = o.happens("contact's event")
	var endpoint struct{ ID, Secret string }
	decode(t, string((client{t, served, maker.Key}).call("POST", "/webhook_endpoints",
		`{"name":"CRM","url":"https://`+postHost+`/`+domain+`","eventTypes":["contact.created"]}`, 201, "",
		"Idempotency-Key", "endpoint").Body), &endpoint)
	o.ids["endpoint"], o.secret = endpoint.ID, endpoint.Secret
	o.receiver = &hook{TB: t, took: make(chan string, 100)}
	o.receiver.answers(o.secret, http.StatusOK)
	receivers.Handle("/"+domain, o.receiver)
	return o
}

func (o *doorOffice) on(args ...string) []string { return slices.Concat(args, o.store) }

func (o *doorOffice) id(name string) string {
	o.Helper()
	if o.ids[name] == "" {
		o.Fatalf("nothing is named %q", name)
	}
	return o.ids[name]
}

func (o *doorOffice) keyPage() string { return interfaces + "/keys/" + o.id("key") }

// happens creates a contact in the sandbox. It stores the id of its event under the name event.
func (o *doorOffice) happens(event string) (contact string) {
	o.Helper()
	contact = o.program.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", event).Text("id")
	var feed page[feedEntry]
	if decode(o.TB, string(o.program.call("GET", "/events?limit=1", "", 200, "").Body),
		&feed); feed.Data[0].Data.ID != contact {
		o.Fatalf("the last event is %+v, want that of %s", feed.Data[0], contact)
	}
	o.ids[event] = feed.Data[0].ID
	return contact
}

// attempted waits until an event was sent with these response statuses, the newest first. It
// returns the state of the endpoint.
func (o *doorOffice) attempted(event string, answers ...int) (status string) {
	o.Helper()
	for watch := waittest.New(); ; {
		tried := read[struct {
			Data []struct {
				Status   string
				Attempts []struct{ ResponseStatus int }
			}
		}](o.TB, o.on("webhook", "event", o.id(event), "--org", o.SandboxID)...).Data
		var got []int
		if len(tried) == 1 {
			status = tried[0].Status
			for _, a := range tried[0].Attempts {
				got = append(got, a.ResponseStatus)
			}
		}
		if slices.Equal(got, answers) {
			return status
		}
		if len(got) > len(answers) || watch.IsStuck(got) {
			o.Fatalf("%s was answered %v, want %v", event, got, answers)
		}
	}
}

// refuses lets the receiver respond to an event with 410 Gone, which disables the endpoint.
// Afterwards the receiver accepts events again.
func (o *doorOffice) refuses(event string) {
	o.Helper()
	o.receiver.answers(o.secret, http.StatusGone)
	o.happens(event)
	if status := o.attempted(event, http.StatusGone); status != "disabled" {
		o.Fatalf("after 410 Gone the endpoint is %s", status)
	}
	o.receiver.answers(o.secret, http.StatusOK)
}

// resend sends the form of the endpoint's page that has this field: for one event, for all failed
// events, or for a period. It fills in the field if it is empty.
func (o *doorOffice) resend(field, value string) {
	o.Helper()
	at := interfaces + "/webhooks/" + o.id("endpoint")
	shown := o.get(at)
	for _, f := range webtest.Forms(shown) {
		if f.Action != at+"/resend" || !f.Fields.Has(field) {
			continue
		}
		if f.Fields.Get(field) == "" {
			f.Fields.Set(field, value)
		}
		if f.Fields.Get(field) == value {
			o.body(o.browser.PostForm(o.server.URL+f.Action, f.Fields))
			return
		}
	}
	o.Fatalf("%s has no form with %s=%s: %.3000s", at, field, value, shown)
}

// handedOver waits until the hand-over from the user is finished.
func (o *doorOffice) handedOver() {
	o.Helper()
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
		status := read[struct {
			Data []struct{ FinishedAt *string }
		}](o.TB, o.on("user", "hand-over-status", o.id("user"))...).Data
		if len(status) == 1 && status[0].FinishedAt != nil {
			return
		}
		if watch.IsStuck(status) {
			o.Fatalf("the hand-over does not end: %+v", status)
		}
	}
}

// importIs waits until the import has this state.
func (o *doorOffice) importIs(want imports.State) {
	o.Helper()
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
		x := read[imports.Import](o.TB, o.on("import", "show", o.id("import"), "--org", o.id("org"))...)
		if x.State == want {
			return
		}
		if watch.IsStuck(x) {
			o.Fatalf("the import does not become %s: %+v", want, x)
		}
	}
}

// newFile returns the path of a file that does not exist.
func (o *doorOffice) newFile() string { return filepath.Join(o.TempDir(), "export.zip") }

// actTrace is the state and the audit entry after an act. Names replace the ids in both.
type actTrace struct{ state, line string }

// seen returns the trace of the newest act. If the act has made an object, seen stores its id under
// the name a.made.
func (o *doorOffice) seen(a doorAct) actTrace {
	o.Helper()
	lines := read[struct{ Data []audit.Line }](o.TB, o.on("audit", "--limit", "10")...).Data
	lines = slices.DeleteFunc(lines, func(l audit.Line) bool { return l.Door == "job" }) // a hand-over ends in a job, at any time
	l := lines[0]
	if l.Operation != a.row {
		o.Fatalf("the newest line is about %s, want %s", l.Operation, a.row)
	}
	if a.made != "" {
		o.ids[a.made] = l.Target
	}
	changes, err := json.Marshal(l.Changes)
	if err != nil {
		o.Fatal(err)
	}
	return actTrace{
		o.named(kartei(o.TB, append(o.on(a.show(o)...), "--json")...)),
		o.named(fmt.Sprintln(l.Word, l.OrganizationID, l.Target, string(changes))),
	}
}

// varying matches times, random values and actors, which differ between the offices.
var varying = regexp.MustCompile(`"responseTimeMs":\d+|"\d{4}-\d\d-\d\dT[^"]*"|\b\d{16}\b|"kidShort":"[^"]*"|"invitedBy":"[^"]*"|"madeBy":"[^"]*"|\b[a-z]{3}_[0-9a-z]{26}\b`)

// named returns a text with names in place of ids. It removes everything that varying matches.
func (o *doorOffice) named(text string) string {
	for name, id := range o.ids {
		text = strings.ReplaceAll(text, id, "<"+name+">")
	}
	return varying.ReplaceAllString(strings.ReplaceAll(text, o.domain, "<domain>"), "<>")
}
