package key_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"

	"github.com/google/go-cmp/cmp"
)

var (
	ctx      = context.Background()
	loopback = netip.MustParseAddr("127.0.0.1")
)

type office struct{ *operator.Office }

func newOffice(t *testing.T, d db.DB) *office {
	t.Helper()
	return &office{operator.NewOffice(t, d)}
}

// newKey returns the input for a key with all scopes, which may be used from 127/8 and ::1.
func (o *office) newKey() key.New {
	return key.New{
		Organization: o.Org.ID, Principal: o.Admin.ID, Environment: access.Live,
		Scopes: access.AllScopes(), Networks: []string{"127.0.0.0/8", "::1"},
	}
}

func (o *office) key() key.WithSecret {
	o.Helper()
	return must(o.Operator.CreateKey(ctx, o.newKey()))
}

// refused fails the test unless the key is refused with 401 and the log reason want. The fault must
// not contain anything else.
func (o *office) refused(presented string, from netip.Addr, want access.Reason) *access.Refusal {
	o.Helper()
	a, err := o.Dir.Authenticate(ctx, presented, access.V1, from)
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

// keyOwners are the ids of organizations and principals for the cases of keyRules.
type keyOwners struct{ sandbox, closed, clerk, viewer, gone string }

// keyRules are changes of a valid input. want are the expected errors, and nil if the key is
// accepted.
var keyRules = []struct {
	name   string
	change func(keyOwners, *key.New)
	want   []string
}{
	{"live", func(_ keyOwners, k *key.New) {}, nil},
	{"test by the live organization", func(_ keyOwners, k *key.New) { k.Environment = access.Test }, nil},
	{"test by the sandbox", func(o keyOwners, k *key.New) { k.Environment, k.Organization = access.Test, o.sandbox }, nil},
	{
		"live in the sandbox",
		func(o keyOwners, k *key.New) { k.Organization = o.sandbox },
		[]string{"environment FORBIDDEN_COMBINATION"},
	},
	{
		"live where the API is off",
		func(o keyOwners, k *key.New) { k.Organization, k.Principal = o.closed, o.clerk },
		[]string{"environment FORBIDDEN_COMBINATION"},
	},
	{"test where the API is off", func(o keyOwners, k *key.New) {
		k.Organization, k.Principal, k.Environment = o.closed, o.clerk, access.Test
	}, nil},
	{"no environment", func(_ keyOwners, k *key.New) { k.Environment = "" }, []string{"environment REQUIRED"}},
	{"other environment", func(_ keyOwners, k *key.New) { k.Environment = "prod" }, []string{"environment NOT_IN_ENUM"}},
	{"no organization", func(_ keyOwners, k *key.New) { k.Organization = "" }, []string{"organizationId REQUIRED"}},
	{
		"unknown organization",
		func(_ keyOwners, k *key.New) { k.Organization = id.New(id.Organization) },
		[]string{"organizationId NOT_FOUND"},
	},
	{"no principal", func(_ keyOwners, k *key.New) { k.Principal = "" }, []string{"principalId REQUIRED"}},
	{
		"unknown principal",
		func(_ keyOwners, k *key.New) { k.Principal = id.New(id.User) },
		[]string{"principalId NOT_FOUND"},
	},
	{"principal of others", func(o keyOwners, k *key.New) { k.Principal = o.clerk }, []string{"principalId NOT_FOUND"}},
	{
		"disabled principal",
		func(o keyOwners, k *key.New) { k.Principal = o.gone },
		[]string{"principalId FORBIDDEN_COMBINATION"},
	},
	{"no scopes", func(_ keyOwners, k *key.New) { k.Scopes = nil }, []string{"scopes REQUIRED"}},
	{"unknown scopes", func(_ keyOwners, k *key.New) {
		k.Scopes = []string{"contacts:read", "contacts:admin", "", "invoices:read", "contacts"}
	},
		[]string{"scopes[1] NOT_IN_ENUM", "scopes[2] NOT_IN_ENUM", "scopes[3] NOT_IN_ENUM", "scopes[4] NOT_IN_ENUM"}},
	{"beyond the rights", func(o keyOwners, k *key.New) {
		k.Principal, k.Scopes = o.viewer, []string{"contacts:read", "contacts:write", "tasks:read"}
	},
		[]string{"scopes[1] FORBIDDEN_COMBINATION", "scopes[2] FORBIDDEN_COMBINATION"}},
	{"writes without a network", func(_ keyOwners, k *key.New) { k.Networks = nil }, []string{"networks REQUIRED"}},
	{"reads without a network", func(_ keyOwners, k *key.New) { k.Networks, k.Scopes = nil, access.ReadScopes() }, nil},
	{"networks of all forms", func(_ keyOwners, k *key.New) {
		k.Networks = []string{
			"192.0.2.7", " 192.0.2.9/24 ", "2001:db8::1", "2001:db8::/48", "::ffff:10.1.2.3",
			"::ffff:10.0.0.0/104", "10.0.0.0/8",
		}
	}, nil},
	{"networks that are none", func(_ keyOwners, k *key.New) {
		k.Networks = []string{
			"", "localhost", "192.0.2.7/33", "192.0.2", "fe80::1%eth0", "::ffff:0:0/90", "192.0.2.7:80", "*",
		}
	}, []string{
		"networks[0] INVALID_FORMAT", "networks[1] INVALID_FORMAT", "networks[2] INVALID_FORMAT",
		"networks[3] INVALID_FORMAT",
		"networks[4] INVALID_FORMAT", "networks[5] INVALID_FORMAT", "networks[6] INVALID_FORMAT",
		"networks[7] INVALID_FORMAT"}},
	{"networks that bind nothing", func(_ keyOwners, k *key.New) {
		k.Networks = []string{"0.0.0.0/0", "0.0.0.0/7", "::/0", "2000::/15", "2001::/16"}
	},
		[]string{
			"networks[0] OUT_OF_RANGE", "networks[1] OUT_OF_RANGE", "networks[2] OUT_OF_RANGE",
			"networks[3] OUT_OF_RANGE",
		}},
	{
		"too many networks",
		func(_ keyOwners, k *key.New) { k.Networks = slices.Repeat([]string{"192.0.2.1"}, 51) },
		[]string{"networks TOO_LONG"},
	},
	{"shortest life", func(_ keyOwners, k *key.New) { k.ExpiresIn = time.Second }, nil},
	{"longest life", func(_ keyOwners, k *key.New) { k.ExpiresIn = key.MaxLifetime }, nil},
	{"too short", func(_ keyOwners, k *key.New) { k.ExpiresIn = time.Second - 1 }, []string{"expiresIn OUT_OF_RANGE"}},
	{"negative", func(_ keyOwners, k *key.New) { k.ExpiresIn = -time.Hour }, []string{"expiresIn OUT_OF_RANGE"}},
	{"too long", func(_ keyOwners, k *key.New) { k.ExpiresIn = key.MaxLifetime + 1 }, []string{"expiresIn OUT_OF_RANGE"}},
	{"known version", func(_ keyOwners, k *key.New) { k.VersionPin = "2026-11-01" }, nil},
	{"unknown version", func(_ keyOwners, k *key.New) { k.VersionPin = "2026-11-02" }, []string{"versionPin NOT_IN_ENUM"}},
	{"name", func(_ keyOwners, k *key.New) { k.Name = strings.Repeat("ä", 200) }, nil},
	{"name too long", func(_ keyOwners, k *key.New) { k.Name = strings.Repeat("ä", 201) }, []string{"name TOO_LONG"}},
	{"everything at once", func(_ keyOwners, k *key.New) { *k = key.New{VersionPin: "1999-01-01", ExpiresIn: -1} },
		[]string{
			"organizationId REQUIRED", "principalId REQUIRED", "environment REQUIRED", "scopes REQUIRED",
			"expiresIn OUT_OF_RANGE", "versionPin NOT_IN_ENUM",
		}},
}

// TestKeyRules checks all rules for keys, alone and in combination.
func TestKeyRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		closed := must(o.Operator.CreateOrganization(ctx, organization.New{Name: "Ohne API"}))
		clerk := must(o.Operator.CreateUser(ctx, principal.New{
			Organization: closed.ID, Name: "Amt", Email: "amt@example.org",
		}))
		viewer := must(o.Operator.CreateUser(ctx, principal.New{
			Organization: o.Org.ID,
			Name:         "Blick",
			Email:        "blick@example.org",
			Role:         access.Viewer,
			Rights:       access.Rights{"tasks": access.NoRight},
		}))
		gone := must(o.Operator.CreateServiceAccount(ctx, principal.New{Organization: o.Org.ID, Name: "Ruhend"}))
		must(o.Operator.SetServiceAccount(ctx, principal.Change{ID: gone.ID, Disabled: new(true)}))
		owners := keyOwners{o.Org.SandboxID, closed.ID, clerk.ID, viewer.ID, gone.ID}
		for _, rule := range keyRules {
			in := o.newKey()
			rule.change(owners, &in)
			made, err := o.Operator.CreateKey(ctx, in)
			if rule.want == nil {
				if err != nil {
					t.Errorf("%s: %v", rule.name, err)
				}
				continue
			}
			if diff := cmp.Diff(rule.want, operator.Wrong(t, err)); diff != "" || made != (key.WithSecret{}) {
				t.Errorf("%s: %s", rule.name, diff)
			}
		}
	})
}

func TestKeysAreShownWithoutTheirSecret(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		in := o.newKey()
		in.Name, in.ExpiresIn, in.Networks = "Abgleich", 48*time.Hour, []string{"192.0.2.9/24", "192.0.2.0/24", "127.0.0.1"}
		in.Scopes = []string{"contacts:write", "contacts:read"}
		made := must(o.Operator.CreateKey(ctx, in))
		in.Environment = access.Test
		test := must(o.Operator.CreateKey(ctx, in))

		o.showsKey(key.Info{
			ID: made.ID, KidShort: made.KidShort, Name: "Abgleich", OrganizationID: o.Org.ID, PrincipalID: o.Admin.ID,
			Environment: access.Live, Scopes: []string{"contacts:read", "contacts:write"},
			Networks:   []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("192.0.2.0/24")},
			VersionPin: "2026-11-01", Status: key.Active, CreatedAt: clock.FromTime(operator.Start),
			ExpiresAt: clock.FromTime(operator.Start.Add(48 * time.Hour)),
		})
		o.listsKeys(o.Org.ID, made.ID, test.ID)
		o.listsKeys(o.Org.SandboxID, test.ID)
		o.endsKey(made)
		o.knowsNoKey("", "key_x", id.New(id.Key), o.Org.ID)

		// The database has no value from which a key can be restored.
		var hash string
		dbtest.Get(t, d, []any{&hash}, `select secret_hash from api_keys where id = $1`, test.ID)
		if len(hash) != 64 || strings.Contains(test.Key, hash) {
			t.Errorf("stored: %q", hash)
		}
	})
}

func (o *office) showsKey(want key.Info) {
	o.Helper()
	got := must(o.Operator.GetKey(ctx, op.ByID{ID: want.ID}))
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".organization" || p.Last().String() == ".paused" || p.Last().String() == ".live"
	}, cmp.Ignore()), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		o.Error(diff)
	}
}

func (o *office) listsKeys(organization string, want ...string) {
	o.Helper()
	var list []string
	for _, k := range must(o.Operator.ListKeys(ctx, key.FindInput{Page: op.Page{Organization: organization}})).Data {
		list = append(list, k.ID)
	}
	if diff := cmp.Diff(want, list); diff != "" {
		o.Error(diff)
	}
}

// endsKey checks a key with a lifetime of two days: it pauses the key, waits for its expiry,
// rotates and revokes it.
func (o *office) endsKey(made key.WithSecret) {
	o.Helper()
	status := func() key.Status { return must(o.Operator.GetKey(ctx, op.ByID{ID: made.ID})).Status }
	if k := must(o.Operator.PauseKey(ctx, op.ByID{ID: made.ID})); k.Status != key.Paused || status() != key.Paused {
		o.Errorf("paused: %s, %s", k.Status, status())
	}
	o.Clock.Advance(48 * time.Hour)
	if status() != key.Expired {
		o.Errorf("expired: %s", status())
	}
	for life, want := range map[time.Duration]string{
		0: "expiresIn REQUIRED", key.MaxLifetime + 1: "expiresIn OUT_OF_RANGE",
	} {
		_, err := o.Operator.RotateKey(ctx, key.Rotation{ID: made.ID, ExpiresIn: life})
		if diff := cmp.Diff([]string{want}, operator.Wrong(o.T, err)); diff != "" {
			o.Error(diff)
		}
	}
	next := must(o.Operator.RotateKey(ctx, key.Rotation{ID: made.ID, ExpiresIn: time.Hour}))
	if next.ID != made.ID || next.Key == made.Key ||
		next.ExpiresAt != clock.FromTime(operator.Start.Add(49*time.Hour)) || status() != key.Paused {
		o.Errorf("rotated: %+v, %s", next, status())
	}
	o.refused(next.Key, loopback, access.Paused)
	if k := must(o.Operator.RevokeKey(ctx, op.ByID{ID: made.ID})); k.Status != key.Revoked ||
		k.RevokedAt != clock.FromTime(operator.Start.Add(48*time.Hour)) {
		o.Errorf("revoked: %+v", k)
	}
}

func (o *office) knowsNoKey(ids ...string) {
	o.Helper()
	for _, unknown := range ids {
		in := op.ByID{ID: unknown}
		for _, err := range []error{
			second(o.Operator.GetKey(ctx, in)), second(o.Operator.PauseKey(ctx, in)), second(o.Operator.ResumeKey(ctx, in)),
			second(o.Operator.RevokeKey(ctx, in)), second(o.Operator.RotateKey(ctx, key.Rotation{ID: unknown})),
		} {
			if !fault.Is(err, fault.NotFound) {
				o.Errorf("key %q: %v", unknown, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
