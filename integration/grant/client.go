// Package grant owns the clients, grants, codes and tokens of OAuth 2.1, which let applications act for principals.
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

// Kind says how a client became known.
type Kind string

// The kinds of clients.
const (
	// ByAdmin is a client that an admin created for a service account.
	ByAdmin Kind = "admin"
	// Registered is a client that registered itself (RFC 7591). Nobody has checked its metadata.
	Registered Kind = "registered"
	// ByDocument is a client whose client_id is the URL of a document with its metadata (OAuth
	// Client ID Metadata Document). The URL proves the host of the client.
	ByDocument Kind = "document"
)

// The client authentication methods of the token endpoint (RFC 7591, section 2).
const (
	NoSecret     = "none"
	SecretHeader = "client_secret_basic"
	SecretForm   = "client_secret_post"
)

// Client is an OAuth client.
type Client struct {
	// ID has the form cli_....
	ID   string
	Kind Kind
	// ClientID is the client_id of the protocol: the ID, or the URL of the client's document.
	ClientID string
	// Name is the name of the client for people.
	Name         string
	RedirectURIs []string
	// Method is the authentication method.
	Method string
	// Organization, Principal and Scopes are only set for an admin's client. Principal is the id of
	// the service account, and Scopes are the scopes that the client may request.
	Organization int64
	Principal    string
	Scopes       []string
	Disabled     bool
	CreatedAt    clock.Micros
	// LastUsedAt is the time when the last grant of the client was created.
	LastUsedAt clock.Micros
	// FreshUntil is the time until which the document of the client need not be fetched again.
	FreshUntil clock.Micros
	// DocumentHash is the SHA-256 hash of the client's document in hexadecimal. It is empty for a
	// client without a document.
	DocumentHash string

	secretHash string
}

// The bounds of a client's metadata. The lengths are in characters of the name and in bytes of a
// URI.
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
	// Anybody may register clients, and any person may cause a client with a document. forgetUnused
	// deletes some of the clients that were not used for a time. It runs whenever a client is
	// stored.
	forgetUnused = `delete from oauth_clients where id in (select id from oauth_clients c
		where c.kind = $2 and c.last_used_at < $1 and c.disabled = false
		and not exists (select 1 from oauth_grants g where g.client_id = c.id)
		and not exists (select 1 from oauth_approvals a where a.client_id = c.id) order by c.last_used_at limit 100)`
)

// unusedFor is the time for which a client without a grant is kept, if no admin created it.
const unusedFor = 30 * 24 * clock.Hour

// ClientBy returns the client with a client_id. It fails with db.ErrNoRows if there is none.
func ClientBy(ctx context.Context, tx db.Tx, clientID string) (Client, error) {
	return scanClient(tx.QueryRow(ctx, selectClient, clientID))
}

// ClientByID returns the client with an ID. It fails with db.ErrNoRows if there is none.
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

// Store stores a client, and returns its new secret if the authentication method needs one. If the
// client_id is already stored, Store updates the client from its document and keeps the stored ID.
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

// Rotate gives a client a new secret and returns it. The old secret is not valid any more.
func (c *Client) Rotate(ctx context.Context, tx db.Tx) (secret string, err error) {
	made := access.NewSecret(access.ClientSecretForm)
	c.secretHash = made.Hash
	_, err = tx.Exec(ctx, updateClientSecret, c.ID, made.Hash)
	return made.Text, err
}

// SetDisabled disables or enables a client. The caller must have called access.Changed, because the
// next call with a token of the client is refused.
func (c *Client) SetDisabled(ctx context.Context, tx db.Tx, disabled bool) error {
	c.Disabled = disabled
	_, err := tx.Exec(ctx, updateDisabled, c.ID, disabled)
	return err
}

// Proves reports whether secret is the client's secret. It returns false for a public client. For
// the zero Client, which stands for an unknown client, the check takes the same time.
func (c *Client) Proves(secret string) bool {
	shown, ok := access.ParseSecret(access.ClientSecretForm, secret)
	return shown.Is(c.secretHash) && ok && c.secretHash != ""
}

// Public reports whether the client has no secret.
func (c *Client) Public() bool { return c.Method == NoSecret }

// Redirects reports whether address is a redirect URI of the client. It must equal one of them byte
// for byte. Only the port of a loopback address may differ, because a program takes any free port
// (RFC 8252, section 7.3).
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

// withoutPort returns a URL without its port. The rest stays the same byte for byte.
func withoutPort(text string, u *url.URL) string {
	if u.Port() == "" {
		return text
	}
	return strings.Replace(text, u.Host, strings.TrimSuffix(u.Host, ":"+u.Port()), 1)
}

// onThisMachine reports whether u is an http URL of a program on the person's computer. It is
// stricter than loopback.Host. URLs are compared as text, so it accepts only one spelling of each
// host.
func onThisMachine(u *url.URL) bool {
	if u.Scheme != "http" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback() && u.Hostname() == address.String()
}

// Local reports whether a redirect URI belongs to a program on the person's computer. It then has a
// loopback host or a private scheme.
func Local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme != "https"
}

// ValidRedirect reports whether a client may have address as its redirect URI. An https URL and an
// http URL of the person's computer are valid. For a public client, so is a private scheme (RFC
// 8252, sections 7.1 and 8.4).
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

// plainHost reports whether people can read the host of a URL. The host must be an IP address or an
// ASCII name without percent-encoding. A name with other letters is then in Punycode.
func plainHost(u *url.URL) bool {
	host := u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	return host != "" && !strings.HasSuffix(host, ".") && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}

// Host returns the host of a URL for people. It is empty for a private scheme.
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

// blanks are characters that are not visible.
const blanks = "\u115f\u1160\u2800\u3164\uffa0"

// CleanName returns the name of a client as people may see it. The result is one line without
// invisible and control characters, and has at most MaxName characters.
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

// list returns the JSON text of a list for a column.
func list(texts []string) string {
	if texts == nil {
		texts = []string{}
	}
	b, err := json.Marshal(texts)
	if err != nil {
		panic("grant: " + err.Error()) // a list of strings can always be encoded
	}
	return string(b)
}

// orNull returns v, or nil if v is the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
