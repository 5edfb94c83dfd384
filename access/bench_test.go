package access_test

import (
	"testing"

	"kartei/access"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

func benchmarkOffice(b *testing.B) (*access.Directory, key.WithSecret) {
	d := dbtest.SQLite(b)
	dir := access.NewDirectory(d, clock.System, access.Options{Failures: 1 << 30})
	op := operator.New(d, clock.System, dir)
	org := must(op.CreateOrganization(ctx, organization.New{
		Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On,
	}))
	user := must(op.CreateUser(ctx, principal.New{Organization: org.ID, Name: "Ida", Email: "ida@example.org"}))
	key := must(op.CreateKey(ctx, key.New{
		Organization: org.ID, Principal: user.ID, Environment: access.Live,
		Scopes: access.AllScopes(), Networks: []string{"127.0.0.0/8", "::1"},
	}))
	return dir, key
}

// BenchmarkAuthenticate measures a call with a cached key. The limit is 1.5 µs without an
// allocation.
func BenchmarkAuthenticate(b *testing.B) {
	dir, key := benchmarkOffice(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := dir.Authenticate(ctx, key.Key, access.V1, loopback); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkRefuse measures a call with an unknown key.
func BenchmarkRefuse(b *testing.B) {
	dir, key := benchmarkOffice(b)
	wrong := access.Forge(key.Key[:10] + flip(key.Key[10]) + key.Key[11:])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dir.Authenticate(ctx, wrong, access.V1, loopback); err == nil {
			b.Error("accepted")
		}
	}
}

func TestAuthenticateDoesNotAllocate(t *testing.T) {
	o := newOffice(t, dbtest.SQLite(t))
	key := o.key()
	o.accepted(key.Key, loopback)
	if n := testing.AllocsPerRun(100, func() { o.dir.Authenticate(ctx, key.Key, access.V1, loopback) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
