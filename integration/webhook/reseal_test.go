package webhook_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/test/apitest"
)

// TestReseal checks that no secret needs the previous master key after a reseal. The secrets
// themselves do not change.
func TestReseal(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, first := create(c, nil)
		old, _ := create(c, nil)
		c.Do("POST", old+"/rotate_secret", nil).Want(200)
		o.Clock.Advance(25 * time.Hour) // the previous secret of endpoint old no longer signs
		second := c.Do("POST", at+"/rotate_secret", nil).Want(200).Text("secret")

		next := masterkey.New()
		both := masterkey.Ring{Current: next, Previous: apitest.Keys.All()}.Vault(webhook.SecretsPurpose)
		for run, want := range []int{2, 0} {
			if n, locked, err := webhook.Reseal(t.Context(), o.DB, both, clock.Now(o.Clock)); n != want || len(locked) > 0 ||
				err != nil {
				t.Errorf("run %d: %d, %v", run, n, err)
			}
		}
		only := masterkey.Ring{Current: next}.Vault(webhook.SecretsPurpose)
		var secret, previous, gone string
		row(o, at, "secret, previous_secret", &secret, &previous)
		row(o, old, "previous_secret", &gone)
		var where string
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select organization || '|' || id from webhook_endpoints where id = $1`,
				strings.TrimPrefix(at, endpoints+"/")).Scan(&where)
		})
		if err != nil {
			t.Fatal(err)
		}
		for sealed, want := range map[string]string{secret: second, previous: first} {
			if plain, _, err := only.Open(sealed, where); err != nil || webhook.Secret(plain).Reveal() != want {
				t.Errorf("%v", err)
			}
		}
		if gone != "" {
			t.Error("a secret that signs no more is kept")
		}
		// Without the previous master key, Reseal returns an error for each endpoint.
		n, locked, err := webhook.Reseal(t.Context(), o.DB,
			masterkey.Ring{Current: masterkey.New()}.Vault(webhook.SecretsPurpose), clock.Now(o.Clock))
		if n != 0 || len(locked) != 2 || err != nil ||
			!strings.Contains(errors.Join(locked...).Error(), strings.TrimPrefix(at, endpoints+"/")) {
			t.Errorf("%d, %v, %v", n, locked, err)
		}
		// After a rotation, an endpoint whose master key is lost works again. The unreadable secret
		// does not become the previous secret.
		c.Do("POST", at+"/rotate_secret", nil).Want(200)
		if row(o, at, "previous_secret", &gone); gone != "" {
			t.Error("a secret that cannot be read signs beside the new one")
		}
	})
}
