package webhook

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
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/notify"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// Of several processes that find at the same time that an endpoint fails, one
// says so: to the user whose it is, or to the admins for a service account, in
// the language of each.
func TestAlertsComeOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		service, err := o.directory.CreateServiceAccount(ctx, access.NewPrincipal{Organization: o.info.ID, Name: "Abgleich"})
		must(t, err)
		_, err = o.directory.SetUser(ctx, access.PrincipalChange{ID: o.admin, Language: as("en")})
		must(t, err)
		o.endpoint()
		o.endpointOf(service.ID)
		o.answer = func(Message) Outcome { return Outcome{Code: Timeout} }
		couriers := []*Courier{}
		for range 3 {
			c, _ := o.courier()
			couriers = append(couriers, c)
		}
		o.event()
		pass := func(d time.Duration) {
			for range 6 {
				o.clock.Advance(d / 6)
				for _, c := range couriers {
					o.idle(c)
				}
			}
		}
		pass(0)
		pass(24 * time.Hour)
		want := []string{"admin failing", "owner failing"}
		if got := slices.Sorted(slices.Values(o.told())); !slices.Equal(got, want) {
			t.Fatalf("after 24 hours %v", got)
		}
		pass(48 * time.Hour)
		want = []string{"admin disabled no_success", "admin failing", "owner disabled no_success", "owner failing"}
		if got := slices.Sorted(slices.Values(o.told())); !slices.Equal(got, want) {
			t.Fatalf("after 72 hours %v", got)
		}
		bell, err := notify.New(notify.Options{DB: d, Clock: o.clock, Forms: Forms}).Bell(ctx, notify.BellInput{Organization: o.info.ID})
		must(t, err)
		for _, e := range bell.Data {
			if !strings.Contains(e.Title, " whe_") || strings.Contains(e.Title, "CRM") { // somebody else's words are no subject of an email
				t.Errorf("the title is %s", e.Title)
			}
			text := e.Title + "\n" + e.Text
			for _, word := range map[string][]string{
				o.owner: {"den Webhook-Endpunkt „CRM“ von Kanzlei", "2026-11-02 09:00 (UTC)", "whe_"},
				o.admin: {"“CRM” of Kanzlei", "2026-11-02 09:00 (UTC)", "whe_"},
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

// What a notice says of each kind and reason, in both languages.
func TestAlertWords(t *testing.T) {
	at := func(s string) clock.Micros {
		m, err := clock.Parse(s)
		must(t, err)
		return m
	}
	f := AlertFacts{Organization: "org_1", Endpoint: "whe_1", Since: at("2026-11-02T09:00:00.000000Z"), At: at("2026-11-05T09:30:00.000000Z"),
		Missed: at("2026-11-05T09:12:34.567890Z")}
	gone, silent, revoked := f, f, f
	gone.Reason, silent.Reason, revoked.Reason = Gone, NoSuccess, KeyRevoked
	n := names{organization: "Kanzlei", de: "„CRM“ von Kanzlei", en: "“CRM” of Kanzlei"}
	commands := "kartei webhook enable whe_1 --org org_1\nkartei webhook resend whe_1 --org org_1 --failed\nkartei webhook resend whe_1 --org org_1 --since 2026-11-05T09:12:34.567890Z"
	for _, c := range []struct {
		words          notify.Words
		titleDE, title string
		de, en         []string
	}{
		{failingWords(f, n),
			"Webhook-Endpunkt whe_1 von Kanzlei: seit 24 Stunden keine Zustellung",
			"Webhook endpoint whe_1 of Kanzlei: no delivery for 24 hours",
			[]string{"Seit dem 2026-11-02 09:00 (UTC) ist keine Zustellung an den Webhook-Endpunkt „CRM“ von Kanzlei mehr", "gelingt bis zum 2026-11-05 09:00 (UTC) keiner, wird der Endpunkt abgeschaltet", "(GET /v1/webhook_endpoints/whe_1/deliveries)"},
			[]string{"No delivery to the webhook endpoint “CRM” of Kanzlei has succeeded since 2026-11-02 09:00 (UTC)", "if none succeeds by 2026-11-05 09:00 (UTC), the endpoint will be disabled", "(GET /v1/webhook_endpoints/whe_1/deliveries)"}},
		{disabledWords(silent, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: 72 Stunden ohne Erfolg",
			"Webhook endpoint whe_1 of Kanzlei was disabled: 72 hours without success",
			[]string{"Seit dem 2026-11-02 09:00 (UTC) ist keine Zustellung an den Webhook-Endpunkt „CRM“ von Kanzlei mehr", "Nach 72 Stunden, am 2026-11-05 09:30 (UTC), wurde er deshalb abgeschaltet.", commands},
			[]string{"No delivery to the webhook endpoint “CRM” of Kanzlei has succeeded since 2026-11-02 09:00 (UTC)", "disabled after 72 hours, at 2026-11-05 09:30 (UTC)", commands}},
		{disabledWords(gone, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: der Empfänger antwortet 410 Gone",
			"Webhook endpoint whe_1 of Kanzlei was disabled: the receiver answers 410 Gone",
			[]string{"hat am 2026-11-05 09:30 (UTC) mit 410 Gone geantwortet: Er will keine Zustellungen mehr. Der Endpunkt wurde deshalb sofort abgeschaltet.", commands},
			[]string{"answered 410 Gone at 2026-11-05 09:30 (UTC): it wants no more deliveries. The endpoint was therefore disabled at once.", commands}},
		{disabledWords(revoked, n),
			"Webhook-Endpunkt whe_1 von Kanzlei wurde abgeschaltet: sein Schlüssel ist widerrufen",
			"Webhook endpoint whe_1 of Kanzlei was disabled: its key is revoked",
			[]string{"ist widerrufen. Der Betreiber hat den Endpunkt dabei am 2026-11-05 09:30 (UTC) abgeschaltet.", commands},
			[]string{"was made is revoked. Whoever runs the instance disabled the endpoint with it, at 2026-11-05 09:30 (UTC).", commands}},
	} {
		if c.words.Title.DE != c.titleDE || c.words.Title.EN != c.title {
			t.Errorf("the titles are %+v", c.words.Title)
		}
		for text, want := range map[string][]string{c.words.Text.DE: c.de, c.words.Text.EN: c.en} {
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is not in:\n%s", w, text)
				}
			}
			if strings.Contains(text, "%!") || strings.Contains(text, "72") && strings.Contains(text, "410") {
				t.Errorf("in the notice stands:\n%s", text)
			}
		}
	}
}

// An email about an endpoint has nothing in it that people gave a name to: who
// names an endpoint would else write to its owner's admins with links of their own.
func TestEmailsHaveNoNames(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		const words = "Konto gesperrt https://boese.example/anmelden"
		for id, language := range map[string]string{o.owner: "de", o.admin: "en"} {
			_, err := o.directory.SetUser(ctx, access.PrincipalChange{ID: id, Name: as(words), Language: as(language)})
			must(t, err)
		}
		o.set(access.OrganizationChange{Name: as(words)})
		service, err := o.directory.CreateServiceAccount(ctx, access.NewPrincipal{Organization: o.info.ID, Name: words})
		must(t, err)
		mine, theirs := o.endpoint(), o.endpointOf(service.ID)
		o.exec(`update webhook_endpoints set name = $2, url = 'https://boese.example/anmelden' where organization = $1`, o.organization, words)
		dir := filepath.Join(t.TempDir(), "mail")
		resting := clock.NewFake(o.clock.Now()) // so that the test sees when it has nothing to do
		center := notify.New(notify.Options{DB: d, Clock: resting, Forms: Forms, Sender: notify.Files(dir), From: "kartei@example.com", Host: "kartei.example",
			BaseURL: "https://kartei.example"})
		courier, _ := o.courier()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: HTTPStatus} }
		o.event()
		for range 6 { // failing, then disabled
			o.idle(courier)
			o.clock.Advance(12 * time.Hour)
		}
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
		o.event()
		o.idle(courier)
		running, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		resting.Advance(o.clock.Now().Sub(resting.Now()))
		go func() { defer close(ended); center.Run(running) }()
		resting.Await(1)
		cancel()
		<-ended
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
			if !strings.Contains(heading, mine) && !strings.Contains(heading, theirs) || !strings.Contains(all, o.info.ID) || !strings.Contains(all, "(GET https://kartei.example/v1/") || strings.Contains(all, "%!") {
				t.Errorf("%s", all)
			}
		}
		bell, err := center.Bell(ctx, notify.BellInput{Organization: o.info.ID})
		must(t, err)
		for _, e := range bell.Data {
			if !strings.Contains(e.Text, words) {
				t.Errorf("the bell says %s", e.Text)
			}
		}
	})
}

// What the notice of a disabled endpoint says to do brings everything: what
// failed, what was on its way and never tried, what no delivery was made of yet,
// and what happened while it was disabled.
func TestRecipeOfTheNotice(t *testing.T) {
	for _, behind := range []bool{false, true} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := open(t, d)
			name := o.endpoint()
			desk, wait := o.desk()
			o.event() // this one got through
			c, stop := o.courier()
			o.idle(c)
			o.clock.Advance(time.Minute)
			o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
			if behind {
				stop()
			}
			ids := o.events(5)
			if behind { // the first is disabled before deliveries were made of the others
				l := c.lane(address{o.organization, name})
				v := &visit{Courier: c, lane: l, room: 1, newFirst: true}
				must(t, v.run(ctx))
				must(t, d.Write(ctx, func(tx db.Tx) error {
					h, err := c.hold(ctx, tx, l.address)
					must(t, err)
					first := c.newTry(v.taken[0])
					first.outcome = o.answer(Message{})
					h.failed(first.began, true)
					c.settleTries(tx, l, []*try{first}, h.status)
					_, err = c.put(ctx, tx, h)
					return err
				}))
				c, _ = o.courier()
			}
			o.idle(c)
			o.clock.Advance(time.Hour)
			ids = append(ids, o.event())
			o.idle(c)
			if got := o.state(name); got != "disabled gone" {
				t.Fatalf("the endpoint is %s", got)
			}
			o.answer = nil
			o.received()

			bell, err := notify.New(notify.Options{DB: d, Clock: o.clock, Forms: Forms}).Bell(ctx, notify.BellInput{Organization: o.info.ID})
			must(t, err)
			_, since, _ := strings.Cut(bell.Data[0].Text, "--since ")
			at, err := clock.Parse(strings.Fields(since)[0])
			must(t, err)
			info, err := desk.Enable(ctx, One{o.info.ID, name})
			must(t, err)
			if info.MissedSince != at {
				t.Errorf("the notice says %v, the endpoint %v", at, info.MissedSince)
			}
			for _, in := range []ResendInput{{Failed: true}, {Since: at}} {
				in.Organization, in.ID = o.info.ID, name
				_, err := desk.Resend(ctx, in)
				must(t, err)
				wait(1)
				o.idle(c)
			}
			if got := slices.Compact(slices.Sorted(slices.Values(o.received()))); !slices.Equal(got, slices.Sorted(slices.Values(ids))) {
				t.Errorf("behind the cursor %v: received %v of %v", behind, got, ids)
			}
		})
	}
}
