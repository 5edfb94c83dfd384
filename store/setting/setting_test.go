package setting_test

import (
	"testing"

	"kartei/store/db"
	"kartei/store/setting"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestSettings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := t.Context()
		want := func(tx db.Tx, name, value string) {
			t.Helper()
			if got, err := setting.Get(ctx, tx, name); err != nil || got != value {
				t.Errorf("%s is %q, %v, want %q", name, got, err, value)
			}
		}
		err := d.Write(ctx, func(tx db.Tx) error {
			want(tx, "paused", "")
			for _, value := range []string{"one", "two", ""} {
				if err := setting.Put(ctx, tx, "paused", value); err != nil {
					return err
				}
				want(tx, "paused", value)
			}
			for _, value := range []string{"first", "second"} { // the empty setting is free, and then it is not
				got, err := setting.Claim(ctx, tx, "paused", value)
				if err != nil || got != "first" {
					t.Errorf("claimed %q: %q, %v", value, got, err)
				}
			}
			want(tx, "other", "")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
