package replay_test

import (
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestReseal checks that Reseal encrypts stored answers under the new master key without changing
// them. It must also encrypt plain answers of an earlier release. Erased answers must stay erased.
func TestReseal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		old, fresh := masterkey.New(), masterkey.New()
		before := replay.Vault{Vault: masterkey.Ring{Current: old}.Vault(replay.Purpose)}
		both := replay.Vault{Vault: masterkey.Ring{Current: fresh, Previous: []*masterkey.Key{old}}.Vault(replay.Purpose)}
		after := replay.Vault{Vault: masterkey.Ring{Current: fresh}.Vault(replay.Purpose)}
		now := clock.Micros(1e15)
		key := func(name string) replay.Key {
			return replay.Key{Organization: 7, Principal: "usr_a", Name: name}
		}
		write := func(f func(tx db.Tx)) {
			t.Helper()
			if err := d.Write(t.Context(), func(tx db.Tx) error { f(tx); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx db.Tx) {
			tx.Queue(`insert into organizations (number, id, name, module_on, secrecy_declared, level, state, created_at) values (7, 'org_a', 'A', true, true, 'on', 'open', 0)`)
			for _, name := range []string{"kept", "erased"} {
				before.Store(tx, key(name), now, &replay.Answer{
					Record: "con_" + name, Status: 201, Body: []byte(`{"lastName":"Geheim"}`),
				})
			}
			tx.Queue(`insert into idempotency (organization, principal, key, created_at, fingerprint, status, etag, location, body) values (7, 'usr_a', 'clear', $1, '', 201, '', '', '{"lastName":"Geheim"}')`, now)
		})
		write(func(tx db.Tx) { replay.Erase(tx, 7, "con_erased") })
		for again, want := range []int{2, 0} {
			if n, err := both.Reseal(t.Context(), d); err != nil || n != want {
				t.Errorf("run %d sealed %d answers, %v", again, n, err)
			}
		}
		err := d.Read(t.Context(), func(tx db.Tx) error {
			for _, name := range []string{"kept", "clear"} {
				a, err := after.Find(t.Context(), tx, key(name), now.Add(time.Hour))
				if err != nil || string(a.Body) != `{"lastName":"Geheim"}` || a.Erased {
					t.Errorf("%s: %+v, %v", name, a, err)
				}
			}
			if a, err := after.Find(t.Context(), tx, key("erased"), now); err != nil || !a.Erased || a.Body != nil ||
				a.Record != "con_erased" {
				t.Errorf("erased: %+v, %v", a, err)
			}
			if _, err := after.Find(t.Context(), tx, key("kept"), now.Add(replay.Lifetime)); err != db.ErrNoRows {
				t.Errorf("after its time: %v", err)
			}
			bodies, err := db.Values[string](t.Context(), tx, "select body from idempotency")
			if strings.Contains(strings.Join(bodies, " "), "Geheim") {
				t.Errorf("in clear: %v", bodies)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
