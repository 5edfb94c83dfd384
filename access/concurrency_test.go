package access_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestChangesDuringManyCalls checks that a completed act applies to every call that starts
// afterwards, while many callers authenticate.
func TestChangesDuringManyCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		key := o.key()
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for i := range 4 {
			callers.Go(func() {
				from := netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)})
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := o.dir.Authenticate(ctx, key.Key, access.V1, from); err != nil && access.RefusalOf(err) == nil {
						t.Errorf("call: %v", err)
						return
					}
				}
			})
		}
		for range 25 {
			must(o.operator.PauseKey(ctx, op.ByID{ID: key.ID}))
			o.refused(key.Key, loopback, access.Paused)
			must(o.operator.ResumeKey(ctx, op.ByID{ID: key.ID}))
			o.accepted(key.Key, loopback)
		}
		close(stop)
		callers.Wait()
	})
}

// TestConcurrentCreations checks that organizations which are created at the same time get
// different numbers. If several users with the same address are created at the same time, only
// one creation succeeds.
func TestConcurrentCreations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		var makers sync.WaitGroup
		made := make(chan error, 8)
		for i := range 8 {
			makers.Go(func() {
				_, err := o.operator.CreateOrganization(ctx, organization.New{Name: fmt.Sprint("Büro ", i)})
				if err != nil {
					t.Errorf("organization: %v", err)
				}
				_, err = o.operator.CreateUser(ctx, principal.New{Organization: o.org.ID, Name: "Ida", Email: "ida@example.org"})
				made <- err
			})
		}
		makers.Wait()
		close(made)
		users := 0
		for err := range made {
			if err == nil {
				users++
			} else if !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("user: %v", err)
			}
		}
		if users != 1 {
			t.Errorf("%d users with one address", users)
		}
		if list := must(o.operator.ListOrganizations(ctx, op.Page{})); len(list.Data) != 18 {
			t.Errorf("%d organizations and sandboxes, want 18", len(list.Data))
		}
	})
}
