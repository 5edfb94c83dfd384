package db

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// noClearText is what of the ways to sign in is refused without TLS: whoever
// answers in the server's place is handed the password. MD5 and SCRAM do not
// hand it over.
const noClearText = "!password"

// verifiedHint tells an operator whose server has no TLS why that is wanted.
const verifiedHint = "the database URL does not say sslmode, and the server is not this machine, so it must prove by TLS who it is (sslmode=verify-full); " +
	"name its authority with sslrootcert=FILE, or say another sslmode in the URL"

// postgresAddress is a URL as it was read.
type postgresAddress struct {
	// url is the one that is meant, for this process and for pg_dump.
	url    string
	config *pgxpool.Config
	// verified says that the URL leaves open whether TLS is used, and that it is
	// verify-full.
	verified bool
}

// readPostgres reads a URL as libpq does, but for two of its habits. Where nobody
// says sslmode, libpq tries TLS without looking at the certificate, and goes
// on without TLS where the server has none: of a server that is not this
// machine verify-full is wanted then. And a clear-text password is refused on a
// connection without TLS, unless require_auth allows it in words.
func readPostgres(address string) (postgresAddress, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return postgresAddress{}, fmt.Errorf("db: the postgres URL cannot be read: %w", err)
	}
	a := postgresAddress{url: address, config: config}
	if !saysTLS(address) && a.goesAway() {
		if err := a.verify(); err != nil {
			return postgresAddress{}, err
		}
	}
	if c := &a.config.ConnConfig.Config; c.RequireAuth == "" && a.clear() {
		c.RequireAuth = noClearText
	}
	return a, nil
}

// saysTLS reports whether the URL or the environment says in words which TLS is
// wanted.
func saysTLS(address string) bool {
	if os.Getenv("PGSSLMODE") != "" {
		return true
	}
	_, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	return err != nil || values.Has("sslmode") || values.Has("ssl")
}

// ways are the ways that are tried to connect: of each host with TLS, without,
// or both.
func (a *postgresAddress) ways() []*pgconn.FallbackConfig {
	c := &a.config.ConnConfig.Config
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// goesAway reports whether a connection to another machine may be one without
// TLS. A service file that names a better sslmode is left as it is.
func (a *postgresAddress) goesAway() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) && !isHere(way.Host) {
			return true
		}
	}
	return false
}

// clear reports whether a connection over a network, that of this machine
// included, may be one without TLS.
func (a *postgresAddress) clear() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) {
			return true
		}
	}
	return false
}

// verify has every host prove who it is. Without a file of authorities those of
// the system vouch, which libpq (16 or later) must be told.
func (a *postgresAddress) verify() (err error) {
	a.verified = true
	added := "sslmode=verify-full"
	if !a.hasRoots() {
		added += "&sslrootcert=system"
	}
	separator := "?"
	if strings.Contains(a.url, "?") {
		separator = "&"
	}
	a.url += separator + added
	if a.config, err = pgxpool.ParseConfig(a.url); err != nil {
		return fmt.Errorf("db: the postgres URL cannot be read: %w", err)
	}
	return nil
}

func (a *postgresAddress) hasRoots() bool {
	for _, way := range a.ways() {
		if way.TLSConfig != nil && way.TLSConfig.RootCAs != nil {
			return true
		}
	}
	return false
}

// isSocket reports whether a host is the folder of a UNIX socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") }

// isHere reports whether a host is this machine by its name alone: what other
// names lead to is for the resolver to say, which may be lied to.
func isHere(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// explainTLS adds to a failure to connect what the URL leaves open.
func (a *postgresAddress) explainTLS(err error) error {
	var connect *pgconn.ConnectError
	if err == nil || !a.verified || !errors.As(err, &connect) {
		return err
	}
	return fmt.Errorf("%w; %s", err, verifiedHint)
}
