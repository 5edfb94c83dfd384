package dispatch

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestAlertsComeOnce checks that one notice is sent if several processes find that an endpoint
// fails. The notice goes to the owner in the owner's language. For a service account, it goes to
// the admins.
func TestAlertsComeOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		service, err := o.Operator.CreateServiceAccount(ctx, principal.New{Organization: o.Info.ID, Name: "Abgleich"})
		must(t, err)
		_, err = o.Operator.SetUser(ctx, principal.Change{ID: o.Admin, Language: endpointtest.As("en")})
		must(t, err)
		o.Endpoint()
		o.EndpointOf(service.ID)
		o.answer = func(Message) Outcome { return Outcome{Code: webhook.Timeout} }
		couriers := []*Dispatcher{}
		for range 3 {
			disp, _ := o.dispatcher()
			couriers = append(couriers, disp)
		}
		o.Event()
		pass := func(d time.Duration) {
			for range 6 {
				o.Clock.Advance(d / 6)
				for _, disp := range couriers {
					o.idle(disp)
				}
			}
		}
		pass(0)
		pass(24 * time.Hour)
		want := []string{"admin failing", "owner failing"}
		if got := slices.Sorted(slices.Values(o.Told())); !slices.Equal(got, want) {
			t.Fatalf("after 24 hours %v", got)
		}
		pass(48 * time.Hour)
		want = []string{"admin disabled no_success", "admin failing", "owner disabled no_success", "owner failing"}
		if got := slices.Sorted(slices.Values(o.Told())); !slices.Equal(got, want) {
			t.Fatalf("after 72 hours %v", got)
		}
		bell, err := o.Bell(o.Notices(), notify.BellInput{Organization: o.Info.ID})
		must(t, err)
		for _, e := range bell.Data {
			if !strings.Contains(e.Title, " whe_") || strings.Contains(e.Title, "CRM") {
				// the title must not contain names that people chose
				t.Errorf("the title is %s", e.Title)
			}
			text := e.Title + "\n" + e.Text
			for _, word := range map[string][]string{
				o.Owner: {"den Webhook-Endpunkt „CRM“ von Kanzlei", "2026-11-02 09:00 (UTC)", "whe_"},
				o.Admin: {"“CRM” of Kanzlei", "2026-11-02 09:00 (UTC)", "whe_"},
			}[e.PrincipalID] {
				if !strings.Contains(text, word) {
					t.Errorf("%s is not in:\n%s", word, text)
				}
			}
			if strings.Contains(text, "example.com") || strings.Contains(text, "%!") {
				t.Errorf("in the notice stands:\n%s", text)
			}
		}
	})
}

// TestEmailsHaveNoNames checks that an email about an endpoint has no names that people chose.
// Otherwise the name of an endpoint could bring a malicious link to the admins.
func TestEmailsHaveNoNames(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		const words = "Konto gesperrt https://boese.example/anmelden"
		for id, language := range map[string]string{o.Owner: "de", o.Admin: "en"} {
			_, err := o.Operator.SetUser(ctx, principal.Change{
				ID: id, Name: endpointtest.As(words), Language: endpointtest.As(language),
			})
			must(t, err)
		}
		o.Set(organization.Change{Name: endpointtest.As(words)})
		service, err := o.Operator.CreateServiceAccount(ctx, principal.New{Organization: o.Info.ID, Name: words})
		must(t, err)
		mine, theirs := o.Endpoint(), o.EndpointOf(service.ID)
		o.Exec(`update webhook_endpoints set name = $2, url = 'https://boese.example/anmelden' where organization = $1`,
			o.Organization, words)
		dir := filepath.Join(t.TempDir(), "mail")
		resting := clock.NewFake(o.Clock.Now()) // a second clock, so that the test can wait until it has no waiters
		center := notify.New(notify.Options{DB: d, Clock: resting, Forms: webhook.Forms, Sender: notify.Files(dir),
			From: "kartei@example.com", Host: "kartei.example",
			BaseURL: "https://kartei.example"})
		disp, _ := o.dispatcher()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		o.Event()
		for range 6 { // the endpoint fails, then is disabled
			o.idle(disp)
			o.Clock.Advance(12 * time.Hour)
		}
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: webhook.HTTPStatus} }
		o.Event()
		o.idle(disp)
		resting.Advance(o.Clock.Now().Sub(resting.Now()))
		running, cancel := context.WithCancel(ctx)
		var ground sync.WaitGroup
		ended := make(chan string, 10)
		runner := job.NewRunner(d, resting, center.Handlers(), job.Options{
			Observe: func(_, outcome string, _ time.Duration) { ended <- outcome },
		})
		ground.Go(func() { runner.Run(running) })
		for range 4 { // two kinds of emails for each of two people
			if outcome := <-ended; outcome != job.Finished {
				t.Errorf("an email ended as %s", outcome)
			}
		}
		cancel()
		ground.Wait()
		files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
		must(t, err)
		if len(files) != 4 {
			t.Fatalf("%d emails, want one each of two kinds to two people", len(files))
		}
		for _, name := range files {
			file, err := os.Open(name)
			must(t, err)
			m, err := mail.ReadMessage(file)
			must(t, err)
			heading, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			must(t, err)
			body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
			must(t, err)
			file.Close()
			all := fmt.Sprint(m.Header, "\n", heading, "\n", string(body))
			for _, word := range []string{"gesperrt", "boese", "anmelden"} {
				if strings.Contains(all, word) {
					t.Errorf("%s is in:\n%s", word, all)
				}
			}
			if !strings.Contains(heading, mine) && !strings.Contains(heading, theirs) || !strings.Contains(all, o.Info.ID) ||
				!strings.Contains(all, "\nhttps://kartei.example/settings/interfaces/webhooks/whe_") ||
				strings.Contains(all, "%!") {
				t.Errorf("%s", all)
			}
		}
		bell, err := o.Bell(center, notify.BellInput{Organization: o.Info.ID})
		must(t, err)
		for _, e := range bell.Data {
			if !strings.Contains(e.Text, words) {
				t.Errorf("the bell says %s", e.Text)
			}
		}
	})
}

// TestInstructionsOfTheNotice checks that the instructions in the notice of a disabled endpoint
// recover all events. They recover failed events, untried events and events that were not fanned
// out. They also recover events from the time when the endpoint was disabled.
func TestInstructionsOfTheNotice(t *testing.T) {
	for _, behind := range []bool{false, true} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := open(t, d)
			name := o.Endpoint()
			desk, wait := o.Desk()
			o.Event() // this event is delivered
			disp, stop := o.dispatcher()
			o.idle(disp)
			o.Clock.Advance(time.Minute)
			o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: webhook.HTTPStatus} }
			if behind {
				stop()
			}
			ids := o.Events(5)
			if behind { // the endpoint is disabled before the other events are fanned out
				q := disp.queueOf(o.At(name))
				p := &poll{Dispatcher: disp, queue: q, room: 1, newFirst: true}
				must(t, p.run(ctx))
				must(t, d.Write(ctx, func(tx db.Tx) error {
					h, err := disp.states.Hold(ctx, tx, q.Address)
					must(t, err)
					first := disp.newTry(p.taken[0])
					first.outcome = o.answer(Message{})
					h.Failed(first.began, true)
					disp.recordTries(tx, q, []*try{first}, h.Status)
					_, err = disp.states.Put(ctx, tx, h)
					return err
				}))
				disp, _ = o.dispatcher()
			}
			o.idle(disp)
			o.Clock.Advance(time.Hour)
			ids = append(ids, o.Event())
			o.idle(disp)
			if got := o.State(name); got != "disabled gone" {
				t.Fatalf("the endpoint is %s", got)
			}
			o.answer = nil
			o.received()

			bell, err := o.Bell(o.Notices(), notify.BellInput{Organization: o.Info.ID})
			must(t, err)
			if e := bell.Data[0]; !strings.Contains(e.Text, "kartei webhook enable "+name+" --org "+o.Info.ID+" --missed") ||
				e.Page != "/settings/interfaces/webhooks/"+name || e.PageName == "" {
				t.Errorf("the notice says %+v", e)
			}
			enabled, err := desk.EnableWith(ctx, webhook.EnableInput{
				One:    webhook.One{Organization: o.Info.ID, ID: name},
				Missed: true,
			})
			must(t, err)
			if enabled.Sends == nil {
				t.Fatal("nothing is sent again")
			}
			wait(1) // the failed events
			if enabled.MissedSince != 0 {
				wait(1) // the events that were never tried
			}
			o.idle(disp)
			if got := slices.Compact(slices.Sorted(slices.Values(o.received()))); !slices.Equal(got,
				slices.Sorted(slices.Values(ids))) {
				t.Errorf("behind the cursor %v: received %v of %v", behind, got, ids)
			}
		})
	}
}
