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

// noClearText is a value of require_auth that refuses a password in clear text. A connection
// without TLS uses it, because a false server would receive the password. MD5 and SCRAM do not
// reveal the password.
const noClearText = "!password"

// verifiedHint tells the operator why a server must support TLS.
const verifiedHint = "the database URL does not say sslmode, and the server is not this machine, so it must prove by TLS who it is (sslmode=verify-full); " +
	"name its authority with sslrootcert=FILE, or say another sslmode in the URL"

// address is a parsed URL.
type address struct {
	// config is the parsed URL with additions, for this process and for pg_dump.
	config *pgxpool.Config
	// verified says that the URL had no sslmode, so that verify-full was added.
	verified bool
}

// readAddress parses a URL as libpq does, with two exceptions.
//
// Without sslmode, libpq tries TLS, ignores the certificate, and continues without TLS if the
// server has none. For a server on another machine, readAddress requires verify-full instead.
//
// A connection without TLS refuses a password in clear text, unless require_auth explicitly allows
// it.
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

// ways returns all connections that are tried: to each host with TLS, without TLS, or both.
func (a *address) ways() []*pgconn.FallbackConfig {
	c := &a.config.ConnConfig.Config
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// goesAway reports whether a connection to another machine could be without TLS. It respects a
// service file with a stricter sslmode.
func (a *address) goesAway() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) && !loopback.Host(way.Host) {
			return true
		}
	}
	return false
}

// clear reports whether a network connection could be without TLS. Connections to this machine
// count, but not UNIX sockets.
func (a *address) clear() bool {
	for _, way := range a.ways() {
		if way.TLSConfig == nil && !isSocket(way.Host) {
			return true
		}
	}
	return false
}

// verify adds sslmode=verify-full to the URL, so that each host must prove its identity. Without a
// file of certificate authorities, it adds the parameter for the authorities of the system (libpq
// 16 or later).
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

// isSocket reports whether a host of a URL is the path of a UNIX socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") }

// explainTLS appends verifiedHint to a connection error, if verify has added verify-full.
func (a *address) explainTLS(err error) error {
	var connect *pgconn.ConnectError
	if err == nil || !a.verified || !errors.As(err, &connect) {
		return err
	}
	return fmt.Errorf("%w; %s", err, verifiedHint)
}
