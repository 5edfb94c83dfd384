package settings_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"

	"github.com/google/go-cmp/cmp"
)

// wrong returns the fields of a 422 as 'name CODE'.
func wrong(t *testing.T, err error) []string {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.ValidationFailed {
		t.Fatalf("no 422: %v", err)
	}
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Name+" "+string(field.Code))
		if field.Message(fault.German) == "" || field.Message(fault.English) == "" {
			t.Errorf("%s says nothing", field.Name)
		}
	}
	return fields
}

func TestOrganizations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(start)
		dir := operator.New(d, c, access.NewDirectory(d, c, access.Options{}), versions...)
		org := must(dir.CreateOrganization(ctx, settings.NewOrganization{Name: "  Kanzlei  "}))
		if org.Name != "Kanzlei" || org.Module != "off" || org.Secrecy != "undeclared" || org.Level != access.Off || org.State != access.Open {
			t.Errorf("an organization opens its API deliberately: %+v", org)
		}
		sandbox := must(dir.GetOrganization(ctx, access.ByID{ID: org.SandboxID}))
		if sandbox.SandboxOf != org.ID || sandbox.Name != "Kanzlei (Sandbox)" || sandbox.Module != "on" ||
			sandbox.Secrecy != "declared" || sandbox.Level != access.On || sandbox.State != access.Open || sandbox.CreatedAt != clock.FromTime(start) {
			t.Errorf("sandbox: %+v", sandbox)
		}
		var ticks []clock.Micros
		err := d.Write(ctx, func(tx db.Tx) error {
			ticks = nil
			for _, number := range []int64{1, 2} { // each organization has its own clock
				tick, err := db.Tick(ctx, tx, number, 5)
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

		changed := must(dir.SetOrganization(ctx, settings.OrganizationChange{
			ID: org.ID, Name: ptr("Büro"), Module: ptr("on"), Secrecy: ptr("declared"), Level: ptr(access.Read), State: ptr(access.Closed),
		}))
		if got := must(dir.GetOrganization(ctx, access.ByID{ID: org.ID})); got != changed || got.Name != "Büro" || got.Level != access.Read || got.State != access.Closed {
			t.Errorf("after set: %+v, answered %+v", got, changed)
		}
		sandbox = must(dir.GetOrganization(ctx, access.ByID{ID: org.SandboxID}))
		if sandbox.Name != "Büro (Sandbox)" || sandbox.State != access.Closed || sandbox.Level != access.On {
			t.Errorf("sandbox after set: %+v", sandbox)
		}
		sandbox = must(dir.SetOrganization(ctx, settings.OrganizationChange{ID: sandbox.ID, Level: ptr(access.Off)}))
		if sandbox.Level != access.Off || must(dir.GetOrganization(ctx, access.ByID{ID: org.ID})).Level != access.Read {
			t.Error("the levels of an organization and of its sandbox are each one's own")
		}

		if _, err := dir.CreateOrganization(ctx, settings.NewOrganization{Name: " ", Module: "maybe", Secrecy: "no", Level: "write"}); true {
			want := []string{"name REQUIRED", "module NOT_IN_ENUM", "secrecy NOT_IN_ENUM", "level NOT_IN_ENUM"}
			if diff := cmp.Diff(want, wrong(t, err)); diff != "" {
				t.Error(diff)
			}
		}
		_, err = dir.SetOrganization(ctx, settings.OrganizationChange{ID: org.ID, Name: ptr(strings.Repeat("ä", 201)), State: ptr(access.State("gone"))})
		if diff := cmp.Diff([]string{"name TOO_LONG", "state NOT_IN_ENUM"}, wrong(t, err)); diff != "" {
			t.Error(diff)
		}
		_, err = dir.SetOrganization(ctx, settings.OrganizationChange{ID: sandbox.ID, Name: ptr("a\x00b"), State: ptr(access.Open)})
		if diff := cmp.Diff([]string{"name INVALID_FORMAT", "name READ_ONLY", "state READ_ONLY"}, wrong(t, err)); diff != "" {
			t.Error(diff)
		}
		for _, unknown := range []string{"", "org_", id.New(id.Organization), id.New(id.User), "a\x00b"} {
			if _, err := dir.GetOrganization(ctx, access.ByID{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("get %q: %v", unknown, err)
			}
			if _, err := dir.SetOrganization(ctx, settings.OrganizationChange{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("set %q: %v", unknown, err)
			}
		}
	})
}

func TestLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		must(o.operator.CreateOrganization(ctx, settings.NewOrganization{Name: "Zweite"}))
		var names []string
		var page access.Page
		for page.Limit = 3; ; {
			list := must(o.operator.ListOrganizations(ctx, page))
			for _, org := range list.Data {
				names = append(names, org.Name)
				page.After = org.ID
			}
			if !list.HasMore {
				break
			}
		}
		want := []string{"Kanzlei Morgenstern", "Kanzlei Morgenstern (Sandbox)", "Zweite", "Zweite (Sandbox)"}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		for _, limit := range []int{-1, 1001} {
			if _, err := o.operator.ListKeys(ctx, key.FindInput{Page: access.Page{Limit: limit}}); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if list := must(o.operator.ListServiceAccounts(ctx, access.Page{})); list.Data == nil || len(list.Data) != 0 {
			t.Errorf("no service accounts: %#v", list.Data)
		}
	})
}

func TestPrincipals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		user := must(o.operator.CreateUser(ctx, settings.NewPrincipal{
			Organization: o.org.SandboxID, Name: "Ida Nuß", Email: "Ida.Nuss@Morgenstern.example", Rights: access.Rights{"tasks": access.ReadRight},
		}))
		if user.Role != access.Member || user.OrganizationID != o.org.ID || user.Type != access.UserPrincipal || !id.Valid(id.User, user.ID) {
			t.Errorf("user: %+v", user)
		}
		robot := must(o.operator.CreateServiceAccount(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "Abgleich", Role: access.Viewer}))
		if robot.Email != "" || robot.Type != access.ServiceAccountPrincipal || !id.Valid(id.ServiceAccount, robot.ID) {
			t.Errorf("service account: %+v", robot)
		}
		users := must(o.operator.ListUsers(ctx, access.Page{Organization: o.org.SandboxID}))
		if diff := cmp.Diff([]string{o.admin.ID, user.ID}, ids(users.Data)); diff != "" {
			t.Error(diff)
		}
		if robots := must(o.operator.ListServiceAccounts(ctx, access.Page{Organization: o.org.ID})); len(robots.Data) != 1 || robots.Data[0].ID != robot.ID {
			t.Errorf("service accounts: %+v", robots)
		}
		nowhere := access.Page{Organization: id.New(id.Organization)}
		_, noUsers := o.operator.ListUsers(ctx, nowhere)
		_, noAccounts := o.operator.ListServiceAccounts(ctx, nowhere)
		_, noKeys := o.operator.ListKeys(ctx, key.FindInput{Page: nowhere})
		for _, err := range []error{noUsers, noAccounts, noKeys} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("a list of an organization that does not exist: %v", err)
			}
		}

		changed := must(o.operator.SetUser(ctx, settings.PrincipalChange{
			ID: user.ID, Name: ptr("Ida Nuss"), Role: ptr(access.Admin), Rights: access.Rights{"contacts": access.NoRight}, Disabled: ptr(true),
		}))
		got := must(o.operator.GetPrincipal(ctx, access.ByID{ID: user.ID}))
		wantRights := access.Rights{"tasks": access.ReadRight, "contacts": access.NoRight}
		if got.Name != "Ida Nuss" || got.Role != access.Admin || !got.Disabled || got.Email != user.Email || !cmp.Equal(got.Rights, wantRights) {
			t.Errorf("after set: %+v, answered %+v", got, changed)
		}
		must(o.operator.SetUser(ctx, settings.PrincipalChange{ID: user.ID, Email: ptr("ida.nuss@morgenstern.example")})) // the user's own, in another case

		refusals := []struct {
			name string
			err  error
			want []string
		}{
			{"email of another", second(o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "X", Email: "JOHANNA@morgenstern.example"})), []string{"email DUPLICATE"}},
			{"set to that of another", second(o.operator.SetUser(ctx, settings.PrincipalChange{ID: user.ID, Email: ptr("johanna@morgenstern.example")})), []string{"email DUPLICATE"}},
			{"everything missing", second(o.operator.CreateUser(ctx, settings.NewPrincipal{})), []string{"organizationId REQUIRED", "name REQUIRED", "email REQUIRED"}},
			{"everything wrong", second(o.operator.CreateUser(ctx, settings.NewPrincipal{
				Organization: "org_x", Name: "a\nb", Email: "not an address", Role: "boss", Rights: access.Rights{"invoices": access.ReadRight, "tasks": "all"},
			})), []string{"organizationId NOT_FOUND", "name INVALID_FORMAT", "email INVALID_FORMAT", "role NOT_IN_ENUM", "rights UNKNOWN_FIELD", "rights.tasks NOT_IN_ENUM"}},
			{"email too long", second(o.operator.SetUser(ctx, settings.PrincipalChange{ID: user.ID, Email: ptr(strings.Repeat("a", 250) + "@b.de")})), []string{"email TOO_LONG"}},
			{"email taken away", second(o.operator.SetUser(ctx, settings.PrincipalChange{ID: user.ID, Email: ptr("")})), []string{"email REQUIRED"}},
			{"service account with email", second(o.operator.CreateServiceAccount(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "X", Email: "x@y.example"})), []string{"email FORBIDDEN_COMBINATION"}},
		}
		for _, r := range refusals {
			if diff := cmp.Diff(r.want, wrong(t, r.err)); diff != "" {
				t.Errorf("%s: %s", r.name, diff)
			}
		}
		for _, unknown := range []string{"", robot.ID, id.New(id.User), o.org.ID} {
			if _, err := o.operator.SetUser(ctx, settings.PrincipalChange{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("set user %q: %v", unknown, err)
			}
		}
		if _, err := o.operator.SetServiceAccount(ctx, settings.PrincipalChange{ID: user.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a user was set as a service account: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func ids(ps []access.PrincipalInfo) []string {
	var list []string
	for _, p := range ps {
		list = append(list, p.ID)
	}
	return list
}

func TestPrincipalExists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		other := must(o.operator.CreateOrganization(ctx, settings.NewOrganization{Name: "Andere"}))
		stranger := must(o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: other.ID, Name: "Fremd", Email: "fremd@example.org"}))
		gone := must(o.operator.CreateServiceAccount(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "Ruhend"}))
		must(o.operator.SetServiceAccount(ctx, settings.PrincipalChange{ID: gone.ID, Disabled: ptr(true)}))
		in := o.newKey()
		live := o.accepted(must(o.operator.CreateKey(ctx, in)).Key, loopback).Org()
		in.Environment = access.Test
		sandbox := o.accepted(must(o.operator.CreateKey(ctx, in)).Key, loopback).Org()
		if live == sandbox {
			t.Fatal("one number for an organization and its sandbox")
		}
		err := d.Read(ctx, func(tx db.Tx) error {
			for _, number := range []int64{live, sandbox} {
				for principal, want := range map[string]bool{
					o.admin.ID: true, gone.ID: true, stranger.ID: false, id.New(id.User): false, "": false,
				} {
					if got, err := access.PrincipalExists(ctx, tx, number, principal); err != nil || got != want {
						t.Errorf("organization %d, principal %q: %t %v", number, principal, got, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// keyOwners are ids of organizations and principals that keys may name.
type keyOwners struct{ sandbox, closed, clerk, viewer, gone string }

// keyRules change a valid key. want is nil if the key is accepted.
var keyRules = []struct {
	name   string
	change func(keyOwners, *key.New)
	want   []string
}{
	{"live", func(_ keyOwners, k *key.New) {}, nil},
	{"test by the live organization", func(_ keyOwners, k *key.New) { k.Environment = access.Test }, nil},
	{"test by the sandbox", func(o keyOwners, k *key.New) { k.Environment, k.Organization = access.Test, o.sandbox }, nil},
	{"live in the sandbox", func(o keyOwners, k *key.New) { k.Organization = o.sandbox }, []string{"environment FORBIDDEN_COMBINATION"}},
	{"live where the API is off", func(o keyOwners, k *key.New) { k.Organization, k.Principal = o.closed, o.clerk }, []string{"environment FORBIDDEN_COMBINATION"}},
	{"test where the API is off", func(o keyOwners, k *key.New) {
		k.Organization, k.Principal, k.Environment = o.closed, o.clerk, access.Test
	}, nil},
	{"no environment", func(_ keyOwners, k *key.New) { k.Environment = "" }, []string{"environment REQUIRED"}},
	{"other environment", func(_ keyOwners, k *key.New) { k.Environment = "prod" }, []string{"environment NOT_IN_ENUM"}},
	{"no organization", func(_ keyOwners, k *key.New) { k.Organization = "" }, []string{"organizationId REQUIRED"}},
	{"unknown organization", func(_ keyOwners, k *key.New) { k.Organization = id.New(id.Organization) }, []string{"organizationId NOT_FOUND"}},
	{"no principal", func(_ keyOwners, k *key.New) { k.Principal = "" }, []string{"principalId REQUIRED"}},
	{"unknown principal", func(_ keyOwners, k *key.New) { k.Principal = id.New(id.User) }, []string{"principalId NOT_FOUND"}},
	{"principal of others", func(o keyOwners, k *key.New) { k.Principal = o.clerk }, []string{"principalId NOT_FOUND"}},
	{"disabled principal", func(o keyOwners, k *key.New) { k.Principal = o.gone }, []string{"principalId FORBIDDEN_COMBINATION"}},
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
		k.Networks = []string{"192.0.2.7", " 192.0.2.9/24 ", "2001:db8::1", "2001:db8::/48", "::ffff:10.1.2.3", "::ffff:10.0.0.0/104", "10.0.0.0/8"}
	}, nil},
	{"networks that are none", func(_ keyOwners, k *key.New) {
		k.Networks = []string{"", "localhost", "192.0.2.7/33", "192.0.2", "fe80::1%eth0", "::ffff:0:0/90", "192.0.2.7:80", "*"}
	}, []string{
		"networks[0] INVALID_FORMAT", "networks[1] INVALID_FORMAT", "networks[2] INVALID_FORMAT", "networks[3] INVALID_FORMAT",
		"networks[4] INVALID_FORMAT", "networks[5] INVALID_FORMAT", "networks[6] INVALID_FORMAT", "networks[7] INVALID_FORMAT"}},
	{"networks that bind nothing", func(_ keyOwners, k *key.New) {
		k.Networks = []string{"0.0.0.0/0", "0.0.0.0/7", "::/0", "2000::/15", "2001::/16"}
	},
		[]string{"networks[0] OUT_OF_RANGE", "networks[1] OUT_OF_RANGE", "networks[2] OUT_OF_RANGE", "networks[3] OUT_OF_RANGE"}},
	{"too many networks", func(_ keyOwners, k *key.New) { k.Networks = slices.Repeat([]string{"192.0.2.1"}, 51) }, []string{"networks TOO_LONG"}},
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
		[]string{"organizationId REQUIRED", "principalId REQUIRED", "environment REQUIRED", "scopes REQUIRED", "expiresIn OUT_OF_RANGE", "versionPin NOT_IN_ENUM"}},
}

// All rules for keys, alone and combined.
func TestKeyRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		closed := must(o.operator.CreateOrganization(ctx, settings.NewOrganization{Name: "Ohne API"}))
		clerk := must(o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: closed.ID, Name: "Amt", Email: "amt@example.org"}))
		viewer := must(o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "Blick", Email: "blick@example.org", Role: access.Viewer, Rights: access.Rights{"tasks": access.NoRight}}))
		gone := must(o.operator.CreateServiceAccount(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "Ruhend"}))
		must(o.operator.SetServiceAccount(ctx, settings.PrincipalChange{ID: gone.ID, Disabled: ptr(true)}))
		owners := keyOwners{o.org.SandboxID, closed.ID, clerk.ID, viewer.ID, gone.ID}
		for _, rule := range keyRules {
			in := o.newKey()
			rule.change(owners, &in)
			made, err := o.operator.CreateKey(ctx, in)
			if rule.want == nil {
				if err != nil {
					t.Errorf("%s: %v", rule.name, err)
				}
				continue
			}
			if diff := cmp.Diff(rule.want, wrong(t, err)); diff != "" || made != (key.Created{}) {
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
		made := must(o.operator.CreateKey(ctx, in))
		in.Environment = access.Test
		test := must(o.operator.CreateKey(ctx, in))

		o.showsKey(key.Info{
			ID: made.ID, KidShort: made.KidShort, Name: "Abgleich", OrganizationID: o.org.ID, PrincipalID: o.admin.ID,
			Environment: access.Live, Scopes: []string{"contacts:read", "contacts:write"},
			Networks:   []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("192.0.2.0/24")},
			VersionPin: "2026-11-01", Status: key.Active, CreatedAt: clock.FromTime(start), ExpiresAt: clock.FromTime(start.Add(48 * time.Hour)),
		})
		o.listsKeys(o.org.ID, made.ID, test.ID)
		o.listsKeys(o.org.SandboxID, test.ID)
		o.endsKey(made)
		o.knowsNoKey("", "key_x", id.New(id.Key), o.org.ID)

		// The database holds no secret from which a key could be restored.
		var hash string
		dbtest.Get(t, d, []any{&hash}, `select secret_hash from api_keys where id = $1`, test.ID)
		if len(hash) != 64 || strings.Contains(test.Key, hash) {
			t.Errorf("stored: %q", hash)
		}
	})
}

func (o *office) showsKey(want key.Info) {
	o.Helper()
	got := must(o.operator.GetKey(ctx, access.ByID{ID: want.ID}))
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".organization" || p.Last().String() == ".paused" || p.Last().String() == ".live"
	}, cmp.Ignore()), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		o.Error(diff)
	}
}

func (o *office) listsKeys(organization string, want ...string) {
	o.Helper()
	var list []string
	for _, k := range must(o.operator.ListKeys(ctx, key.FindInput{Page: access.Page{Organization: organization}})).Data {
		list = append(list, k.ID)
	}
	if diff := cmp.Diff(want, list); diff != "" {
		o.Error(diff)
	}
}

// endsKey pauses a key of two days, outlives it, rotates and revokes it.
func (o *office) endsKey(made key.Created) {
	o.Helper()
	status := func() key.Status { return must(o.operator.GetKey(ctx, access.ByID{ID: made.ID})).Status }
	if k := must(o.operator.PauseKey(ctx, access.ByID{ID: made.ID})); k.Status != key.Paused || status() != key.Paused {
		o.Errorf("paused: %s, %s", k.Status, status())
	}
	o.clock.Advance(48 * time.Hour)
	if status() != key.Expired {
		o.Errorf("expired: %s", status())
	}
	for life, want := range map[time.Duration]string{0: "expiresIn REQUIRED", key.MaxLifetime + 1: "expiresIn OUT_OF_RANGE"} {
		_, err := o.operator.RotateKey(ctx, key.Rotation{ID: made.ID, ExpiresIn: life})
		if diff := cmp.Diff([]string{want}, wrong(o.T, err)); diff != "" {
			o.Error(diff)
		}
	}
	next := must(o.operator.RotateKey(ctx, key.Rotation{ID: made.ID, ExpiresIn: time.Hour}))
	if next.ID != made.ID || next.Key == made.Key || next.ExpiresAt != clock.FromTime(start.Add(49*time.Hour)) || status() != key.Paused {
		o.Errorf("rotated: %+v, %s", next, status())
	}
	o.refused(next.Key, loopback, access.Paused)
	if k := must(o.operator.RevokeKey(ctx, access.ByID{ID: made.ID})); k.Status != key.Revoked || k.RevokedAt != clock.FromTime(start.Add(48*time.Hour)) {
		o.Errorf("revoked: %+v", k)
	}
}

func (o *office) knowsNoKey(ids ...string) {
	o.Helper()
	for _, unknown := range ids {
		in := access.ByID{ID: unknown}
		for _, err := range []error{
			second(o.operator.GetKey(ctx, in)), second(o.operator.PauseKey(ctx, in)), second(o.operator.ResumeKey(ctx, in)),
			second(o.operator.RevokeKey(ctx, in)), second(o.operator.RotateKey(ctx, key.Rotation{ID: unknown})),
		} {
			if !fault.Is(err, fault.NotFound) {
				o.Errorf("key %q: %v", unknown, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		err := d.Write(ctx, func(tx db.Tx) error {
			for _, value := range []string{"", "one", "two", ""} {
				if value != "" {
					if err := access.PutSetting(ctx, tx, "paused", value); err != nil {
						return err
					}
				}
				got, err := access.Setting(ctx, tx, pickName(value))
				if err != nil || got != value {
					t.Errorf("setting %q: %v", got, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func pickName(value string) string {
	if value == "" {
		return "never set"
	}
	return "paused"
}
