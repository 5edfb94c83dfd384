// Package config owns the settings of an instance: names, accepted values, defaults, and where each value came from.
package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"kartei/extract"
	"kartei/extract/clamd"
	"kartei/extract/filetype"
	"kartei/integration/limit"
	"kartei/kit/egress"
)

// Store has the settings of the stored data. Every command that uses the data has these settings.
type Store struct {
	DataDir     Dir         `name:"data-dir" default:"kartei-data" placeholder:"DIR" page:"install.md" help:"Folder for the database, the master key and the administration socket."`
	DatabaseURL DatabaseURL `name:"database-url" placeholder:"URL" secret:"url" page:"install.md" help:"Database, sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME; without it kartei.db in the data folder."`
	BlobURL     BlobURL     `name:"blob-url" placeholder:"URL" page:"files.md" help:"Place of the files of documents, file:PATH or s3://BUCKET?endpoint=URL&region=NAME; without it the folder files in the data folder."`
	// OrganizationRetention is a setting of Store, because kartei org needs it without a server.
	OrganizationRetention Retention `name:"organization-retention" default:"720h" placeholder:"DURATION" page:"erasure.md" help:"Time between the state deleting and the erasure of an organization, 1h to 87600h."`
}

// Blobs returns the configured or default place of the files of documents.
func (s *Store) Blobs() string {
	if s.BlobURL != "" {
		return string(s.BlobURL)
	}
	return "file:" + filepath.Join(string(s.DataDir), "files")
}

// Database returns the configured or default URL of the database.
func (s *Store) Database() string {
	if s.DatabaseURL != "" {
		return string(s.DatabaseURL)
	}
	return "sqlite:" + filepath.Join(string(s.DataDir), "kartei.db")
}

// Server holds the settings of a running server.
type Server struct {
	Listen                 Address    `name:"listen" default:"127.0.0.1:8080" placeholder:"HOST:PORT" page:"install.md" help:"Address of the API; port 0 takes a free one, and localhost is 127.0.0.1 and [::1]."`
	OperatorListen         Address    `name:"operator-listen" default:"127.0.0.1:8081" placeholder:"HOST:PORT" page:"install.md" help:"Address of /healthz, /readyz and /metrics; never make it public."`
	BaseURL                BaseURL    `name:"base-url" placeholder:"URL" page:"tls.md" help:"Address under which clients reach the instance, without /v1; without it that of --listen."`
	TrustedProxies         []Network  `name:"trusted-proxies" placeholder:"CIDR" page:"tls.md" help:"Networks whose X-Forwarded-For and Forwarded headers are believed."`
	TLSCert                File       `name:"tls-cert" placeholder:"FILE" page:"tls.md" help:"Certificate chain in PEM; read again when the file changes."`
	TLSKey                 File       `name:"tls-key" placeholder:"FILE" page:"tls.md" help:"Private key of the certificate in PEM."`
	HSTS                   HSTS       `name:"hsts" default:"8760h" placeholder:"TIME|off" page:"tls.md" help:"With --tls-cert: how long browsers use TLS only (Strict-Transport-Security)."`
	MasterKeyFile          File       `name:"master-key-file" placeholder:"FILE" page:"master-key.md" help:"File with the 32 random bytes of the master key; without it master.key in the data folder, made on the first start."`
	PreviousMasterKeyFiles []File     `name:"previous-master-key-files" placeholder:"FILE" page:"master-key.md" help:"Files with earlier master keys, for as long as something is sealed under them."`
	BlobEncryption         Encryption `name:"blob-encryption" default:"auto" placeholder:"auto|on|off" page:"files.md" help:"Whether files of documents are encrypted before they are stored; auto encrypts those in a folder."`

	Environment Environment `name:"environment" default:"production" placeholder:"production|rc" page:"upgrade.md" help:"What the instance is; rc, a release candidate, also serves versions of the API that are not released yet."`

	Metered          bool             `name:"metered" default:"true" negatable:"" page:"limits.md" help:"Count calls against the limits."`
	Limit            []limit.Override `name:"limits" placeholder:"NAME=QUOTA[/CAPACITY]" page:"limits.md" help:"Changed numbers of limits, for example key=3000/6000."`
	LockAfter        int              `name:"lock-after" default:"50" placeholder:"N" page:"limits.md" help:"429 answers that a key may get in --lock-window before it is locked."`
	LockWindow       Duration         `name:"lock-window" default:"1m" placeholder:"TIME" page:"limits.md" help:"Time in which --lock-after is counted."`
	LockTime         Duration         `name:"lock-time" default:"5m" placeholder:"TIME" page:"limits.md" help:"Time for which a key stays locked."`
	KeyShare         int              `name:"key-share" default:"50" placeholder:"PERCENT" page:"limits.md" help:"Percent of the organization's points that one key may use."`
	AlertAt          int              `name:"alert-at" default:"80" placeholder:"PERCENT" page:"email.md" help:"Percent of deletes-day or outflow at which the owner and the admins are told."`
	Registration     bool             `name:"oauth-registration" default:"true" negatable:"" page:"applications.md" help:"Let applications register themselves (RFC 7591); people decide what they may do."`
	ClientDocuments  bool             `name:"oauth-client-documents" default:"true" negatable:"" page:"applications.md" help:"Let in applications that call themselves by the address of a document about them; people decide what they may do."`
	MCP              bool             `name:"mcp" default:"true" negatable:"" page:"assistants.md" help:"Let assistants work at /mcp."`
	MCPOrigins       []Origin         `name:"mcp-origins" placeholder:"ORIGIN" page:"assistants.md" help:"Origins of web pages that may call the door for assistants and register applications, such as https://inspector.example.com; without it the instance's own only."`
	ClientHosts      []Host           `name:"oauth-client-hosts" placeholder:"HOST" page:"applications.md" help:"Hosts whose documents are read; without it those of all."`
	PauseExhausted   bool             `name:"pause-exhausted-keys" negatable:"" page:"limits.md" help:"Pause a key that has used up deletes-day, until kartei key resume."`
	MaxFileSize      Size             `name:"max-file-size" default:"100MiB" placeholder:"SIZE" page:"files.md" help:"Largest file that may become a document."`
	MaxTransfers     int              `name:"max-transfers" default:"256" placeholder:"N" page:"files.md" help:"Files in transit to or from clients at the same time; one more is 429 OVERLOADED."`
	MaxTransfersEach int              `name:"max-transfers-per-organization" default:"32" placeholder:"N" page:"files.md" help:"Of these, files of one organization; one more is 429 RATE_LIMITED."`
	MaxStaged        Size             `name:"max-staged" default:"10GiB" placeholder:"SIZE" page:"files.md" help:"Sum of the bytes that the open uploads of one organization may announce; more is 429 QUOTA_EXHAUSTED."`
	MaxCalls         int              `name:"max-calls" default:"1024" placeholder:"N" page:"bounds.md" help:"Calls answered at the same time; one more is 429 OVERLOADED."`

	UploadTypes       []filetype.Name `name:"upload-types" placeholder:"TYPE" page:"texts.md" help:"Types of files that may become documents; without it PDF, office formats without macros, plain text, CSV, RTF, images, emails, XML, JSON and ZIP."`
	TextSize          int             `name:"text-size" default:"1048576" placeholder:"BYTES" page:"texts.md" help:"Bytes of a file's text that are kept for searches."`
	TextTime          Duration        `name:"text-time" default:"60s" placeholder:"TIME" page:"texts.md" help:"Processor time for reading the text of one file, at most; a small file gets 5s, and 5s more for each MiB."`
	TextBudget        Duration        `name:"text-budget" default:"20m" placeholder:"TIME" page:"texts.md" help:"Processor time for reading the texts of one organization in an hour; documents beyond it wait."`
	ReaderConfinement Confinement     `name:"reader-confinement" default:"prefer" placeholder:"prefer|require" page:"texts.md" help:"Whether texts are still read if the system cannot confine the process that reads them."`
	Clamd             clamd.URL       `name:"clamd" placeholder:"URL" page:"texts.md" help:"Address of a clamd that scans files for malware, unix:/PATH or tcp://HOST:PORT; without it files are not scanned."`
	ClamdAway         ClamdAway       `name:"clamd-away" default:"wait" placeholder:"wait|refuse" page:"texts.md" help:"Whether files wait while clamd is away, or are refused."`

	SMTPURL  SMTPURL `name:"smtp-url" placeholder:"URL" secret:"url" page:"email.md" help:"Mail server, smtp://USER:PASSWORD@HOST:PORT or smtps://...; without it emails are files in the folder mail of the data folder."`
	MailFrom Email   `name:"mail-from" placeholder:"ADDRESS" page:"email.md" help:"Sender of emails; without it kartei@ and the host of --base-url."`

	OIDCIssuer       Issuer `name:"oidc-issuer" placeholder:"URL" page:"sso.md" help:"OpenID provider by which people sign in, such as https://login.example.com/realms/office, exactly as it names itself; without it there is no single sign-on."`
	OIDCClientID     string `name:"oidc-client-id" placeholder:"ID" page:"sso.md" help:"Name under which the provider knows this instance."`
	OIDCClientSecret Secret `name:"oidc-client-secret" placeholder:"SECRET" secret:"all" page:"sso.md" help:"Secret that goes with it; better a variable than a flag, which other users of the machine see."`
	OIDCName         string `name:"oidc-name" default:"Single Sign-on" placeholder:"NAME" page:"sso.md" help:"What the pages call the provider."`
	OIDCCA           File   `name:"oidc-ca" placeholder:"FILE" page:"sso.md" help:"PEM file of authorities that the provider may use, beside those of the system."`

	WebhookDenyNets    []Network        `name:"webhook-deny-nets" placeholder:"CIDR" page:"outgoing.md" help:"Networks that no webhook is sent to although their addresses are public."`
	WebhookAllowNets   []Network        `name:"webhook-allow-nets" placeholder:"CIDR" page:"outgoing.md" help:"For development: networks that webhooks are sent to although their addresses are not public."`
	WebhookCA          File             `name:"webhook-ca" placeholder:"FILE" page:"outgoing.md" help:"For development: PEM file of authorities that receivers of webhooks may use, beside those of the system."`
	WebhookDial        []egress.Mapping `name:"webhook-dial" placeholder:"HOST=ADDRESS[:PORT]" page:"outgoing.md" help:"For development: addresses of webhook hosts, in place of DNS; they are checked like any other."`
	WebhookDevelopment bool             `name:"webhook-development" negatable:"" page:"outgoing.md" help:"Accept --webhook-allow-nets, --webhook-ca and --webhook-dial in production too."`

	Guesses int `name:"guesses" default:"30" placeholder:"N" page:"bounds.md" help:"Refused credentials that one address may present in a minute."`

	ReadHeaderTimeout        Duration `name:"read-header-timeout" default:"10s" placeholder:"TIME" page:"bounds.md" help:"Time for the head of a request."`
	BodyTimeout              Duration `name:"body-timeout" default:"30s" placeholder:"TIME" page:"bounds.md" help:"Time for a whole request."`
	WriteTimeout             Duration `name:"write-timeout" default:"60s" placeholder:"TIME" page:"bounds.md" help:"Time from the first byte of a request until its answer has been read."`
	IdleTimeout              Duration `name:"idle-timeout" default:"2m" placeholder:"TIME" page:"bounds.md" help:"Time between two requests of a connection."`
	DrainTime                Duration `name:"drain-time" placeholder:"TIME" page:"replicas.md" help:"How long a stopping server still accepts calls, while /readyz sends load balancers away."`
	ShutdownTimeout          Duration `name:"shutdown-timeout" default:"30s" placeholder:"TIME" page:"bounds.md" help:"Time for calls in flight when the server stops."`
	MaxConnections           int      `name:"max-connections" default:"4096" placeholder:"N" page:"bounds.md" help:"Connections served at the same time; more wait."`
	MaxConnectionsPerAddress int      `name:"max-connections-per-address" default:"512" placeholder:"N" page:"bounds.md" help:"Of these, connections of one client address; trusted proxies are exempt."`
	MaxHeaderBytes           int      `name:"max-header-bytes" default:"262144" placeholder:"N" page:"bounds.md" help:"Largest head of a request; beyond it the connection is closed with 431."`

	LogFormat LogFormat `name:"log-format" default:"text" placeholder:"text|json" page:"metrics.md" help:"Form of the log on standard error."`
	LogLevel  LogLevel  `name:"log-level" default:"info" placeholder:"LEVEL" page:"metrics.md" help:"Lowest level that is logged: debug, info, warn or error."`
}

// Check returns an error if settings contradict each other, or if a value is outside its range.
func (s *Server) Check() error {
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together: set both or neither")
	case s.WriteTimeout < s.BodyTimeout:
		return fmt.Errorf("--write-timeout (%s) is shorter than --body-timeout (%s): no answer could follow a slow request", s.WriteTimeout, s.BodyTimeout)
	case s.LockAfter < 1:
		return fmt.Errorf("--lock-after: %d is too small; accepted is 1 or more", s.LockAfter)
	case s.KeyShare < 1 || s.KeyShare > 100:
		return fmt.Errorf("--key-share: %d is not a share; accepted is 1 to 100", s.KeyShare)
	case s.AlertAt < 1 || s.AlertAt > 100:
		return fmt.Errorf("--alert-at: %d is not a share; accepted is 1 to 100", s.AlertAt)
	case s.MaxCalls < 1:
		return fmt.Errorf("--max-calls: %d is too small; accepted is 1 or more", s.MaxCalls)
	case s.MaxTransfers < 1:
		return fmt.Errorf("--max-transfers: %d is too small; accepted is 1 or more", s.MaxTransfers)
	case s.MaxTransfersEach < 1:
		return fmt.Errorf("--max-transfers-per-organization: %d is too small; accepted is 1 or more", s.MaxTransfersEach)
	case s.MaxStaged < s.MaxFileSize:
		return errors.New("--max-staged is smaller than --max-file-size: no file of that size could be uploaded")
	case s.TextSize < 0 || s.TextSize > maxTextSize:
		return fmt.Errorf("--text-size: %d is not accepted; accepted is 0 to %d", s.TextSize, maxTextSize)
	case s.TextTime > 0 && time.Duration(s.TextTime) < time.Second:
		return fmt.Errorf("--text-time: %s is too small; accepted is 1s or more", s.TextTime)
	case s.TextBudget < s.TextTime:
		return fmt.Errorf("--text-budget (%s) is smaller than --text-time (%s): a large file would never be read",
			s.TextBudget, s.TextTime)
	case s.Guesses < 1:
		return fmt.Errorf("--guesses: %d is too small; accepted is 1 or more", s.Guesses)
	case s.MaxConnections < 1:
		return fmt.Errorf("--max-connections: %d is too small; accepted is 1 or more", s.MaxConnections)
	case s.MaxConnectionsPerAddress < 1:
		return fmt.Errorf("--max-connections-per-address: %d is too small; accepted is 1 or more", s.MaxConnectionsPerAddress)
	case s.MaxHeaderBytes < 64<<10:
		return fmt.Errorf("--max-header-bytes: %d is too small; accepted is 65536 or more", s.MaxHeaderBytes)
	}
	if err := s.checkOIDC(); err != nil {
		return err
	}
	if name := s.Development(); name != "" && s.Environment != "rc" && !s.WebhookDevelopment {
		return fmt.Errorf("%s is for development and tests, because it opens a way into networks that webhooks must not reach; to use it in production nevertheless, set --webhook-development too", name)
	}
	if _, err := s.Egress(); err != nil {
		return err
	}
	if _, err := limit.With(s.Limit...); err != nil {
		return fmt.Errorf("--limits: %s", strings.TrimPrefix(err.Error(), "limit: "))
	}
	return nil
}

// maxOIDCName is the maximum length of the provider's name in characters. The name is the text of a
// button.
const maxOIDCName = 40

// checkOIDC returns an error if the settings of single sign-on are incomplete.
func (s *Server) checkOIDC() error {
	switch {
	case s.OIDCIssuer == "" && (s.OIDCClientID != "" || s.OIDCClientSecret != "" || s.OIDCCA != ""):
		return errors.New("--oidc-client-id, --oidc-client-secret and --oidc-ca need --oidc-issuer")
	case s.OIDCIssuer == "":
		return nil
	case s.OIDCClientID == "" || s.OIDCClientSecret == "":
		return errors.New("--oidc-issuer needs --oidc-client-id and --oidc-client-secret")
	case strings.TrimSpace(s.OIDCName) == "" || utf8.RuneCountInString(s.OIDCName) > maxOIDCName:
		return fmt.Errorf("--oidc-name: %q is not accepted; accepted are 1 to %d characters", s.OIDCName, maxOIDCName)
	case s.BaseURL == "":
		return errors.New("--oidc-issuer needs --base-url: the provider sends people back to it")
	}
	_, err := s.OIDCEgress()
	return err
}

// OIDCEgress returns the rules for connections to the OpenID provider. The address of the provider
// may be in any network. Other addresses that the provider names must be public.
func (s *Server) OIDCEgress() (o egress.Options, err error) {
	if o.Trusted, err = url.Parse(string(s.OIDCIssuer)); err != nil {
		return o, err
	}
	o.Roots, err = authorities("--oidc-ca", s.OIDCCA)
	return o, err
}

// authorities returns the certificate authorities of the system and of a PEM file. It returns nil
// if file is empty.
func authorities(setting string, file File) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(string(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("%s: reading the system's certificate authorities: %w", setting, err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s contains no certificate in PEM", setting, file)
	}
	return roots, nil
}

// Development returns the flag of the first development setting that is set. It returns an empty
// string if none is set.
func (s *Server) Development() string {
	switch {
	case len(s.WebhookAllowNets) > 0:
		return "--webhook-allow-nets"
	case s.WebhookCA != "":
		return "--webhook-ca"
	case len(s.WebhookDial) > 0:
		return "--webhook-dial"
	}
	return ""
}

// Egress returns the rules for connections to targets that users choose.
func (s *Server) Egress() (egress.Options, error) {
	roots, err := authorities("--webhook-ca", s.WebhookCA)
	return egress.Options{
		Allow: Prefixes(s.WebhookAllowNets), Deny: Prefixes(s.WebhookDenyNets), Dial: s.WebhookDial,
		Roots: roots,
	}, err
}

// maxTextSize is the maximum value of TextSize in bytes. The text of a file is one row in the
// database, and is split into words within one transaction.
const maxTextSize = 16 << 20

// Texts returns the settings for reading the texts of files. The compiled PDF reader is stored in
// the folder cache of the data folder.
func (s *Server) Texts(store *Store) extract.Options {
	return extract.Options{
		Limits: extract.Limits{Text: s.TextSize, Time: time.Duration(s.TextTime)},
		Cache:  filepath.Join(string(store.DataDir), "cache"), Require: s.ReaderConfinement == Require,
	}
}

// Limits returns the default limits with the configured changes.
func (s *Server) Limits() (limit.Config, error) {
	policies, err := limit.With(s.Limit...)
	return limit.Config{
		Metered: s.Metered, Policies: policies, Share: int64(s.KeyShare), AlertAt: int64(s.AlertAt),
		Exhausted: s.PauseExhausted,
		LockAfter: int64(s.LockAfter), LockWindow: time.Duration(s.LockWindow), LockTime: time.Duration(s.LockTime),
	}, err
}

// MasterKey returns the configured or default path of the master key.
func (s *Server) MasterKey(store *Store) string {
	if s.MasterKeyFile != "" {
		return string(s.MasterKeyFile)
	}
	return filepath.Join(string(store.DataDir), "master.key")
}

// Duration is a positive duration, written like 30s or 2m.
type Duration time.Duration

// String returns the duration in Go's notation, for example 2m0s.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalText sets d. It returns an error unless b is a positive duration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a length of time; accepted are numbers above 0 with a unit, such as 500ms, 30s or 2m", b)
	}
	*d = Duration(v)
	return nil
}

// HSTS is the time for which browsers use only TLS (Strict-Transport-Security). Zero, written as
// off, means that the header is not sent.
type HSTS Duration

// UnmarshalText sets h. It accepts off and durations of at least a second.
func (h *HSTS) UnmarshalText(b []byte) error {
	if string(b) == "off" {
		*h = 0
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(b); err != nil || time.Duration(d) < time.Second {
		return fmt.Errorf("%q is not a length of time; accepted are off and numbers with a unit, from 1s, such as 8760h", b)
	}
	*h = HSTS(d)
	return nil
}

// MarshalText returns off or a duration, as UnmarshalText accepts it.
func (h HSTS) MarshalText() ([]byte, error) {
	if h == 0 {
		return []byte("off"), nil
	}
	return Duration(h).MarshalText()
}

// MarshalText returns the result of String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
