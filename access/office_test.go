package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/operator"
)

var (
	ctx      = context.Background()
	start    = time.Date(2026, 11, 1, 9, 30, 0, 0, time.UTC)
	loopback = netip.MustParseAddr("127.0.0.1")
	versions = []string{"2026-11-01"}
)

// office is an organization with an enabled API and an admin.
type office struct {
	*testing.T
	dir      *access.Directory
	operator *operator.Operator
	db       db.DB
	clock    *clock.Fake
	org      access.OrganizationInfo
	admin    access.PrincipalInfo
}

func newOffice(t *testing.T, d db.DB) *office {
	t.Helper()
	return newOfficeWith(t, d, access.Options{Failures: 1_000_000})
}

func newOfficeWith(t *testing.T, d db.DB, options access.Options) *office {
	t.Helper()
	return newOfficeNamed(t, d, options, "johanna@morgenstern.example")
}

// newOfficeOf returns the n-th office in one database.
func newOfficeOf(t *testing.T, d db.DB, n int) *office {
	t.Helper()
	return newOfficeNamed(t, d, access.Options{Failures: 1_000_000}, fmt.Sprintf("johanna%d@morgenstern.example", n))
}

func newOfficeNamed(t *testing.T, d db.DB, options access.Options, email string) *office {
	t.Helper()
	c := clock.NewFake(start)
	o := &office{T: t, dir: access.NewDirectory(d, c, options), db: d, clock: c}
	o.operator = operator.New(d, c, o.dir)
	o.org = must(o.operator.CreateOrganization(ctx, organization.New{
		Name: "Kanzlei Morgenstern", Module: "on", Secrecy: "declared", Level: access.On,
	}))
	o.admin = must(o.operator.CreateUser(ctx, principal.New{
		Organization: o.org.ID, Name: "Johanna Morgenstern", Email: email, Role: access.Admin,
	}))
	return o
}

// newKey returns the input for a key with every scope, which is valid from everywhere in 127/8
// and ::1.
func (o *office) newKey() key.New {
	return key.New{
		Organization: o.org.ID, Principal: o.admin.ID, Environment: access.Live,
		Scopes: access.AllScopes(), Networks: []string{"127.0.0.0/8", "::1"},
	}
}

func (o *office) key() key.WithSecret {
	o.Helper()
	return must(o.operator.CreateKey(ctx, o.newKey()))
}

func (o *office) accepted(presented string, from netip.Addr) *access.Actor {
	o.Helper()
	a, err := o.dir.Authenticate(ctx, presented, access.V1, from)
	if err != nil {
		o.Fatalf("refused: %v", err)
	}
	return a
}

// refused fails the test unless the key is refused with the common 401 and the reason want. It
// returns the refusal.
func (o *office) refused(presented string, from netip.Addr, want access.Reason) *access.Refusal {
	o.Helper()
	a, err := o.dir.Authenticate(ctx, presented, access.V1, from)
	if err == nil {
		o.Fatalf("accepted as %s, want the refusal %s", a.PrincipalID(), want)
	}
	var f *fault.Fault
	r := access.RefusalOf(err)
	if !errors.As(err, &f) || r == nil {
		o.Fatalf("%v is no refusal", err)
	}
	if f.Code != fault.Unauthenticated || f.Detail != "" || f.Fields != nil || f.RetryAfter != 0 || f.Extra != nil ||
		f.Header != nil {
		o.Errorf("the 401 tells more than the others do: %+v", f)
	}
	if r.Reason != want || f.Reason != string(want) {
		o.Errorf("reason %s, want %s", r.Reason, want)
	}
	return r
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func clockAt(t time.Time) *clock.Fake { return clock.NewFake(t) }

func ptr[T any](v T) *T { return &v }

func TestFoldEmail(t *testing.T) {
	for address, want := range map[string]string{
		"Ida@Kanzlei.Example": "ida@kanzlei.example", "MÜLLER@BÜRO.EXAMPLE": "müller@büro.example",
		"ΣΟΦΙΑ@x.example":    "σοφια@x.example",
		"\u212aim@x.example": "\u212aim@x.example", "\u0130da@x.example": "\u0130da@x.example",
		"\u2126@x.example": "\u2126@x.example",
	} {
		if got := access.FoldEmail(address); got != want || access.FoldEmail(got) != got {
			t.Errorf("%q becomes %q, want %q", address, got, want)
		}
	}
}
