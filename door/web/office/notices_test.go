package office_test

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
	"kartei/kit/clock"
	"kartei/limit"
	"kartei/notify"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/patience"
	"kartei/work/job"
)

// told are two people who are told of limits, and what the notices are about.
type told struct {
	*apitest.Office
	owner, admin, key, grant string
	center                   *notify.Center
	mails                    string
}

// tell makes a key and a connected application of a person. The key and the person have used
// most of a quota, and the application all of it.
func tell(t *testing.T, o *apitest.Office) *told {
	t.Helper()
	w := &told{Office: o, owner: o.User(access.Member), admin: o.User(access.Admin), mails: filepath.Join(t.TempDir(), "mail")}
	made, err := o.Operator.CreateKey(t.Context(), settings.NewKey{Organization: o.ID, Principal: w.owner, Environment: access.Test, Name: "Spiegel", Scopes: []string{"contacts:read"}})
	if err != nil {
		t.Fatal(err)
	}
	application := newClient(t, o, "Fristenkalender")
	w.key, w.grant = made.ID, o.Connect(&application, w.owner, access.V1, "contacts:read").Grant.ID
	w.center = notify.New(notify.Options{
		DB: o.DB, Clock: o.Clock, Sender: notify.Files(w.mails), From: "kartei@example.com", Host: "kartei.example", BaseURL: "https://kartei.example",
		Vault: apitest.Keys.Vault(notify.MessagePurpose), PauseExhausted: true, Forms: api.NoticeForms(),
	})
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		in, err := access.OrganizationIn(t.Context(), tx, o.SandboxID)
		if err != nil {
			return err
		}
		low := limit.Alert{Organization: in.Number, Principal: w.owner, Policy: "deletes-day", Used: 240, Quota: 300, At: int64(clock.Now(o.Clock))}
		ofKey, ofGrant, ofPerson := low, low, low
		ofKey.Key = w.key
		ofGrant.Key, ofGrant.Exhausted = w.grant, true
		ofPerson.Key, ofPerson.Session, ofPerson.Policy = limit.Sessions(w.owner), true, "session-deletes-day"
		for _, a := range []limit.Alert{ofKey, ofGrant, ofPerson} {
			if err := w.center.Alert(t.Context(), tx, a); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

var (
	bellLink = regexp.MustCompile(`<a class="button" href="(/settings/[^"]+)"`)
	mailLink = regexp.MustCompile(`https://kartei\.example(/\S*)?`)
)

// mailed sends the emails, and returns the paths of their links by address.
func (w *told) mailed(t *testing.T, want int) map[string][]string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { job.NewRunner(w.DB, w.Clock, w.center.Handlers(), job.Options{}).Run(ctx) })
	defer running.Wait()
	defer stop()
	var files []string
	for watch := patience.New(); len(files) < want; {
		var err error
		if files, err = filepath.Glob(filepath.Join(w.mails, "*.eml")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-watch.Stuck(len(files)):
			t.Fatalf("%d of %d emails are sent", len(files), want)
		case <-time.After(10 * time.Millisecond):
			w.Clock.Advance(time.Second) // the runner looks again by this clock
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

// TestNoticesLeadToTheirCure follows the links of notices about a key, an application and the
// sessions of a person: in the bell of both environments, and in emails. Each leads its
// recipient to a page with the act against what it tells.
func TestNoticesLeadToTheirCure(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := tell(t, apitest.New(t, d, apitest.Replicas(1)))
		owner, admin := openAt(t, w.Office, "https://kartei.example"), openAt(t, w.Office, "https://kartei.example")
		owner.cookie, admin.cookie = w.Session(w.owner), w.Session(w.admin)
		w.Session(w.owner) // another one, which can be ended
		key, applications, person := keysPath+"/"+w.key, "/settings/interfaces/applications", peoplePath+"/"+w.owner
		mailed := w.mailed(t, 6)
		for _, r := range []struct {
			*browser
			principal string
			cures     map[string]string
		}{
			{owner, w.owner, map[string]string{key: `action="` + key + `/pause"`, applications: `action="` + applications + "/" + w.grant + `/end"`, security: `action="` + security + `/sessions/end"`}},
			{admin, w.admin, map[string]string{key: `action="` + key + `/pause"`, applications: `action="` + applications + "/" + w.grant + `/end"`, person: `href="` + person + `/leave"`}},
		} {
			var email string
			dbtest.Get(t, d, []any{&email}, `select email from principals where id = $1`, r.principal)
			links := map[string][]string{"email": mailed[email]}
			for _, bell := range []string{"/bell", "/sandbox/bell"} {
				for _, found := range bellLink.FindAllStringSubmatch(r.get(bell).want(200).main(), -1) {
					links[bell] = append(links[bell], found[1])
				}
			}
			for from, list := range links {
				for path, cure := range r.cures {
					if !slices.Contains(list, path) {
						t.Errorf("%s: the links %q lack %s", from, list, path)
					}
					r.get(path).want(200, cure)
				}
				for _, path := range list {
					r.get("/" + strings.TrimPrefix(path, "/")).want(200)
				}
			}
		}
		owner.get(key).send(key + "/pause").want(303)
		owner.get(security).send(security + "/sessions/end").want(303)
		admin.get(applications).send(applications + "/" + w.grant + "/end").want(303)
		owner.get("/contacts").want(200)
		admin.get(person + "/leave").send(person + "/leave").want(303)
		owner.get("/contacts").want(303)
	})
}
