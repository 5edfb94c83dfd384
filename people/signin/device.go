package signin

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
)

// A device is a browser that signed in to an account. It keeps a token in a cookie, and
// the database keeps the token's hash, with the networks from which it signed in.

const (
	// DeviceLifetime is how long a sign-in makes a device and a network known. It is three
	// times the longest session.
	DeviceLifetime = 90 * 24 * time.Hour
	// maxDevices bounds the rows of an account, and so the networks that one account makes
	// known. The latest ones stay.
	maxDevices = 20
	// tokenLength is the length of a token (access.NewToken).
	tokenLength = 43
	// maxTokens bounds the tokens of a browser: one for each account that signs in there.
	maxTokens = 5
)

const (
	selectDevice = `select count(*) from devices where token_hash = $1 and account_id = $2 and seen_at > $3`
	selectHolder = `select account_id from devices where token_hash = $1 and seen_at > $2 limit 1`
	// The network of somebody is asked for as the one of nobody: both take as long.
	selectNetwork = `select exists (select 1 from devices where network = $1 and seen_at > $2),
		exists (select 1 from devices where network = $1 and seen_at > $2 and account_id = $3)`
	rememberIt = `insert into devices (token_hash, network, account_id, created_at, seen_at) values ($1, $2, $3, $4, $4)
		on conflict (token_hash, network) do update set seen_at = $4`
	forgetFormer = `delete from devices where account_id = $1 and seen_at < (select min(n.seen_at) from
		(select seen_at from devices where account_id = $1 order by seen_at desc limit $2) n)`
	forgetOld = `delete from devices where (token_hash, network) in
		(select token_hash, network from devices where seen_at <= $1 order by seen_at limit 100)`
	countDevices  = `select count(distinct token_hash) from devices where account_id = $1 and token_hash <> $2 and seen_at > $3`
	forgetDevice  = `delete from devices where account_id = $1 and token_hash = $2`
	forgetDevices = `delete from devices where account_id = $1 and token_hash <> $2`
)

// Device is a browser at a sign-in.
type Device struct {
	// Hash is what is stored of its token.
	Hash string
	// Known says that it signed in to the account before.
	Known bool
	// Tokens is what the browser keeps from now on.
	Tokens string
}

// FindDevice returns the hash of the token by which an account knows a browser, empty for
// an unknown browser. tokens is what the browser keeps.
func FindDevice(ctx context.Context, tx db.Tx, now clock.Micros, account, tokens string) (string, error) {
	_, hash, err := findDevice(ctx, tx, now, account, split(tokens))
	return hash, err
}

func findDevice(
	ctx context.Context, tx db.Tx, now clock.Micros, account string, tokens []string,
) (token, hash string, err error) {
	for _, token := range tokens {
		var n int64
		hash := access.HashToken(token)
		if err := tx.QueryRow(ctx, selectDevice, hash, account, now.Add(-DeviceLifetime)).Scan(&n); err != nil || n > 0 {
			return token, hash, err
		}
	}
	return "", "", nil
}

// Origin is where an attempt comes from, and what is known of it.
type Origin struct {
	Address netip.Addr
	// Proof is what somebody already has who confirms it: a session, or a mailed link. It
	// is empty at a sign-in.
	Proof string
	// Device is the hash of a device that the account knows, empty for others.
	Device string
	// Known says that somebody signed in from the network lately, Own that the account did.
	Known, Own bool
}

// mark is what attempts are counted by, empty for those who are not known themselves.
func (o Origin) mark() string { return cmp.Or(o.Proof, o.Device) }

func (o Origin) network() string { return access.Network(o.Address).String() }

// FindOrigin returns what is known of an attempt at an account, which is empty for an
// address that has none. Only Device and Own depend on the account: the first needs the
// secret of the browser, and the second serves those who know the password. So nobody
// learns from a bound which address has an account.
func FindOrigin(
	ctx context.Context, tx db.Tx, now clock.Micros, account, tokens string, from netip.Addr,
) (o Origin, err error) {
	o.Address = from
	if o.Device, err = FindDevice(ctx, tx, now, account, tokens); err != nil {
		return o, err
	}
	err = tx.QueryRow(ctx, selectNetwork, networkHash(from), now.Add(-DeviceLifetime), account).Scan(&o.Known, &o.Own)
	if !from.IsValid() {
		o.Known, o.Own = false, false
	}
	return o, err
}

// FindBrowser is FindOrigin before the account is known: any account may know the device.
func FindBrowser(ctx context.Context, tx db.Tx, now clock.Micros, tokens string, from netip.Addr) (Origin, error) {
	for _, token := range split(tokens) {
		var account string
		err := tx.QueryRow(ctx, selectHolder, access.HashToken(token), now.Add(-DeviceLifetime)).Scan(&account)
		if err == nil {
			return FindOrigin(ctx, tx, now, account, token, from)
		}
		if !errors.Is(err, db.ErrNoRows) {
			return Origin{}, err
		}
	}
	return FindOrigin(ctx, tx, now, "", "", from)
}

// split returns the tokens that a browser keeps. What is no token did not come from here.
func split(tokens string) []string {
	list := strings.SplitN(tokens, ".", maxTokens+1)
	return slices.DeleteFunc(list[:min(len(list), maxTokens)], func(t string) bool { return len(t) != tokenLength })
}

// Remember makes the browser and the network of a sign-in known to the account. An account
// takes over no token that it did not give itself: somebody else might have put it into the
// browser.
func Remember(
	ctx context.Context, tx db.Tx, now clock.Micros, account, tokens string, from netip.Addr,
) (d Device, err error) {
	list := split(tokens)
	token, hash, err := findDevice(ctx, tx, now, account, list)
	if err != nil {
		return d, err
	}
	if d.Hash, d.Known = hash, hash != ""; !d.Known {
		token = access.NewToken()
		d.Hash = access.HashToken(token)
	}
	list = slices.Insert(slices.DeleteFunc(list, func(t string) bool { return t == token }), 0, token)
	d.Tokens = strings.Join(list[:min(len(list), maxTokens)], ".")
	_, err = tx.Exec(ctx, rememberIt, d.Hash, networkHash(from), account, now)
	if err != nil {
		return d, err
	}
	if _, err = tx.Exec(ctx, forgetFormer, account, maxDevices); err != nil {
		return d, err
	}
	_, err = tx.Exec(ctx, forgetOld, now.Add(-DeviceLifetime))
	return d, err
}

// CountDevices returns how many devices of an account are known, but one.
func CountDevices(ctx context.Context, tx db.Tx, now clock.Micros, account, but string) (n int64, err error) {
	return n, tx.QueryRow(ctx, countDevices, account, but, now.Add(-DeviceLifetime)).Scan(&n)
}

// ForgetDevice makes a device of an account an unknown one.
func ForgetDevice(ctx context.Context, tx db.Tx, account, hash string) error {
	_, err := tx.Exec(ctx, forgetDevice, account, hash)
	return err
}

// ForgetDevices makes all devices of an account unknown but one, or all if but is empty.
func ForgetDevices(ctx context.Context, tx db.Tx, account, but string) error {
	_, err := tx.Exec(ctx, forgetDevices, account, but)
	return err
}

func networkHash(from netip.Addr) string { return access.HashToken(access.Network(from).String()) }
