package signin

import (
	"context"
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
	// maxTokens bounds the tokens of a browser: one for each account that signs in there.
	maxTokens = 5
)

const (
	selectDevice = `select count(*) from devices where token_hash = $1 and account_id = $2 and seen_at > $3`
	rememberIt   = `insert into devices (token_hash, network, account_id, created_at, seen_at) values ($1, $2, $3, $4, $4)
		on conflict (token_hash, network) do update set seen_at = $4`
	forgetFormer = `delete from devices where account_id = $1 and seen_at < (select min(n.seen_at) from
		(select seen_at from devices where account_id = $1 order by seen_at desc limit $2) n)`
	forgetOld = `delete from devices where (token_hash, network) in
		(select token_hash, network from devices where seen_at <= $1 order by seen_at limit 100)`
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

func findDevice(ctx context.Context, tx db.Tx, now clock.Micros, account string, tokens []string) (token, hash string, err error) {
	for _, token := range tokens {
		var n int64
		hash := access.HashToken(token)
		if err := tx.QueryRow(ctx, selectDevice, hash, account, now.Add(-DeviceLifetime)).Scan(&n); err != nil || n > 0 {
			return token, hash, err
		}
	}
	return "", "", nil
}

// split returns the tokens that a browser keeps. Who sends more has not got them here.
func split(tokens string) []string {
	if tokens == "" || len(tokens) > maxTokens*64 {
		return nil
	}
	list := strings.Split(tokens, ".")
	return list[:min(len(list), maxTokens)]
}

// Remember makes the browser and the network of a sign-in known to the account. An account
// takes over no token that it did not give itself: somebody else might have put it into the
// browser.
func Remember(ctx context.Context, tx db.Tx, now clock.Micros, account, tokens string, from netip.Addr) (d Device, err error) {
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
	if err == nil {
		_, err = tx.Exec(ctx, forgetFormer, account, maxDevices)
	}
	if err == nil {
		_, err = tx.Exec(ctx, forgetOld, now.Add(-DeviceLifetime))
	}
	return d, err
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
