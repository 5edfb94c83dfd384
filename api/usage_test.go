package api_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// usageOf returns the usage that a caller sees.
func usageOf(t *testing.T, o *apitest.Office, as api.Credential, in usage.Input) (u usage.Report) {
	t.Helper()
	got := ask(t, o, api.Web, as, "usage.get", in)
	if err := json.Unmarshal(got.Body, &u); got.Status != 200 || err != nil {
		t.Fatalf("usage.get %+v: %d %s", in, got.Status, got.Body)
	}
	return u
}

// list calls GET /contacts with a key, and returns the status.
func list(t *testing.T, o *apitest.Office, key string) int {
	return o.API.Do(t.Context(), &api.Request{
		Method: "GET", Path: "/contacts", Credential: api.Bearer(key),
		Address: netip.MustParseAddr("192.0.2.7"), Door: api.REST,
	}, nil).Status
}

// TestUsage checks who sees which usage. A member sees the usage of their own keys. An admin sees
// the usage of the organization and its sandbox. People of other organizations see none of it. The
// call costs nothing.
func TestUsage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered())
		acceptSessions(o)
		foreign, _ := o.Organization("Andere")
		admin, member, stranger := o.User(access.Admin), o.User(access.Member), o.User(access.Admin, foreign)
		as := func(organization, person string) api.Credential {
			return api.Credential{Scheme: session, Text: organization + " " + person}
		}
		theirs, own, narrow := o.Key(admin), o.Key(member), o.Key(member, "tasks:read")
		for key, n := range map[string]int{theirs: 3, own: 2, narrow: 1} {
			for range n {
				if status := list(t, o, key); status != map[bool]int{true: 403, false: 200}[key == narrow] {
					t.Fatalf("a list: %d", status)
				}
			}
		}
		list(t, o, own+"x") // refused: with a wrong secret, the call belongs to no key
		o.Log.Usage().Count(&usage.Call{
			Organization: sandboxOf(t, o), Kind: usage.Deliveries, Subject: id.New(id.WebhookEndpoint),
			At: clock.Now(o.Clock), Status: 500,
		})

		all := usageOf(t, o, as(o.ID, admin), usage.Input{})
		if c := all.Calls.Total; c.Calls < 6 || c.Forbidden != 1 || c.Points == 0 || c.P95Micros == 0 ||
			len(all.Calls.Points) != 30 || len(all.Calls.Subjects) != 3 {
			t.Errorf("all: %+v of %d subjects on %d days", c, len(all.Calls.Subjects), len(all.Calls.Points))
		}
		if s := all.Calls.Subjects[0]; s.PrincipalID != admin || s.Calls != 3 || s.Environment != access.Test ||
			s.KidShort == "" {
			t.Errorf("the busiest key: %+v", s)
		}
		if got := all.Deliveries.Total; got.Calls != 1 || got.Failed != 1 {
			t.Errorf("deliveries: %+v", got)
		}
		mine := usageOf(t, o, as(o.ID, member), usage.Input{By: "hour", Days: 1})
		if n := len(mine.Calls.Subjects); n != 2 || mine.Deliveries.Total.Calls != 0 || mine.Calls.Total.Forbidden != 1 ||
			mine.Calls.Total.Calls != all.Calls.Total.Calls-3 {
			t.Errorf("a member sees %+v of %d keys, and deliveries %+v", mine.Calls.Total, n, mine.Deliveries.Total)
		}
		if points := mine.Calls.Points; len(points) != 24 || points[23].Calls != mine.Calls.Total.Calls {
			t.Errorf("by hour: %d points", len(points))
		}
		other := usageOf(t, o, as(foreign, stranger), usage.Input{})
		if other.Calls.Total.Calls != 0 || len(other.Calls.Subjects) != 0 || len(other.Limits) != 0 ||
			other.Deliveries.Total.Calls != 0 {
			t.Errorf("another organization sees %+v", other)
		}
		for _, refused := range []usage.Input{
			{Organization: o.ID},
			{Organization: o.SandboxID},
			{Key: all.Calls.Subjects[0].ID},
		} {
			if got := ask(t, o, api.Web, as(foreign, stranger), "usage.get", refused); got.Status != 404 {
				t.Errorf("another organization asks for %+v: %d", refused, got.Status)
			}
		}
		if got := ask(t, o, api.Web, as(o.ID, member), "usage.get",
			usage.Input{Key: all.Calls.Subjects[0].ID}); got.Status != 404 {
			t.Errorf("a member asks for the key of somebody else: %d", got.Status)
		}
		for _, refused := range []usage.Input{
			{Days: -1},
			{Days: 92},
			{Days: 15, By: "hour"},
			{By: "week"},
			{Zone: "Local"},
			{Zone: "Berlin"},
		} {
			if got := ask(t, o, api.Web, as(o.ID, admin), "usage.get", refused); got.Status != 422 {
				t.Errorf("%+v: %d %s", refused, got.Status, got.Body)
			}
		}

		limits := func() map[string]int64 {
			rest := map[string]int64{}
			for _, l := range usageOf(t, o, as(o.ID, admin), usage.Input{Key: all.Calls.Subjects[0].ID}).Limits {
				for _, p := range l.Policies {
					rest[p.Name] = p.Remaining
				}
			}
			return rest
		}
		before := limits()
		if len(before) != 8 || before["key"] >= 600 || before["writes"] != 60 {
			t.Errorf("what is left of the limits: %v", before)
		}
		list(t, o, theirs)
		if after, again := limits(), limits(); after["key"] >= before["key"] || again["key"] != after["key"] {
			t.Errorf("a call takes, and asking does not: %v, then %v, then %v", before, after, again)
		}
	})
}

func sandboxOf(t *testing.T, o *apitest.Office) (number int64) {
	t.Helper()
	dbtest.Get(t, o.DB, []any{&number}, `select number from organizations where id = $1`, o.SandboxID)
	return number
}

// TestUsageDays checks that the days of a usage report follow the time zone. A day on which
// daylight saving time ends has 25 hours. An hour belongs to the day in which it begins.
func TestUsageDays(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		admin := o.User(access.Admin)
		as := api.Credential{Scheme: session, Text: o.ID + " " + admin}
		sandbox := sandboxOf(t, o)
		now := o.Clock.Now()
		var calls []usage.Call
		for at := clock.FromTime(now.Add(-30 * 24 * time.Hour)); at <= clock.FromTime(now); at += clock.Hour {
			calls = append(calls, usage.Call{
				Organization: sandbox, Kind: usage.Calls, Subject: "key_a", At: at - at%clock.Hour, Status: 200,
			})
		}
		o.Used(calls...)
		for zone, want := range map[string]map[string]int64{
			"Europe/Berlin":   {"2026-10-24": 24, "2026-10-25": 25, "2026-10-26": 24},
			"UTC":             {"2026-10-24": 24, "2026-10-25": 24, "2026-10-26": 24},
			"America/Caracas": {"2026-10-24": 24, "2026-10-25": 24},
			"Asia/Kolkata":    {"2026-10-24": 24, "2026-10-25": 24},
		} {
			location, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			u := usageOf(t, o, as, usage.Input{Zone: zone, Days: 14})
			for _, p := range u.Calls.Points {
				got[p.Start.Time().In(location).Format(time.DateOnly)] = p.Calls
			}
			for day, n := range want {
				if got[day] != n {
					t.Errorf("%s: %s has %d hours, want %d", zone, day, got[day], n)
				}
			}
			today := u.Calls.Points[13]
			if first := today.Start.Time().In(location); first.Hour() != 0 ||
				first.YearDay() != now.In(location).YearDay() ||
				!slices.IsSortedFunc(u.Calls.Points, func(a, b usage.Point) int { return int(a.Start - b.Start) }) {
				t.Errorf("%s: the last day begins at %v", zone, first)
			}
		}
	})
}
