package instance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/instance/config"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/s3test"
	"kartei/test/waittest"
)

func TestMain(m *testing.M) { dbtest.Main(m, s3test.Stop) }

// TestQuotaAlertSurvivesRestart checks the alerts of a quota in a whole instance. At 80 percent of
// the day's deletes people get a notice and an email. The next delete pauses the key. A restart
// keeps the counts and the notices.
func TestQuotaAlertSurvivesRestart(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := configOf(t.TempDir())
		c.Store.DatabaseURL = config.DatabaseURL(url)
		c.Server.Limit = []limit.Override{{Name: "deletes-day", Quota: 5, Capacity: 5}}
		c.Server.PauseExhausted = true
		i := begin(t, c)
		ctx := t.Context()
		org, err := operator.New(i.DB, i.clock,
			i.Directory).CreateOrganization(ctx, organization.New{
			Name: "Kanzlei Morgenstern", Module: "on", Secrecy: "declared", Level: access.On,
		})
		if err != nil {
			t.Fatal(err)
		}
		user, err := operator.New(i.DB, i.clock,
			i.Directory).CreateUser(ctx, principal.New{Organization: org.ID, Name: "Anna Berg", Email: "anna@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		key, err := operator.New(i.DB, i.clock, i.Directory).CreateKey(ctx, key.New{
			Organization: org.ID, Principal: user.ID, Environment: "test", Scopes: []string{"contacts:write"},
			Networks: []string{"192.0.2.0/24"},
		})
		if err != nil {
			t.Fatal(err)
		}
		call := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/v1"+path, strings.NewReader(body))
			r.Header = http.Header{"Authorization": {"Bearer " + key.Key}, "Svc-Preview": {"true"}, "If-Match": {"*"},
				"Content-Type":    {"application/json"},
				"Idempotency-Key": {fmt.Sprint(time.Now().UnixNano())}}
			w := httptest.NewRecorder()
			i.Handler.ServeHTTP(w, r)
			return w
		}
		remove := func() *httptest.ResponseRecorder {
			w := call("POST", "/contacts", `{"lastName":"Tal"}`)
			if w.Code != 201 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			return call("DELETE", strings.TrimPrefix(w.Header().Get("Location"), "/v1"), "")
		}
		told := func(kind notify.Kind) {
			t.Helper()
			var bell op.Entries[notify.Entry]
			await(t, func() bool {
				if err := i.door().Call(ctx, "bell.list", notify.BellInput{Organization: org.ID}, &bell); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(bell.Data, func(e notify.Entry) bool { return e.Kind == kind && e.MailedAt != 0 })
			})
			if files, _ := filepath.Glob(filepath.Join(string(c.Store.DataDir), "mail",
				"ntc_*.eml")); len(files) != len(bell.Data) {
				t.Errorf("%d files for %d entries", len(files), len(bell.Data))
			}
		}
		for n := range 4 {
			if w := remove(); w.Code != 204 {
				t.Fatalf("delete %d: %d %s", n, w.Code, w.Body)
			}
		}
		told(notify.QuotaLow)
		end(t, i)

		i = begin(t, c)
		if w := remove(); w.Code != 204 {
			t.Fatalf("the fifth: %d %s", w.Code, w.Body)
		}
		if w := remove(); w.Code != 429 || !strings.Contains(w.Body.String(), "QUOTA_EXHAUSTED") {
			t.Fatalf("the sixth: %d %s", w.Code, w.Body)
		}
		told(notify.KeyPaused)
		await(t, func() bool { return call("GET", "/me", "").Code == 401 })
		end(t, i)
	})
}

// await waits until happened returns true.
func await(t *testing.T, happened func() bool) {
	t.Helper()
	for watch := waittest.New(); !happened(); {
		if watch.IsStuck() {
			t.Fatal("it does not happen")
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestOperatorSeesLock checks that the operator sees the lock of a key, even after the server that
// locked the key has stopped.
func TestOperatorSeesLock(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := configOf(t.TempDir())
		c.Store.DatabaseURL = config.DatabaseURL(url)
		c.Server.Limit = []limit.Override{{Name: "key", Quota: 1, Capacity: 1}}
		c.Server.LockAfter, c.Server.LockWindow, c.Server.LockTime = 2, config.Duration(time.Minute), config.Duration(time.Hour)
		i := begin(t, c)
		ctx := t.Context()
		org, err := operator.New(i.DB, i.clock,
			i.Directory).CreateOrganization(ctx, organization.New{
			Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On,
		})
		if err != nil {
			t.Fatal(err)
		}
		user, err := operator.New(i.DB, i.clock,
			i.Directory).CreateUser(ctx, principal.New{Organization: org.ID, Name: "Anna Berg", Email: "anna@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		var keys [2]key.WithSecret
		for n := range keys {
			if keys[n], err = operator.New(i.DB, i.clock,
				i.Directory).CreateKey(ctx, key.New{
				Organization: org.ID,
				Principal:    user.ID,
				Environment:  "test",
				Scopes:       []string{"contacts:read"},
			}); err != nil {
				t.Fatal(err)
			}
		}
		before := time.Now()
		for range 4 { // the first call is allowed, and the third refusal locks the key
			r := httptest.NewRequest("GET", "/v1/me", nil)
			r.Header.Set("Authorization", "Bearer "+keys[0].Key)
			i.Handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		end(t, i)
		acts, done, err := OpenDoor(ctx, &c.Store)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		var shown key.Info
		if err := acts.Call(ctx, "keys.get", op.ByID{ID: keys[0].ID}, &shown); err != nil {
			t.Fatal(err)
		}
		if until := shown.LockedUntil.Time(); until.Before(before.Add(59*time.Minute)) ||
			until.After(time.Now().Add(61*time.Minute)) {
			t.Errorf("locked until %s", until)
		}
		var list op.Entries[key.Info]
		if err := acts.Call(ctx, "keys.list", op.Page{Limit: 10}, &list); err != nil {
			t.Fatal(err)
		}
		for _, k := range list.Data {
			if (k.ID == keys[0].ID) != (k.LockedUntil != 0) {
				t.Errorf("%s: locked until %d", k.ID, k.LockedUntil)
			}
		}
	})
}
