package webhooks_test

import (
	"context"
	"io"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	apikey "kartei/integration/key"
	"kartei/integration/limit"
	"kartei/integration/oauth"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/account"
	"kartei/people/gains"
	"kartei/people/notify"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/waittest"
	"kartei/web/shell"
)

// audience has two people who get notices, and the ids of the objects of these notices.
type audience struct {
	*apitest.Office
	owner, admin, key, paused, grant, asked, failing, disabled, task string
	application                                                      grant.Client
	center                                                           *notify.Center
	mails                                                            string
}

// tell creates the objects of an owner: keys, a connected application, webhook endpoints and a
// task. It then posts a notice of each kind. The owner and one key have used most of a quota. The
// application and the other key have used a whole quota.
func tell(t *testing.T, o *apitest.Office) *audience {
	t.Helper()
	w := &audience{Office: o, owner: o.User(access.Member), admin: o.User(access.Admin), mails: filepath.Join(t.TempDir(), "mail")}
	for _, key := range []*string{&w.key, &w.paused} {
		made, err := o.Operator.CreateKey(t.Context(), apikey.New{Organization: o.ID, Principal: w.owner, Environment: access.Test, Name: "Spiegel", Scopes: []string{"contacts:read"}})
		if err != nil {
			t.Fatal(err)
		}
		*key = made.ID
	}
	w.application = pagetest.NewClient(t, o, "Fristenkalender")
	w.grant = o.Connect(&w.application, w.owner, access.V1, "contacts:read").Grant.ID
	program := &apitest.Client{Office: o, Principal: w.owner, Key: o.Key(w.owner)}
	for _, endpoint := range []*string{&w.failing, &w.disabled} {
		*endpoint = program.Do("POST", "/webhook_endpoints", map[string]any{"name": "Buchhaltung", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201).Text("id")
	}
	dbtest.Run(t, o.DB, `update webhook_endpoints set status = 'disabled', disabled_reason = 'gone' where id = $1`, w.disabled)
	live, err := o.Operator.CreateKey(t.Context(), apikey.New{Organization: o.ID, Principal: w.owner, Environment: access.Live, Scopes: []string{"tasks:read", "tasks:write"}, Networks: []string{"192.0.2.0/24"}})
	if err != nil {
		t.Fatal(err)
	}
	w.task = (&apitest.Client{Office: o, Principal: w.owner, Key: live.Key}).Do("POST", "/tasks", map[string]any{"title": "Anrufen", "assigneeId": w.owner}).Want(201).Text("id")
	w.center = notify.New(notify.Options{
		DB: o.DB, Clock: o.Clock, Sender: notify.Files(w.mails), From: "kartei@example.com", Host: "kartei.example", BaseURL: "https://kartei.example",
		Vault: apitest.Keys.Vault(notify.MessagePurpose), PauseExhausted: true, Forms: api.NoticeForms(),
	})
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error { return w.post(t, tx) }); err != nil {
		t.Fatal(err)
	}
	return w
}

// post posts the notices in a transaction.
func (w *audience) post(t *testing.T, tx db.Tx) error {
	in, err := access.OrganizationIn(t.Context(), tx, w.SandboxID)
	if err != nil {
		return err
	}
	low := limit.Alert{Organization: in.Number, Principal: w.owner, Policy: "deletes-day", Used: 240, Quota: 300, At: int64(clock.Now(w.Clock))}
	ofKey, ofGrant, ofPaused, ofPerson := low, low, low, low
	ofKey.Key = w.key
	ofGrant.Key, ofGrant.Exhausted = w.grant, true
	ofPaused.Key, ofPaused.Exhausted = w.paused, true
	ofPerson.Key, ofPerson.Session, ofPerson.Policy = limit.Sessions(w.owner), true, "session-deletes-day"
	for _, a := range []limit.Alert{ofKey, ofGrant, ofPaused, ofPerson} {
		if err := w.center.Alert(t.Context(), tx, a); err != nil {
			return err
		}
	}
	live, both, err := access.Audience(t.Context(), tx, in.Number, w.owner)
	if err != nil {
		return err
	}
	approved, err := grant.ApproveClient(t.Context(), tx, clock.Now(w.Clock), live, &w.application, w.owner, w.admin)
	if err != nil {
		return err
	}
	other := grant.Client{Kind: grant.Registered, Name: "Kalender", RedirectURIs: []string{"https://app.example/callback"}, Method: grant.NoSecret}
	if _, err := other.Store(t.Context(), tx, clock.Now(w.Clock)); err != nil {
		return err
	}
	asked, _, err := grant.AskFor(t.Context(), tx, clock.Now(w.Clock), live, &other, w.owner)
	if err != nil {
		return err
	}
	w.asked = asked.ID
	for _, n := range []struct {
		kind  notify.Kind
		to    []string
		facts any
	}{
		{oauth.TokenReused, both, oauth.ReuseFacts{Grant: w.grant}},
		{oauth.Connected, both, oauth.GrantFacts{Grant: w.grant, PrincipalID: w.owner, Scopes: []string{"contacts:read"}}},
		{oauth.EndsSoon, []string{w.owner}, oauth.GrantFacts{Grant: w.grant, PrincipalID: w.owner}},
		{oauth.NotRenewed, []string{w.owner}, oauth.GrantFacts{Grant: w.grant, PrincipalID: w.owner}},
		{oauth.Approved, []string{w.owner}, oauth.ApprovalFacts{Approval: approved.ID, Client: w.application.ID}},
		{oauth.AskedFor, []string{w.admin}, oauth.ApprovalFacts{Approval: asked.ID, Client: other.ID, PrincipalID: w.owner}},
		{webhook.IsFailing, []string{w.owner}, webhook.AlertFacts{Organization: w.ID, Endpoint: w.failing}},
		{webhook.WasDisabled, []string{w.owner}, webhook.AlertFacts{Organization: w.ID, Endpoint: w.disabled, Reason: webhook.Gone}},
		{task.IsDue, []string{w.owner}, task.DueFacts{Task: w.task, DueAt: clock.Now(w.Clock)}},
		{account.SignInChanged, []string{w.owner}, account.ChangeFacts{What: "password", At: clock.Now(w.Clock)}},
	} {
		if err := w.center.Post(t.Context(), tx, live, n.to, n.kind, n.facts); err != nil {
			return err
		}
	}
	return nil
}

var (
	mailLink = regexp.MustCompile(`https://kartei\.example(/\S*)?`)
)

// mailed sends the emails and waits until want of them are sent. It returns the paths of the links
// in them, by the address of the recipient.
func (w *audience) mailed(t *testing.T, want int) map[string][]string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { job.NewRunner(w.DB, w.Clock, w.center.Handlers(), job.Options{}).Run(ctx) })
	defer running.Wait()
	defer stop()
	var files []string
	for watch := waittest.New(); len(files) < want; {
		var err error
		if files, err = filepath.Glob(filepath.Join(w.mails, "*.eml")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-watch.Stuck(len(files)):
			t.Fatalf("%d of %d emails are sent", len(files), want)
		case <-time.After(10 * time.Millisecond):
			w.Clock.Advance(time.Second) // the runner reads this clock
		}
	}
	links := map[string][]string{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := mail.ReadMessage(f)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		to := strings.Trim(m.Header.Get("To"), "<>")
		for _, found := range mailLink.FindAllStringSubmatch(string(body), -1) {
			links[to] = append(links[to], found[1])
		}
	}
	return links
}

// cures has, for each kind of notice, the paths to which its links may lead. The value of a path is
// the HTML that the page must have.
type cures map[notify.Kind]map[string]string

// TestNoticesLeadToTheirCure follows the links of notices of every kind, in both environments and
// in emails. It checks that each link leads its recipient to a page on which the person can solve
// the problem.
func TestNoticesLeadToTheirCure(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := tell(t, apitest.New(t, d, apitest.Replicas(1)))
		mailed := w.mailed(t, 19) // this moves the clock, so people sign in after it
		owner, admin := pagetest.OpenAt(t, w.Office, "https://kartei.example"), pagetest.OpenAt(t, w.Office, "https://kartei.example")
		owner.Cookie, admin.Cookie = w.Session(w.owner), w.Session(w.admin)
		w.Session(w.owner) // another session that can be ended
		key, applications, person := shell.KeysPath+"/"+w.key, "/settings/interfaces/applications", shell.PeoplePath+"/"+w.owner
		request := applications + "/approvals/" + w.asked
		paused, hooks, due := shell.KeysPath+"/"+w.paused, "/settings/interfaces/webhooks/", "/tasks/"+w.task
		act := func(path, act string) map[string]string { return map[string]string{path: `action="` + act + `"`} }
		grant := act(applications, applications+"/"+w.grant+"/end")
		exhausted := map[string]string{applications: grant[applications], paused: `action="` + paused + `/resume"`}
		for _, r := range []struct {
			*pagetest.Browser
			principal string
			cures     cures
		}{
			{owner, w.owner, cures{
				notify.QuotaLow: act(key, key+"/pause"), notify.KeyPaused: exhausted, notify.SessionQuotaLow: act(pagetest.Security, pagetest.Security+"/sessions/end"), oauth.TokenReused: grant,
				oauth.Connected: grant, oauth.EndsSoon: act(applications, applications+"/"+w.grant+"/renew"),
				oauth.NotRenewed: {applications: `id="connected"`}, oauth.Approved: {applications: `id="approved"`}, // to connect it again
				webhook.IsFailing: act(hooks+w.failing, hooks+w.failing+"/test"), webhook.WasDisabled: act(hooks+w.disabled, hooks+w.disabled+"/enable"), task.IsDue: act(due, due+"/complete"),
				gains.AccessGiven:     {hooks + w.failing: `action="` + hooks + w.failing + `/test"`, hooks + w.disabled: `action="` + hooks + w.disabled + `/enable"`},
				account.SignInChanged: act(pagetest.Security+"/access", pagetest.Security+"/access/end"),
			}},
			{admin, w.admin, cures{
				notify.QuotaLow: act(key, key+"/pause"), notify.KeyPaused: exhausted, notify.SessionQuotaLow: {person: `href="` + person + `/leave"`}, oauth.TokenReused: grant,
				oauth.Connected: grant, oauth.AskedFor: act(request, request+"/approve"),
			}},
		} {
			for kind := range api.NoticeForms() {
				if r.principal == w.owner && r.cures[kind] == nil && kind != oauth.AskedFor { // for admins only
					t.Errorf("nothing is said of the cure of %s", kind)
				}
			}
			if posted := dbtest.Texts(t, d, `select distinct kind from notices where principal = $1`, r.principal); len(posted) != len(r.cures) {
				t.Errorf("the notices of %s are %q, and the cures %v", r.principal, posted, r.cures)
			}
			var email string
			dbtest.Get(t, d, []any{&email}, `select email from principals where id = $1`, r.principal)
			links := map[string][]string{"email": mailed[email]}
			for _, bell := range []string{"/bell", "/sandbox/bell"} {
				links[bell] = nil
				for _, found := range pagetest.BellLink.FindAllStringSubmatch(r.Get(bell).Want(200).Main(), -1) {
					links[bell] = append(links[bell], found[1])
				}
			}
			for from, list := range links {
				for kind, pages := range r.cures {
					for path, cure := range pages {
						there := slices.Contains(list, path) ||
							from == "/sandbox/bell" && kind == task.IsDue || // the task is not in the sandbox
							from == "email" && len(pages) > 1 && slices.Contains(list, "/bell") // one link may be to the bell
						if !there {
							t.Errorf("%s: the links %q of %s lack %s", from, list, kind, path)
						}
						r.Get(path).Want(200, cure)
					}
				}
				for _, path := range list {
					r.Get("/" + strings.TrimPrefix(path, "/")).Want(200)
				}
			}
		}
		owner.Get(key).Send(key + "/pause").Want(303)
		owner.Get(pagetest.Security).Send(pagetest.Security + "/sessions/end").Want(303)
		owner.Get(applications).Send(applications + "/" + w.grant + "/renew").Want(303)
		admin.Get(request).Send(request + "/approve").Want(303)
		admin.Get(applications).Send(applications + "/" + w.grant + "/end").Want(303)
		owner.Get("/contacts").Want(200)
		admin.Get(person + "/leave").Send(person + "/leave").Want(303)
		owner.Get("/contacts").Want(303)
	})
}
