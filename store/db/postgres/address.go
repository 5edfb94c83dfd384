package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"kartei/kit/loopback"
)

// noClearText is the authentication method that is refused without TLS, because
// an impostor of the server would receive the password. MD5 and SCRAM do not
// reveal it.
const noClearText = "!password"

// verifiedHint explains to the operator of a server without TLS why it is
// required.
const verifiedHint = "the database URL does not say sslmode, and the server is not this machine, so it must prove by TLS who it is (sslmode=verify-full); " +
	"name its authority with sslrootcert=FILE, or say another sslmode in the URL"

// address is a parsed URL.
type address struct {
	// config holds the completed URL, for this process and for pg_dump.
	config *pgxpool.Config
	// verified is true if the URL leaves TLS open, so that verify-full is
	// added.
	verified bool
}

// readAddress parses a URL as libpq does, with two exceptions. Without
// sslmode, libpq tries TLS, ignores the certificate, and continues without TLS
// if the server has none. For a server on another machine verify-full is
// required instead. And a clear-text password is refused on a connection
// without TLS, unless require_auth explicitly allows it.
func readAddress(url string) (address, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return address{}, fmt.Errorf("db: the URL of the PostgreSQL database is not valid: %w", err)
	}
	a := address{config: config}
	if !saysTLS(url) && a.goesAway() {
		if err := a.verify(); err != nil {
			return address{}, err
		}
	}
	if c := &a.config.ConnConfig.Config; c.RequireAuth == "" && a.clear() {
		c.RequireAuth = noClearText
	}
	return a, nil
}

// saysTLS reports whether the URL or the environment states the mode of TLS.
func saysTLS(address string) bool {
	if os.Getenv("PGSSLMODE") != "" {
		return true
	}
	_, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	return err != nil || values.Has("sslmode") || values.Has("ssl")
}

// ways returns the connections that are tried: to each host with TLS, without
// TLS, or both.
func (a *address) ways() []*pgconn.FallbackConfig {
	c := &a.config.ConnConfig.Config
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// goesAway reports whether a connection to another machine may lack TLS. A
// service file with a stricter sslmode remains in effect.
func (a *address) goesAway() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) && !loopback.Host(way.Host) {
			return true
		}
	}
	return false
}

// clear reports whether a network connection, even to this machine, may lack
// TLS.
func (a *address) clear() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) {
			return true
		}
	}
	return false
}

// verify requires every host to prove its identity. Without a file of
// authorities it uses the system's. libpq (16 or later) needs a parameter for
// that.
func (a *address) verify() (err error) {
	a.verified = true
	added := "sslmode=verify-full"
	if !a.hasRoots() {
		added += "&sslrootcert=system"
	}
	given, separator := a.config.ConnString(), "?"
	if strings.Contains(given, "?") {
		separator = "&"
	}
	if a.config, err = pgxpool.ParseConfig(given + separator + added); err != nil {
		return fmt.Errorf("db: the URL of the PostgreSQL database is not valid: %w", err)
	}
	return nil
}

func (a *address) hasRoots() bool {
	for _, way := range a.ways() {
		if way.TLSConfig != nil && way.TLSConfig.RootCAs != nil {
			return true
		}
	}
	return false
}

// isSocket reports whether a host is the folder of a UNIX socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") }

// explainTLS adds to a connection failure the hint that the URL leaves TLS
// open.
func (a *address) explainTLS(err error) error {
	var connect *pgconn.ConnectError
	if err == nil || !a.verified || !errors.As(err, &connect) {
		return err
	}
	return fmt.Errorf("%w; %s", err, verifiedHint)
}
