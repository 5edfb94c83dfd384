package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"kartei/extract/clamd"
	"kartei/kit/loopback"
	"kartei/kit/masterkey"
	"kartei/people/identity"
	"kartei/people/notify"
	"kartei/people/sso"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// sqlitePath returns the path of the database file, or an empty string on PostgreSQL.
func (l *look) sqlitePath() string {
	path, is := strings.CutPrefix(l.Store.Database(), "sqlite:")
	if !is {
		return ""
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// masterKey reads the master key.
func (l *look) masterKey(context.Context) []Finding {
	const about = "master key"
	path := l.Server.MasterKey(l.Store)
	_, err := masterkey.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.sqlitePath() != "" && exists(l.sqlitePath()):
		return wrong(about, path+" does not exist, and the database does",
			"put the copy of the key back; without it the secrets and files of this database cannot be opened (docs/operating/master-key.md)")
	case errors.Is(err, fs.ErrNotExist):
		return ok(about, path+" does not exist yet: the first start creates it; then keep a copy of it")
	case err != nil:
		return wrong(about, err.Error(), "see docs/operating/master-key.md")
	}
	return ok(about, "readable, and for this user alone")
}

// database opens the database and compares it with this release.
func (l *look) database(ctx context.Context) []Finding {
	const about = "database"
	switch path := l.sqlitePath(); {
	case path != "" && !exists(path):
		return ok(about, path+" does not exist yet: the first start creates it")
	case path != "" && l.Running:
		return ok(about, "the running server has it open")
	}
	d, err := open.Database(ctx, l.Store.Database(), db.Options{})
	if err != nil {
		return wrong(about, err.Error(), "check --database-url, the name and the password, and whether the database server runs")
	}
	found := compare(ctx, d)
	if err := d.Close(); err != nil {
		return wrong(about, err.Error(), "see docs/operating/troubleshooting.md")
	}
	return found
}

// compare compares the schema of a database with that of this release.
func compare(ctx context.Context, d db.DB) []Finding {
	const about = "database"
	state, err := schema.Status(ctx, d)
	if newer := (*schema.NewerError)(nil); errors.As(err, &newer) {
		return wrong(about, err.Error(), "use the release that has migrated it, or a later one")
	}
	if err != nil {
		return wrong(about, err.Error(), "see docs/operating/troubleshooting.md")
	}
	if !state.Current() {
		return ok(about, fmt.Sprintf("reachable, at version %d of %d: the next start migrates it", state.Version, state.Latest))
	}
	if err := schema.Complete(ctx, d); err != nil {
		return wrong(about, err.Error(), "restore a backup (docs/operating/backup.md)")
	}
	return ok(about, fmt.Sprintf("reachable, at version %d, which is that of this release", state.Version))
}

// files looks at the folder or the bucket of the files of documents.
func (l *look) files(ctx context.Context) []Finding {
	const about = "files of documents"
	location, err := blob.ParseLocation(l.Store.Blobs())
	if err != nil {
		return wrong(about, err.Error(), "correct --blob-url (docs/operating/files.md)")
	}
	if location.Bucket == "" && !exists(location.Dir) {
		return ok(about, location.Dir+" does not exist yet: the first start creates it")
	}
	err = l.pingFiles(ctx)
	switch {
	case err != nil && location.Bucket != "":
		return wrong(about, err.Error(), "check the name of the bucket, its address, and the rights of the credentials (docs/operating/files.md)")
	case err != nil:
		return wrong(about, err.Error(), "make the folder writable for the user of the server, and make room")
	case location.Bucket != "":
		return ok(about, "the bucket "+location.Bucket+" is reachable")
	}
	return ok(about, location.Dir+" is writable")
}

func (l *look) pingFiles(ctx context.Context) error {
	key, err := masterkey.Load(l.Server.MasterKey(l.Store))
	if err != nil {
		key = masterkey.New() // only for opening; nothing is read with it
	}
	store, err := blob.Open(ctx, l.Store.Blobs(), blob.Options{
		Keys: masterkey.Ring{Current: key}, Encryption: blob.Encryption(l.Server.BlobEncryption), BaseURL: string(l.Server.BaseURL),
	})
	if err != nil {
		return err
	}
	return store.Ping(ctx)
}

// address looks at the address that emails, webhooks and passkeys use.
func (l *look) address(context.Context) []Finding {
	const about = "--base-url"
	if l.Server.BaseURL == "" {
		return warning(about, "it is not set, so links in emails lead to the address of the listener",
			"set it to the address by which people reach the server, for example https://kartei.example.com")
	}
	if u, err := url.Parse(string(l.Server.BaseURL)); err != nil || u.Scheme == "http" && !loopback.Host(u.Hostname()) {
		return warning(about, "it is not https, so browsers allow no passkeys and secrets travel unencrypted",
			"use a certificate or a proxy with TLS (docs/operating/tls.md)")
	}
	return ok(about, string(l.Server.BaseURL))
}

// endsSoon is the time before the end of a certificate from which there is a warning.
const endsSoon = 7 * 24 * time.Hour

// certificate looks at the certificate, its end and its names.
func (l *look) certificate(context.Context) []Finding {
	const about = "certificate"
	if l.Server.TLSCert == "" {
		return ok(about, "none: the server speaks plain HTTP, to a proxy or to this machine")
	}
	pair, err := tls.LoadX509KeyPair(string(l.Server.TLSCert), string(l.Server.TLSKey))
	if err != nil {
		return wrong(about, err.Error(), "name a certificate and its key that belong together and that this user may read")
	}
	left := pair.Leaf.NotAfter.Sub(l.Clock.Now())
	until := pair.Leaf.NotAfter.Format(time.DateOnly)
	base, err := url.Parse(string(l.Server.BaseURL))
	if err != nil {
		return wrong("--base-url", err.Error(), "correct it")
	}
	host := base.Hostname()
	switch {
	case left <= 0:
		return wrong(about, "it ended on "+until+": clients refuse the connection", "renew it")
	case host != "" && pair.Leaf.VerifyHostname(host) != nil:
		return wrong(about, fmt.Sprintf("it is for %s and not for %s", strings.Join(pair.Leaf.DNSNames, ", "), host),
			"use a certificate for the host of --base-url, or correct --base-url")
	case left < endsSoon:
		return warning(about, "it ends on "+until, "renew it")
	}
	return ok(about, "valid until "+until)
}

// mail connects to the mail server.
func (l *look) mail(ctx context.Context) []Finding {
	const about = "mail server"
	if l.Server.SMTPURL == "" {
		return warning(about, "none is set, so emails are files in the folder mail of the data folder",
			"set --smtp-url, or pass links of invitations on yourself (docs/operating/email.md)")
	}
	server, err := notify.NewSMTP(string(l.Server.SMTPURL))
	if err != nil {
		return wrong(about, err.Error(), "correct --smtp-url (docs/operating/email.md)")
	}
	if err := server.Reach(ctx); err != nil {
		return wrong(about, err.Error(), "check --smtp-url: host, port, user and password (docs/operating/email.md)")
	}
	return ok(about, "it answers, and accepts the user if one is set")
}

// provider fetches the metadata of the OpenID provider.
func (l *look) provider(ctx context.Context) []Finding {
	const about = "single sign-on"
	s := l.Server
	if s.OIDCIssuer == "" {
		return ok(about, "not used")
	}
	guard, err := s.OIDCEgress()
	if err != nil {
		return wrong(about, err.Error(), "correct --oidc-ca (docs/operating/sso.md)")
	}
	p := sso.New(sso.Options{
		Issuer: string(s.OIDCIssuer), ClientID: s.OIDCClientID, ClientSecret: string(s.OIDCClientSecret), Name: s.OIDCName,
		Callback: string(s.BaseURL) + identity.ReturnPath, Egress: guard, Clock: l.Clock,
	})
	defer p.Close()
	if err := p.Reach(ctx); err != nil {
		return wrong(about, err.Error(), "check --oidc-issuer and --oidc-ca (docs/operating/sso.md)")
	}
	return ok(about, string(s.OIDCIssuer)+" answers; register "+string(s.BaseURL)+identity.ReturnPath+" there")
}

// scanner asks the scanner for malware.
func (l *look) scanner(ctx context.Context) []Finding {
	const about = "scanner for malware"
	if l.Server.Clamd == "" {
		return ok(about, "not used")
	}
	s, err := clamd.New(l.Server.Clamd)
	if err != nil {
		return wrong(about, err.Error(), "correct --clamd (docs/operating/texts.md)")
	}
	if err := s.Ping(ctx); err != nil {
		return wrong(about, err.Error(), "check --clamd, and whether clamd runs (docs/operating/texts.md)")
	}
	return ok(about, "clamd answers")
}
