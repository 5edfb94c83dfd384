// Package grant owns what lets applications act for principals by OAuth 2.1: clients, grants, codes and tokens.
package grant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// Kind is how a client became known.
type Kind string

// The kinds of client.
const (
	// ByAdmin is a client that an admin made for a service account.
	ByAdmin Kind = "admin"
	// Registered is a client that registered itself (RFC 7591). Nobody has checked what
	// it says about itself.
	Registered Kind = "registered"
	// ByDocument is a client whose client_id is the address of a document about it
	// (OAuth Client ID Metadata Document). Its host is proven.
	ByDocument Kind = "document"
)

// The ways in which a client proves itself at the token endpoint (RFC 7591, section 2).
const (
	NoSecret     = "none"
	SecretHeader = "client_secret_basic"
	SecretForm   = "client_secret_post"
)

// Client is an application.
type Client struct {
	// ID is cli_....
	ID   string
	Kind Kind
	// ClientID is the name by which the application calls itself: the ID, or the address
	// of its document.
	ClientID string
	// Name is what it calls itself to people.
	Name         string
	RedirectURIs []string
	// Method is how it proves itself.
	Method string
	// Organization, Principal and Scopes are set for an admin's client: the service
	// account that it acts for, and what it may ask for.
	Organization int64
	Principal    string
	Scopes       []string
	Disabled     bool
	CreatedAt    clock.Micros
	// LastUsedAt is when a grant of it was last made.
	LastUsedAt clock.Micros
	// FreshUntil is how long a client of a document is known without reading it again.
	FreshUntil clock.Micros
	// DocumentHash is SHA-256 of the document in hex, empty for a client without one.
	DocumentHash string

	secretHash string
}

// The bounds of what a client says about itself.
const (
	MaxName      = 100
	MaxRedirects = 10
	maxURI       = 1000
)

const (
	clientColumns = `select id, kind, client_id, name, redirect_uris, auth_method, secret_hash, coalesce(organization, 0),
		coalesce(principal_id, ''), scopes, disabled, created_at, last_used_at, fresh_until, document_hash from oauth_clients`
	selectClient     = clientColumns + ` where client_id = $1`
	selectClientByID = clientColumns + ` where id = $1`
	insertClient     = `insert into oauth_clients (id, kind, client_id, name, redirect_uris, auth_method, secret_hash, organization,
			principal_id, scopes, created_at, last_used_at, fresh_until, document_hash)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13)
		on conflict (client_id) do update set name = excluded.name, redirect_uris = excluded.redirect_uris, fresh_until = excluded.fresh_until,
			document_hash = excluded.document_hash
		returning id, disabled`
	updateClientUse    = `update oauth_clients set last_used_at = $2 where id = $1`
	updateClientSecret = `update oauth_clients set secret_hash = $2 where id = $1`
	updateDisabled     = `update oauth_clients set disabled = $2 where id = $1`
	// A stranger may register clients, and a person may name documents. Those that nobody
	// ever used, or uses any more, go in pieces, with each new one.
	forgetUnused = `delete from oauth_clients where id in (select id from oauth_clients c
		where c.kind = $2 and c.last_used_at < $1 and c.disabled = false
		and not exists (select 1 from oauth_grants g where g.client_id = c.id)
		and not exists (select 1 from oauth_approvals a where a.client_id = c.id) order by c.last_used_at limit 100)`
)

// unusedFor is how long a client that no admin made is kept without a grant.
const unusedFor = 30 * 24 * clock.Hour

// ClientBy returns the client that calls itself by a name. An unknown one is
// db.ErrNoRows.
func ClientBy(ctx context.Context, tx db.Tx, clientID string) (Client, error) {
	return scanClient(tx.QueryRow(ctx, selectClient, clientID))
}

// ClientByID returns the client with an id, cli_.... An unknown one is db.ErrNoRows.
func ClientByID(ctx context.Context, tx db.Tx, name string) (Client, error) {
	return scanClient(tx.QueryRow(ctx, selectClientByID, name))
}

func scanClient(row db.Row) (c Client, err error) {
	var uris, scopes string
	err = row.Scan(&c.ID, &c.Kind, &c.ClientID, &c.Name, &uris, &c.Method, &c.secretHash, &c.Organization,
		&c.Principal, &scopes, &c.Disabled, &c.CreatedAt, &c.LastUsedAt, &c.FreshUntil, &c.DocumentHash)
	if err != nil {
		return c, err
	}
	if err := errors.Join(json.Unmarshal([]byte(uris), &c.RedirectURIs),
		json.Unmarshal([]byte(scopes), &c.Scopes)); err != nil {
		return c, fmt.Errorf("grant: client %s: %w", c.ID, err)
	}
	return c, nil
}

// Store stores a new client, and returns its secret if its method asks for one. A client
// of a document is stored again whenever it was read, under the id that it has.
func (c *Client) Store(ctx context.Context, tx db.Tx, now clock.Micros) (secret string, err error) {
	if c.ID == "" {
		c.ID = id.New(id.Client)
	}
	if c.ClientID == "" {
		c.ClientID = c.ID
	}
	c.CreatedAt, c.LastUsedAt = now, now
	if c.Method != NoSecret {
		made := access.NewSecret(access.ClientSecretForm)
		secret, c.secretHash = made.Text, made.Hash
	}
	if c.Kind != ByAdmin {
		if _, err := tx.Exec(ctx, forgetUnused, now-unusedFor, string(c.Kind)); err != nil {
			return "", err
		}
	}
	err = tx.QueryRow(ctx, insertClient, c.ID, string(c.Kind), c.ClientID, c.Name, list(c.RedirectURIs), c.Method,
		c.secretHash,
		orNull(c.Organization), orNull(c.Principal), list(c.Scopes), now, c.FreshUntil, c.DocumentHash).Scan(&c.ID,
		&c.Disabled)
	return secret, err
}

// Rotate gives a client a new secret, and returns it. The former one ends at once.
func (c *Client) Rotate(ctx context.Context, tx db.Tx) (secret string, err error) {
	made := access.NewSecret(access.ClientSecretForm)
	c.secretHash = made.Hash
	_, err = tx.Exec(ctx, updateClientSecret, c.ID, made.Hash)
	return made.Text, err
}

// SetDisabled switches a client off or on. access.Changed must come before: its tokens
// are refused from the next call on.
func (c *Client) SetDisabled(ctx context.Context, tx db.Tx, disabled bool) error {
	c.Disabled = disabled
	_, err := tx.Exec(ctx, updateDisabled, c.ID, disabled)
	return err
}

// Proves reports whether a secret is the client's. A public client has no secret. An
// unknown client (the zero Client) costs the same.
func (c *Client) Proves(secret string) bool {
	shown, ok := access.ParseSecret(access.ClientSecretForm, secret)
	return shown.Is(c.secretHash) && ok && c.secretHash != ""
}

// Public reports whether the client has no secret.
func (c *Client) Public() bool { return c.Method == NoSecret }

// Redirects reports whether people may be sent to an address. It must be one of the
// client's, byte for byte. Only the port of an address on this machine may be another
// one: a program takes the port that is free (RFC 8252, section 7.3).
func (c *Client) Redirects(address string) bool {
	if slices.Contains(c.RedirectURIs, address) {
		return true
	}
	if len(address) > maxURI {
		return false
	}
	at, err := url.Parse(address)
	if err != nil || at.User != nil || !onThisMachine(at) || strings.Contains(address, "#") {
		return false
	}
	return slices.ContainsFunc(c.RedirectURIs, func(known string) bool {
		of, err := url.Parse(known)
		return err == nil && onThisMachine(of) && withoutPort(known, of) == withoutPort(address, at)
	})
}

// withoutPort returns an address of this machine without its port, and otherwise byte
// for byte.
func withoutPort(text string, u *url.URL) string {
	if u.Port() == "" {
		return text
	}
	return strings.Replace(text, u.Host, strings.TrimSuffix(u.Host, ":"+u.Port()), 1)
}

// onThisMachine reports whether an address is one of a program on the computer of the
// person. It is stricter than loopback.Host: addresses are compared as text, so each host has
// one spelling.
func onThisMachine(u *url.URL) bool {
	if u.Scheme != "http" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback() && u.Hostname() == address.String()
}

// Local reports whether an address leads to a program on the computer of the person: by
// a port of this machine, or by a scheme that the program took.
func Local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme != "https"
}

// ValidRedirect reports whether a client may use an address as its redirect URI. Valid are an
// https address, an http address of the person's own machine, and a private scheme of a program
// there. Only a client without a secret may use a private scheme (RFC 8252, sections 7.1 and 8.4).
func ValidRedirect(address string, public bool) bool {
	u, err := url.Parse(address)
	switch {
	case err != nil, len(address) > maxURI, strings.Contains(address, "#"), u.User != nil, u.Opaque != "":
		return false
	case strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }):
		return false
	case strings.Contains(u.Path, "/.."), strings.Contains(u.EscapedPath(),
		"%2e"), strings.Contains(u.EscapedPath(), "%2E"):
		return false
	case u.Scheme == "https":
		return plainHost(u)
	case u.Scheme == "http":
		return onThisMachine(u)
	}
	return public && privateScheme(u.Scheme) && u.Host+u.Path != ""
}

// plainHost reports whether people can read the host of an address: it is an IP address, or
// a name in ASCII without percent-encoding, which a name of other letters has in Punycode.
func plainHost(u *url.URL) bool {
	host := u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	return host != "" && !strings.HasSuffix(host, ".") && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}

// Host returns the host of an address for people, empty for the scheme of a program.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(u.Host); err == nil && onThisMachine(u) {
		return host
	}
	return u.Host
}

// blanks are letters and signs that nobody sees.
const blanks = "\u115f\u1160\u2800\u3164\uffa0"

// CleanName returns the name of a client as people may see it: of one line, without
// characters that disguise others, and cut to MaxName characters.
func CleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(blanks, r) || unicode.Is(unicode.Cf, r) ||
			unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > MaxName {
		name = string(runes[:MaxName])
	}
	return name
}

// list encodes a list of texts for a column.
func list(texts []string) string {
	if texts == nil {
		texts = []string{}
	}
	b, err := json.Marshal(texts)
	if err != nil {
		panic("grant: " + err.Error()) // strings always encode
	}
	return string(b)
}

// orNull returns a value, or nil in place of the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
