package webhook

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/db"
	"kartei/dbtest"
	"kartei/notify"
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
			text := e.Title + "\n" + e.Text
			for _, word := range map[string][]string{
				o.owner: {"Webhook-Endpunkt „CRM“ von Kanzlei", "2026-11-02 09:00 (UTC)", "whe_"},
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
