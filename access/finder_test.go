package access_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// badges is the scheme of test credentials, which are found by their names.
const badges access.Scheme = "badge"

// badge returns a Finder of the badges in the map all. The test may change the map meanwhile.
func badge(all map[string]access.Proof) access.Finder {
	find := func(name string) (access.Proof, error) {
		if p, known := all[name]; known {
			p.ID = "bdg_" + name
			return p, nil
		}
		return access.Proof{}, db.ErrNoRows
	}
	return access.Finder{
		Kind: "badge", Prefix: "bdg_", Duties: &access.Duties{Gate: true},
		ByText: func(_ context.Context, _ db.Tx, text string) (access.Proof, error) { return find(text) },
		ByID: func(_ context.Context, _ db.Tx, organization int64, id string) (access.Proof, error) {
			p, err := find(strings.TrimPrefix(id, "bdg_"))
			if err == nil && p.Organization != organization {
				err = db.ErrNoRows
			}
			return p, err
		},
	}
}

// TestCredentialIsJudged checks that the directory decides about credentials of any kind, both
// when they are presented and later by their ids.
func TestCredentialIsJudged(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		all := map[string]access.Proof{}
		o.dir.Accept(badges, badge(all))
		off := must(o.operator.CreateUser(ctx, principal.New{
			Organization: o.org.ID, Name: "Ida Berg", Email: "ida@morgenstern.example",
		}))
		must(o.operator.SetUser(ctx, principal.Change{ID: off.ID, Disabled: ptr(true)}))
		other := newOfficeOf(t, d, 2)
		mine := access.Proof{
			Organization: o.org.Number,
			Principal:    o.admin.ID,
			Scopes:       []string{"contacts:read", "documents:write"},
		}
		for name, c := range map[string]struct {
			change func(*access.Proof)
			want   access.Reason
		}{
			"valid":                      {func(*access.Proof) {}, ""},
			"expires later":              {func(p *access.Proof) { p.ExpiresAt = clock.Now(o.clock) + 1 }, ""},
			"expired":                    {func(p *access.Proof) { p.ExpiresAt = clock.Now(o.clock) }, access.Expired},
			"revoked":                    {func(p *access.Proof) { p.Refused = access.Revoked }, access.Revoked},
			"of a disabled principal":    {func(p *access.Proof) { p.Principal = off.ID }, access.PrincipalDisabled},
			"of another organization":    {func(p *access.Proof) { p.Organization = other.org.Number }, access.Unknown},
			"of nobody":                  {func(p *access.Proof) { p.Principal = "" }, access.Unknown},
			"revoked and expired":        {func(p *access.Proof) { p.Refused, p.ExpiresAt = access.Revoked, 1 }, access.Revoked},
			"that does not exist":        {nil, access.Unknown},
			"that its caller left empty": {nil, access.Missing},
		} {
			p, text := mine, name
			if c.want == access.Missing {
				text = ""
			}
			if c.change != nil {
				c.change(&p)
				all[name] = p
			}
			a, assumed, err := o.dir.Resolve(ctx, access.Presentation{Scheme: badges, Text: text}, loopback, false)
			switch {
			case c.want == "" && (err != nil || assumed || a.PrincipalID() != o.admin.ID ||
				strings.Join(a.Scopes(), " ") != "contacts:read documents:write"):
				t.Errorf("%s: %+v %v", name, a, err)
			case c.want != "" && (!fault.Is(err, fault.Unauthenticated) || access.RefusalOf(err).Reason != c.want):
				t.Errorf("%s: %v, want %s", name, err, c.want)
			case c.want != "" && c.want != access.Unknown && c.want != access.Missing &&
				access.RefusalOf(err).KeyID != "bdg_"+name:
				t.Errorf("%s: the refusal names %+v", name, access.RefusalOf(err))
			}
			for scope, held := range map[string]bool{"documents:write": true, "tasks:write": false} {
				allows, err := allows(o, p.Organization, "bdg_"+name, scope)
				if err != nil || allows != (held && c.want == "") {
					t.Errorf("%s allows %s: %t %v", name, scope, allows, err)
				}
			}
			if allows, err := allows(o, other.org.Number, "bdg_"+name, "documents:write"); allows || err != nil {
				t.Errorf("%s allows another organization: %t %v", name, allows, err)
			}
		}
		must(o.operator.SetOrganization(ctx, organization.Change{ID: o.org.ID, Level: ptr(access.Read)}))
		if allows, err := allows(o, o.org.Number, "bdg_valid", "documents:write"); allows || err != nil {
			t.Errorf("at the level read: %t %v", allows, err)
		}
		if allows, err := allows(o, o.org.Number, "cat_valid", "documents:write"); allows || err != nil {
			t.Errorf("a kind that nobody knows: %t %v", allows, err)
		}
	})
}

func allows(o *office, organization int64, credential, scope string) (allows bool, err error) {
	err = o.db.Read(ctx, func(tx db.Tx) (err error) {
		allows, err = o.dir.Allows(ctx, tx, organization, credential, scope, clock.Now(o.clock))
		return err
	})
	return allows, err
}

// TestCredentialGuesses checks that guesses of any kind of credential block their address. They
// do not block a credential that was used from there before.
func TestCredentialGuesses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOfficeWith(t, d, access.Options{Failures: 5, FailureWindow: time.Minute})
		mine := access.Proof{Organization: o.org.Number, Principal: o.admin.ID}
		o.dir.Accept(badges, badge(map[string]access.Proof{"used": mine, "new": mine}))
		resolve := func(text string) error {
			_, _, err := o.dir.Resolve(ctx, access.Presentation{Scheme: badges, Text: text}, loopback, false)
			return err
		}
		if err := resolve("used"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := resolve("guess"); !fault.Is(err, fault.Unauthenticated) {
				t.Fatal(err)
			}
		}
		for _, text := range []string{"guess", "new"} {
			if err := resolve(text); !fault.Is(err, fault.RateLimited) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if err := resolve("used"); err != nil {
			t.Error(err)
		}
		o.clock.Advance(time.Minute)
		if err := resolve("new"); err != nil {
			t.Error(err)
		}
	})
}

// TestCredentialKindIsWhole checks that Accept panics for an incomplete finder.
func TestCredentialKindIsWhole(t *testing.T) {
	whole := badge(nil)
	for name, f := range map[string]access.Finder{
		"duties": {Kind: whole.Kind, Prefix: whole.Prefix, ByText: whole.ByText, ByID: whole.ByID},
		"prefix": {Kind: whole.Kind, Duties: whole.Duties, ByText: whole.ByText, ByID: whole.ByID},
		"ByID":   {Kind: whole.Kind, Duties: whole.Duties, Prefix: whole.Prefix, ByText: whole.ByText},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a kind without %s is accepted", name)
				}
			}()
			access.NewDirectory(dbtest.SQLite(t), clockAt(time.Unix(0, 0)), access.Options{}).Accept(badges, f)
		}()
	}
}
