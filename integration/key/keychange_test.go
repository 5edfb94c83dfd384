package key_test

import (
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestUpdateKey checks that a change of a key follows the rules for new keys. Members that are not
// given keep their values.
func TestUpdateKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		made := o.key()
		before := must(o.Operator.GetKey(ctx, op.ByID{ID: made.ID}))
		update := func(in key.Change) (key.Info, error) {
			in.ID = made.ID
			return operator.Run(ctx, o.Operator, key.Update, in)
		}
		name := "Abgleich"
		k := must(update(key.Change{Name: &name}))
		if k.Name != name || !slices.Equal(k.Networks, before.Networks) || k.ExpiresAt != before.ExpiresAt ||
			k.VersionPin != before.VersionPin {
			t.Errorf("%+v", k)
		}
		k = must(update(key.Change{Networks: &[]string{"192.0.2.0/24"}, ExpiresIn: time.Hour}))
		if k.Name != name || len(k.Networks) != 1 || k.Networks[0].String() != "192.0.2.0/24" ||
			k.ExpiresAt != clock.FromTime(operator.Start.Add(time.Hour)) {
			t.Errorf("%+v", k)
		}
		o.refused(made.Key, loopback, access.WrongAddress)
		for field, in := range map[string]key.Change{
			"networks REQUIRED":        {Networks: &[]string{}},
			"networks[0] OUT_OF_RANGE": {Networks: &[]string{"0.0.0.0/0"}},
			"expiresIn OUT_OF_RANGE":   {ExpiresIn: 400 * 24 * time.Hour},
			"versionPin NOT_IN_ENUM":   {VersionPin: "2099-01-01"},
		} {
			_, err := update(in)
			if got := operator.Wrong(t, err); !slices.Equal(got, []string{field}) {
				t.Errorf("%q, want %s", got, field)
			}
		}
		must(o.Operator.RevokeKey(ctx, op.ByID{ID: made.ID}))
		_, err := update(key.Change{Name: &name})
		if got := operator.Wrong(t, err); !slices.Equal(got, []string{"id FORBIDDEN_COMBINATION"}) {
			t.Errorf("of a revoked key: %q", got)
		}
	})
}
