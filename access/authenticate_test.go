package access_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	keys "kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"

	"github.com/google/go-cmp/cmp"
)

func TestAuthenticate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		in := o.newKey()
		in.Environment, in.Scopes = access.Test, []string{"tasks:write", "contacts:read", "tasks:write"}
		key := must(o.operator.CreateKey(ctx, in))
		for range 2 { // first from the database, then from the cache
			a := o.accepted(key.Key, loopback)
			if a.PrincipalID() != o.admin.ID || a.PrincipalName() != o.admin.Name ||
				a.PrincipalType() != access.UserPrincipal || !a.SeesAll() {
				t.Errorf("principal: %s %s %s", a.PrincipalID(), a.PrincipalName(), a.PrincipalType())
			}
			if org := a.Organization(); org.ID != o.org.SandboxID || !org.Sandbox ||
				org.Name != "Kanzlei Morgenstern (Sandbox)" {
				t.Errorf("organization: %+v", org)
			}
			want := &access.Credential{
				ID: key.ID, Kind: access.Key, Short: key.KidShort, Environment: access.Test, VersionPin: versions[0],
				ExpiresAt: key.ExpiresAt,
				Duties: access.Duties{
					Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
					RequestLog: true,
				},
			}
			if diff := cmp.Diff(want, a.Credential()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"contacts:read", "tasks:write"}, a.Scopes()); diff != "" {
				t.Error(diff)
			}
			if err := a.Gate(false); err != nil {
				t.Errorf("the sandbox's API is open from the start: %v", err)
			}
		}
		if want := clock.FromTime(start).Add(keys.DefaultLifetime); key.ExpiresAt != want {
			t.Errorf("expires %s, want %s", key.ExpiresAt, want)
		}
		if !strings.HasPrefix(key.Key, "kart_test_"+key.KidShort) {
			t.Errorf("key %s does not begin with its kidShort %s", key.Key, key.KidShort)
		}
	})
}

// otherDigit returns a key with a different digit at one place.
func otherDigit(key string, at int) string {
	digit := "A"
	if key[at] == 'A' {
		digit = "B"
	}
	return key[:at] + digit + key[at+1:]
}

// badCredentials are the ways in which a credential can fail.
var badCredentials = []struct {
	name   string
	reason access.Reason
	known  bool // the refusal has the id of the key
	// breaks makes the key invalid and returns the text and the address that the caller presents.
	breaks func(o *office, k keys.WithSecret) (string, netip.Addr)
}{
	{"nothing presented", access.Missing, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return "", loopback
	}},
	{"cut", access.Malformed, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return k.Key[:len(k.Key)-1], loopback
	}},
	{"too long", access.Malformed, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return k.Key + "0", loopback
	}},
	{"with spaces", access.Malformed, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return " " + k.Key[1:], loopback
	}},
	{"mistyped", access.WrongChecksum, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return otherDigit(k.Key, 40), loopback
	}},
	{"live key called a test key", access.WrongChecksum, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return strings.Replace(k.Key, "live", "test", 1), loopback
	}},
	{"unknown kid", access.Unknown, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return access.Forge(otherDigit(k.Key, 12)), loopback
	}},
	{"test environment forged", access.Unknown, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return access.Forge(strings.Replace(k.Key, "live", "test", 1)), loopback
	}},
	{"wrong secret", access.WrongSecret, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return access.Forge(otherDigit(k.Key, 40)), loopback
	}},
	{"expired", access.Expired, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		o.clock.Advance(keys.DefaultLifetime)
		return k.Key, loopback
	}},
	{"paused", access.Paused, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.PauseKey(ctx, op.ByID{ID: k.ID}))
		return k.Key, loopback
	}},
	{"revoked", access.Revoked, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.RevokeKey(ctx, op.ByID{ID: k.ID}))
		return k.Key, loopback
	}},
	{"rotated away", access.Rotated, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.RotateKey(ctx, keys.Rotation{ID: k.ID}))
		return k.Key, loopback
	}},
	{"rotated away, wrong secret", access.WrongSecret, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.RotateKey(ctx, keys.Rotation{ID: k.ID}))
		return access.Forge(otherDigit(k.Key, 40)), loopback
	}},
	{"rotated away and away again", access.Unknown, false, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.RotateKey(ctx, keys.Rotation{ID: k.ID}))
		must(o.operator.RotateKey(ctx, keys.Rotation{ID: k.ID}))
		return k.Key, loopback
	}},
	{"address not allowed", access.WrongAddress, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return k.Key, netip.MustParseAddr("192.0.2.7")
	}},
	{"no address", access.WrongAddress, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		return k.Key, netip.Addr{}
	}},
	{"principal disabled", access.PrincipalDisabled, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.SetUser(ctx, principal.Change{ID: o.admin.ID, Disabled: ptr(true)}))
		return k.Key, loopback
	}},
	{"API of the organization off", access.APIOff, true, func(o *office, k keys.WithSecret) (string, netip.Addr) {
		must(o.operator.SetOrganization(ctx, organization.Change{ID: o.org.ID, Level: ptr(access.Off)}))
		return k.Key, loopback
	}},
}

// TestEveryRefusalIsTheSame checks that every failure of a credential causes the same fault. The
// request log has the exact reason and the known details of the key.
func TestEveryRefusalIsTheSame(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		for i, c := range badCredentials {
			t.Run(c.name, func(t *testing.T) {
				o := newOfficeOf(t, d, i)
				key := o.key()
				o.accepted(key.Key, loopback) // so that the key is in the cache
				presented, from := c.breaks(o, key)
				for range 2 {
					r := o.refused(presented, from, c.reason)
					want := access.Refusal{Reason: c.reason}
					if c.known {
						want.KeyID, want.KidShort = key.ID, key.KidShort
						want.Organization = r.Organization
						if r.Organization == 0 {
							t.Error("the refusal does not name the organization")
						}
					}
					if *r != want {
						t.Errorf("refusal %+v, want %+v", *r, want)
					}
				}
				fresh := access.NewDirectory(d, o.clock, access.Options{})
				if _, err := fresh.Authenticate(ctx, presented, access.V1, from); access.RefusalOf(err) == nil ||
					access.RefusalOf(err).Reason != c.reason {
					t.Errorf("another replica: %v", err)
				}
			})
		}
	})
}

// TestWrongSecretComesFirst checks that a wrong secret is refused as such, even if the key is
// also revoked. So a guesser learns nothing about the state of the key.
func TestWrongSecretComesFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		key := o.key()
		must(o.operator.RevokeKey(ctx, op.ByID{ID: key.ID}))
		o.refused(access.Forge(key.Key[:40]+flip(key.Key[40])+key.Key[41:]), netip.MustParseAddr("192.0.2.7"),
			access.WrongSecret)
	})
}

func flip(b byte) string {
	if b == 'x' {
		return "y"
	}
	return "x"
}

func TestChangesApplyToTheNextCall(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		key := o.key()
		id := op.ByID{ID: key.ID}
		o.accepted(key.Key, loopback)
		must(o.operator.PauseKey(ctx, id))
		o.refused(key.Key, loopback, access.Paused)
		must(o.operator.ResumeKey(ctx, id))
		o.accepted(key.Key, loopback)

		next := must(o.operator.RotateKey(ctx, keys.Rotation{ID: key.ID}))
		o.refused(key.Key, loopback, access.Rotated)
		if a := o.accepted(next.Key, loopback); a.Credential().ID != key.ID || next.ExpiresAt != key.ExpiresAt {
			t.Errorf("the new key is not the old one with a new secret: %+v", a.Credential())
		}
		must(o.operator.SetUser(ctx, principal.Change{ID: o.admin.ID, Role: ptr(access.Viewer)}))
		if a := o.accepted(next.Key, loopback); a.May("contacts:write") || !a.May("contacts:read") || a.SeesAll() {
			t.Errorf("a viewer has %v", a.Scopes())
		}
		must(o.operator.SetOrganization(ctx, organization.Change{ID: o.org.ID, Name: ptr("Neu")}))
		if a := o.accepted(next.Key, loopback); a.Organization().Name != "Neu" {
			t.Errorf("organization is still %s", a.Organization().Name)
		}
		must(o.operator.RevokeKey(ctx, id))
		o.refused(next.Key, loopback, access.Revoked)
		must(o.operator.RevokeKey(ctx, id)) // a second revocation succeeds
		if _, err := o.operator.ResumeKey(ctx, id); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("a revoked key was resumed: %v", err)
		}
		if _, err := o.operator.RotateKey(ctx, keys.Rotation{ID: key.ID}); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("a revoked key was rotated: %v", err)
		}
	})
}

// TestChangesApplyOnOtherReplicas checks replicas with a common database. An act on one replica
// applies to the next call on the others.
func TestChangesApplyOnOtherReplicas(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		if d.Dialect().Name == "sqlite" {
			t.Skip("SQLite belongs to one process")
		}
		o := newOffice(t, d)
		key := o.key()
		other := operator.New(d, o.clock, access.NewDirectory(d, o.clock, access.Options{}))
		for range 3 {
			o.accepted(key.Key, loopback)
			must(other.PauseKey(ctx, op.ByID{ID: key.ID}))
			o.refused(key.Key, loopback, access.Paused)
			must(other.ResumeKey(ctx, op.ByID{ID: key.ID}))
		}
	})
}

func TestAddresses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		in := o.newKey()
		in.Networks = []string{"192.0.2.0/24", "2001:db8:7::/48", "198.51.100.9"}
		bound := must(o.operator.CreateKey(ctx, in)).Key
		in.Networks, in.Scopes = nil, access.ReadScopes()
		free := must(o.operator.CreateKey(ctx, in)).Key
		for address, want := range map[string]bool{
			"192.0.2.0": true, "192.0.2.255": true, "192.0.3.0": false, "::ffff:192.0.2.7": true,
			"198.51.100.9": true, "198.51.100.8": false, "2001:db8:7:1::1": true, "2001:db8:8::1": false,
			"fe80::1%eth0": false, "127.0.0.1": false,
		} {
			from := netip.MustParseAddr(address)
			if want {
				o.accepted(bound, from)
			} else {
				o.refused(bound, from, access.WrongAddress)
			}
			o.accepted(free, from)
		}
	})
}

// countingDB is a database that counts reads. Its reads fail with err if err is set.
type countingDB struct {
	db.DB
	reads int
	err   error
}

func (c *countingDB) Read(ctx context.Context, f func(db.Tx) error) error {
	c.reads++
	if c.err != nil {
		return c.err
	}
	return c.DB.Read(ctx, f)
}

// TestQueriesByOutcome checks that a cached key needs no query for its lookup, and that every
// refusal needs the same number of queries.
func TestQueriesByOutcome(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		counting := &countingDB{DB: d}
		o := newOffice(t, counting)
		key := o.key()
		wrong := access.Forge(key.Key[:40] + flip(key.Key[40]) + key.Key[41:])
		count := func(presented string, from netip.Addr) int {
			counting.reads = 0
			o.dir.Authenticate(ctx, presented, access.V1, from)
			return counting.reads
		}
		perCall := 0 // the query for the generation, if replicas share the database
		if d.Dialect().Name != "sqlite" {
			perCall = 1
		}
		count(key.Key, loopback)
		if n := count(key.Key, loopback); n != perCall {
			t.Errorf("a key in memory took %d queries, want %d", n, perCall)
		}
		unknown := access.Forge(key.Key[:10] + flip(key.Key[10]) + key.Key[11:])
		for name, presented := range map[string]string{"wrong secret": wrong, "unknown": unknown} {
			if n := count(presented, loopback); n != perCall+1 {
				t.Errorf("%s took %d queries, want %d", name, n, perCall+1)
			}
		}
		if n := count(key.Key, netip.MustParseAddr("192.0.2.1")); n != perCall+1 {
			t.Errorf("a wrong address took %d queries, want %d", n, perCall+1)
		}
		counting.err = errors.New("away")
		for _, presented := range []string{wrong, unknown} {
			if _, err := o.dir.Authenticate(ctx, presented, access.V1, loopback); access.RefusalOf(err) != nil ||
				!errors.Is(err, counting.err) {
				t.Errorf("a broken database is not an internal error: %v", err)
			}
		}
	})
}

func TestLastUse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		key := o.key()
		lastUsed := func() clock.Micros { return must(o.operator.GetKey(ctx, op.ByID{ID: key.ID})).LastUsedAt }
		o.accepted(key.Key, loopback)
		if at := lastUsed(); at != 0 {
			t.Errorf("marked on the path: %s", at)
		}
		if err := o.dir.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if at := lastUsed(); at != clock.FromTime(start) {
			t.Errorf("last use %s, want %s", at, start)
		}
		o.clock.Advance(10 * time.Second)
		o.accepted(key.Key, loopback)
		o.dir.Flush(ctx)
		if at := lastUsed(); at != clock.FromTime(start) {
			t.Errorf("marked more than once a minute: %s", at)
		}
		o.clock.Advance(time.Minute)
		o.accepted(key.Key, loopback)

		running, stop := context.WithCancel(ctx)
		stop()
		o.dir.Run(running, func(err error) { t.Error(err) }) // Run writes once more at the end
		if at := lastUsed(); at != clock.FromTime(start.Add(70*time.Second)) {
			t.Errorf("last use %s", at)
		}
	})
}

func TestCredentialsInMemoryAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOfficeWith(t, d, access.Options{Credentials: 3})
		for range 10 {
			key := o.key()
			o.accepted(key.Key, loopback)
			o.accepted(key.Key, loopback)
		}
		keys := make([]keys.WithSecret, 5)
		for i := range keys {
			keys[i] = o.key()
		}
		for range 3 {
			for _, key := range keys {
				o.accepted(key.Key, loopback)
			}
		}
		if cached, seen := o.dir.Sizes(); cached != 3 || seen != 3 {
			t.Errorf("%d credentials and %d sightings in memory, want 3", cached, seen)
		}
	})
}
