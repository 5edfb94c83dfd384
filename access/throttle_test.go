package access_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/test/dbtest"
)

func TestGuessingIsThrottled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		counting := &countingDB{DB: d}
		o := newOfficeWith(t, counting, access.Options{Failures: 5})
		good, late, rare := o.key(), o.key(), o.key()
		o.accepted(good.Key, loopback)
		wrong := access.Forge(good.Key[:40] + flip(good.Key[40]) + good.Key[41:])
		unknown := access.Forge(good.Key[:10] + flip(good.Key[10]) + good.Key[11:])
		shutOut := func(presented string, from netip.Addr) time.Duration {
			t.Helper()
			_, err := o.dir.Authenticate(ctx, presented, access.V1, from)
			var f *fault.Fault
			if !errors.As(err, &f) || f.Code != fault.RateLimited || access.RefusalOf(err).Reason != access.Throttled ||
				f.RetryAfter <= 0 || f.Extra["violated-policies"] != nil {
				t.Fatalf("not shut out: %v", err)
			}
			return f.RetryAfter
		}

		for range 100 {
			o.refused("", loopback, access.Missing) // a missing credential is not a guess
		}
		o.refused(wrong, loopback, access.WrongSecret)
		o.clock.Advance(20 * time.Second)
		o.refused(unknown, loopback, access.Unknown)
		o.refused(wrong, loopback, access.WrongSecret)
		o.refused("nonsense", loopback, access.Malformed)
		o.refused(good.Key[:60]+flip(good.Key[60]), loopback, access.WrongChecksum)

		counting.reads = 0
		for _, presented := range []string{"nonsense", good.Key[:60] + flip(good.Key[60]), unknown} {
			if counting.reads != 0 {
				t.Errorf("%d queries for what is no key", counting.reads)
			}
			if wait := shutOut(presented, loopback); wait != 40*time.Second {
				t.Errorf("wait %s, want what is left of the minute", wait)
			}
		}
		o.accepted(rare.Key, loopback) // the key was not used from here before
		shutOut(wrong, loopback)       // the key was used from here, but with another secret

		o.accepted(good.Key, loopback) // the key was used from here before
		must(o.operator.PauseKey(ctx, op.ByID{ID: late.ID}))
		o.accepted(good.Key, loopback) // even if the cache is empty
		must(o.operator.ResumeKey(ctx, op.ByID{ID: late.ID}))
		o.accepted(late.Key, netip.MustParseAddr("127.0.0.2"))

		o.clock.Advance(40 * time.Second)
		o.accepted(late.Key, loopback)
		for range 5 {
			o.refused(unknown, loopback, access.Unknown)
		}
		shutOut(unknown, loopback)
	})
}

// TestLooksAreBounded occupies all lookups of a blocked address. Then a key that was not used
// from there before is refused. A key from another address and a key that was used from there are
// accepted.
func TestLooksAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOfficeWith(t, d, access.Options{Failures: 1})
		good, rare := o.key(), o.key()
		o.accepted(good.Key, loopback)
		o.refused("nonsense", loopback, access.Malformed)
		o.refused("nonsense", netip.MustParseAddr("127.0.0.2"), access.Malformed)
		end := o.dir.LookAtMost(loopback)
		if _, err := o.dir.Authenticate(ctx, rare.Key, access.V1, loopback); !fault.Is(err, fault.RateLimited) {
			t.Errorf("beyond the bound: %v", err)
		}
		o.accepted(good.Key, loopback)
		end()
		o.accepted(rare.Key, netip.MustParseAddr("127.0.0.2"))
		o.accepted(rare.Key, loopback)
	})
}

// TestGuessesOfASite checks guesses from many networks of one /48. The guesses are also counted
// together, and a valid key is still accepted.
func TestGuessesOfASite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOfficeWith(t, d, access.Options{Failures: 5})
		in := o.newKey()
		in.Networks = nil
		in.Scopes = []string{"contacts:read"}
		good := must(o.operator.CreateKey(ctx, in))
		from := func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", n)) }
		for n := range 20 {
			o.refused("nonsense", from(n), access.Malformed)
		}
		if _, err := o.dir.Authenticate(ctx, "nonsense", access.V1, from(20)); !fault.Is(err, fault.RateLimited) {
			t.Errorf("a /48 guesses on: %v", err)
		}
		o.refused("nonsense", netip.MustParseAddr("2001:db8:2::1"), access.Malformed)
		o.accepted(good.Key, from(20))
	})
}

// TestOldSuccessesDoNotVouch checks that a successful use exempts a key from the throttle for an
// hour. Within this time, the key does not wait for a lookup.
func TestOldSuccessesDoNotVouch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOfficeWith(t, d, access.Options{Failures: 1})
		good := o.key()
		o.accepted(good.Key, loopback)
		o.clock.Advance(59 * time.Minute)
		o.refused("nonsense", loopback, access.Malformed)
		defer o.dir.LookAtMost(loopback)()
		o.accepted(good.Key, loopback)
		o.clock.Advance(time.Hour)
		o.refused("nonsense", loopback, access.Malformed)
		if _, err := o.dir.Authenticate(ctx, good.Key, access.V1, loopback); !fault.Is(err, fault.RateLimited) {
			t.Errorf("vouched after an hour: %v", err)
		}
	})
}

// TestIPv6PrefixIsOneAddress checks that all addresses of an IPv6 /64 count as one. An IPv4
// address in IPv6 counts as IPv4.
func TestIPv6PrefixIsOneAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		for _, c := range []struct {
			first, second string
			same          bool
		}{
			{"2001:db8::1", "2001:db8::ffff:1:2:3", true},
			{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
			{"192.0.2.1", "192.0.2.2", false},
			{"192.0.2.3", "::ffff:192.0.2.3", true},
			{"fe80::1%a", "fe80::2%b", true},
		} {
			dir := access.NewDirectory(d, clockAt(start), access.Options{Failures: 1})
			dir.Authenticate(ctx, "nonsense", access.V1, netip.MustParseAddr(c.first))
			_, err := dir.Authenticate(ctx, "nonsense", access.V1, netip.MustParseAddr(c.second))
			if fault.Is(err, fault.RateLimited) != c.same {
				t.Errorf("%s and %s: %v", c.first, c.second, err)
			}
		}
	})
}

func TestThrottleIsBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dir := access.NewDirectory(d, clockAt(start), access.Options{Addresses: 100})
		for i := range 1000 {
			dir.Authenticate(ctx, "nonsense", access.V1, netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::1", i)))
		}
		if n := dir.ThrottledAddresses(); n != 100 {
			t.Errorf("%d addresses remembered, want 100", n)
		}
	})
}
