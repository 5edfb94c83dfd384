package organization_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

func TestOrganizations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(operator.Start)
		dir := operator.New(d, c, access.NewDirectory(d, c, access.Options{}))
		org := must(dir.CreateOrganization(ctx, organization.New{Name: "  Kanzlei  "}))
		if org.Name != "Kanzlei" || org.Module != "off" || org.Secrecy != "undeclared" || org.Level != access.Off ||
			org.State != access.Open {
			t.Errorf("an organization opens its API deliberately: %+v", org)
		}
		sandbox := must(dir.GetOrganization(ctx, op.ByID{ID: org.SandboxID}))
		if sandbox.SandboxOf != org.ID || sandbox.Name != "Kanzlei (Sandbox)" || sandbox.Module != "on" ||
			sandbox.Secrecy != "declared" || sandbox.Level != access.On || sandbox.State != access.Open ||
			sandbox.CreatedAt != clock.FromTime(operator.Start) {
			t.Errorf("sandbox: %+v", sandbox)
		}
		var ticks []clock.Micros
		err := d.Write(ctx, func(tx db.Tx) error {
			ticks = nil
			for _, number := range []int64{1, 2} { // each organization has its own clock
				tick, err := tx.Tick(ctx, number, 5)
				if err != nil {
					return err
				}
				ticks = append(ticks, tick)
			}
			return nil
		})
		if err != nil || !slices.Equal(ticks, []clock.Micros{5, 5}) {
			t.Errorf("clocks: %v %v", ticks, err)
		}

		changed := must(dir.SetOrganization(ctx, organization.Change{
			ID: org.ID, Name: new("Büro"), Module: new("on"), Secrecy: new("declared"), Level: new(access.Read),
			State: new(access.Closed),
		}))
		if got := must(dir.GetOrganization(ctx, op.ByID{ID: org.ID})); got != changed || got.Name != "Büro" ||
			got.Level != access.Read || got.State != access.Closed {
			t.Errorf("after set: %+v, answered %+v", got, changed)
		}
		sandbox = must(dir.GetOrganization(ctx, op.ByID{ID: org.SandboxID}))
		if sandbox.Name != "Büro (Sandbox)" || sandbox.State != access.Closed || sandbox.Level != access.On {
			t.Errorf("sandbox after set: %+v", sandbox)
		}
		sandbox = must(dir.SetOrganization(ctx, organization.Change{ID: sandbox.ID, Level: new(access.Off)}))
		if sandbox.Level != access.Off || must(dir.GetOrganization(ctx, op.ByID{ID: org.ID})).Level != access.Read {
			t.Error("the levels of an organization and of its sandbox are each one's own")
		}

		if _, err := dir.CreateOrganization(ctx, organization.New{
			Name: " ", Module: "maybe", Secrecy: "no", Level: "write",
		}); true {
			want := []string{"name REQUIRED", "module NOT_IN_ENUM", "secrecy NOT_IN_ENUM", "level NOT_IN_ENUM"}
			if diff := cmp.Diff(want, operator.Wrong(t, err)); diff != "" {
				t.Error(diff)
			}
		}
		_, err = dir.SetOrganization(ctx, organization.Change{
			ID: org.ID, Name: new(strings.Repeat("ä", 201)), State: new(access.State("gone")),
		})
		if diff := cmp.Diff([]string{"name TOO_LONG", "state NOT_IN_ENUM"}, operator.Wrong(t, err)); diff != "" {
			t.Error(diff)
		}
		_, err = dir.SetOrganization(ctx, organization.Change{ID: sandbox.ID, Name: new("a\x00b"), State: new(access.Open)})
		if diff := cmp.Diff([]string{"name INVALID_FORMAT", "name READ_ONLY", "state READ_ONLY"},
			operator.Wrong(t, err)); diff != "" {
			t.Error(diff)
		}
		for _, unknown := range []string{"", "org_", id.New(id.Organization), id.New(id.User), "a\x00b"} {
			if _, err := dir.GetOrganization(ctx, op.ByID{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("get %q: %v", unknown, err)
			}
			if _, err := dir.SetOrganization(ctx, organization.Change{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("set %q: %v", unknown, err)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
