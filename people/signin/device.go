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
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// A device is a browser that has signed in to an account. The browser keeps a token in a cookie.
// The database keeps the hash of the token and the networks from which the browser signed in.

const (
	// DeviceLifetime is the time for which a device and a network are known after a sign-in. It is
	// three times the longest session.
	DeviceLifetime = 90 * 24 * time.Hour
	// maxDevices is the maximum number of rows of an account, and so of the networks that one
	// account makes known. The latest rows stay.
	maxDevices = 20
	// tokenLength is the length of a token (access.NewToken).
	tokenLength = 43
	// maxTokens is the maximum number of tokens in a browser: one for each account that signs in
	// there.
	maxTokens = 5
)

const (
	selectDevice = `select count(*) from devices where token_hash = $1 and account_id = $2 and seen_at > $3`
	selectHolder = `select account_id from devices where token_hash = $1 and seen_at > $2 limit 1`
	// selectNetwork is the same for known and unknown accounts, so that both take the same time.
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
	// Hash is the hash of its token, as the database stores it.
	Hash string
	// Known says that the browser has signed in to the account before.
	Known bool
	// Tokens is the new value of the browser's cookie.
	Tokens string
}

// FindDevice returns the hash of the token by which an account knows a browser. It is empty for an
// unknown browser. tokens is the value of the browser's cookie.
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

// Origin describes where an attempt comes from.
type Origin struct {
	Address netip.Addr
	// Proof identifies what a person already has who confirms their sign-in: a session or a mailed
	// link. It is empty at a sign-in.
	Proof string
	// Device is the hash of a device that the account knows, and empty for other devices.
	Device string
	// Known says that any account signed in from the network recently. Own says that this account
	// did.
	Known, Own bool
}

// mark returns the subject by which attempts are counted: Proof or Device. It is empty if both are
// empty.
func (o Origin) mark() string { return cmp.Or(o.Proof, o.Device) }

func (o Origin) network() string { return access.Network(o.Address).String() }

// FindOrigin returns the Origin of an attempt at an account. account is empty if no account has the
// address. proof is the Proof of the Origin.
//
// Only Device and Own depend on the account. Device needs the secret of the browser, and Own only
// matters after the right password. So a limit does not reveal which addresses have an account.
func FindOrigin(ctx context.Context, c *op.Call, tx db.Tx, account, proof string) (o Origin, err error) {
	o.Address, o.Proof = c.Address, proof
	if o.Device, err = FindDevice(ctx, tx, c.Now, account, c.Device); err != nil {
		return o, err
	}
	err = tx.QueryRow(ctx, selectNetwork, networkHash(c.Address), c.Now.Add(-DeviceLifetime), account).Scan(
		&o.Known, &o.Own)
	if !c.Address.IsValid() {
		o.Known, o.Own = false, false
	}
	return o, err
}

// FindBrowser returns the Origin of an attempt at a time when the account is not known. Device is
// set if any account knows the browser.
func FindBrowser(ctx context.Context, c *op.Call, tx db.Tx) (Origin, error) {
	for _, token := range split(c.Device) {
		var account string
		err := tx.QueryRow(ctx, selectHolder, access.HashToken(token), c.Now.Add(-DeviceLifetime)).Scan(&account)
		if err == nil {
			return FindOrigin(ctx, c, tx, account, "")
		}
		if !errors.Is(err, db.ErrNoRows) {
			return Origin{}, err
		}
	}
	return FindOrigin(ctx, c, tx, "", "")
}

// split returns the tokens in a cookie. It drops texts that cannot be tokens.
func split(tokens string) []string {
	list := strings.SplitN(tokens, ".", maxTokens+1)
	return slices.DeleteFunc(list[:min(len(list), maxTokens)], func(t string) bool { return len(t) != tokenLength })
}

// Remember makes the browser and the network of a sign-in known to the account. A token that the
// account does not know is not reused, because somebody else may have put it into the browser.
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

// CountDevices returns the number of known devices of an account. It does not count the device with
// the hash but.
func CountDevices(ctx context.Context, tx db.Tx, now clock.Micros, account, but string) (n int64, err error) {
	return n, tx.QueryRow(ctx, countDevices, account, but, now.Add(-DeviceLifetime)).Scan(&n)
}

// ForgetDevice makes a device unknown to an account.
func ForgetDevice(ctx context.Context, tx db.Tx, account, hash string) error {
	_, err := tx.Exec(ctx, forgetDevice, account, hash)
	return err
}

// ForgetDevices makes all devices unknown to an account, except for the one with the hash but. An
// empty but means all devices.
func ForgetDevices(ctx context.Context, tx db.Tx, account, but string) error {
	_, err := tx.Exec(ctx, forgetDevices, account, but)
	return err
}

func networkHash(from netip.Addr) string { return access.HashToken(access.Network(from).String()) }
