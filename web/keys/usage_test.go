package keys_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

const usagePath = "/settings/interfaces/usage"

// TestUsageOnPages checks that a member sees the usage of their own keys, and an admin the usage of
// all keys.
func TestUsageOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered())
		member, admin := o.As(access.Member), o.As(access.Admin)
		b, boss := pagetest.OpenAt(t, o, "https://kartei.example"), pagetest.OpenAt(t, o, "https://kartei.example")
		b.Cookie, boss.Cookie = o.Session(member.Principal), o.Session(admin.Principal)
		b.Get(usagePath).Want(200, "Nichts in dieser Zeit", "92 Tage")

		keys, err := o.Operator.ListKeys(t.Context(), key.FindInput{Page: op.Page{Organization: o.SandboxID}})
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		for _, k := range keys.Data {
			ids[k.PrincipalID] = k.ID
		}
		var sandbox int64
		dbtest.Get(t, d, []any{&sandbox}, `select number from organizations where id = $1`, o.SandboxID)
		now, endpoint := clock.Now(o.Clock), id.New(id.WebhookEndpoint)
		var calls []usage.Call
		for _, ago := range []clock.Micros{40 * clock.Day, 3 * clock.Day, clock.Hour} {
			for i := range 1234 {
				status := map[int]int{0: 429, 1: 500, 2: 403, 3: 404}[i]
				calls = append(calls, usage.Call{Organization: sandbox, Kind: usage.Calls, Subject: ids[member.Principal], At: now - ago, Status: max(200, status), Took: 3 * time.Millisecond, Points: 2})
			}
			calls = append(calls, usage.Call{Organization: sandbox, Kind: usage.Calls, Subject: ids[admin.Principal], At: now - ago, Status: 200},
				usage.Call{Organization: sandbox, Kind: usage.Deliveries, Subject: endpoint, At: now - ago, Status: 500, Took: 70 * time.Millisecond})
		}
		o.Used(calls...)

		seen := b.Get(usagePath).Want(200, "2.468", "4.936", `href="`+shell.RequestsPath+`?status=429"`, `role="img"`, "Als Tabelle", "zuletzt 429", "Punkte je Minute", "frei: ")
		if strings.Contains(seen.Body, endpoint) || strings.Contains(seen.Body, ids[admin.Principal]) {
			t.Error("a member sees what is somebody else's")
		}
		boss.Get(usagePath).Want(200, "2.470", endpoint, ids[member.Principal], ids[admin.Principal], "Webhook-Zustellungen")
		boss.Get(usagePath+"?days=90").Want(200, "3.705")
		boss.Get(usagePath+"?days=1").Want(200, "1.235", "Stunde")
		boss.Get(usagePath+"?days=7000").Want(200, "2.470") // an unknown value is ignored
		boss.Get(usagePath+"?key="+ids[admin.Principal]).Want(200, `<td>1</td>`, "Löschungen je Tag dieses Schlüssels", "Punkte je Minute der ganzen Organisation")
		if got := b.Get(usagePath + "?key=" + ids[admin.Principal]); got.Status != 303 {
			t.Errorf("the usage of somebody else's key: %d", got.Status)
		}
	})
}
