package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"kartei/kit/loopback"
	"kartei/store/blob"
)

// Dir is the path of a folder.
type Dir string

// UnmarshalText sets d. It returns an error if the path is empty or a URL.
func (d *Dir) UnmarshalText(b []byte) error { return setPath((*string)(d), b, "folder") }

// File is the path of a file.
type File string

// UnmarshalText sets f. It returns an error if the path is empty or a URL.
func (f *File) UnmarshalText(b []byte) error { return setPath((*string)(f), b, "file") }

// urlScheme matches the beginning of a URL. Its scheme has at least two letters, because one letter
// is a drive of Windows.
var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// hasHost reports whether the text after file: or sqlite: names a host or another scheme, as
// file://host/path and file:s3://bucket do. file:///path names none.
func hasHost(path string) bool {
	rest, two := strings.CutPrefix(path, "//")
	return two && !strings.HasPrefix(rest, "/") || urlScheme.MatchString(path)
}

func setPath(to *string, b []byte, what string) error {
	if strings.TrimSpace(string(b)) == "" || strings.ContainsRune(string(b), 0) {
		return fmt.Errorf("%q is not a path; accepted is the path of a %s", b, what)
	}
	if scheme := urlScheme.FindString(string(b)); scheme != "" {
		return fmt.Errorf("%q is not a path, because of %s; accepted is the path of a %s on this machine", b, scheme, what)
	}
	*to = string(b)
	return nil
}

// Size is a number of bytes.
type Size int64

// sizes are the units of a Size, the longest name first.
var sizes = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

// UnmarshalText sets s. It accepts a positive whole number, followed by B, KiB, MiB, GiB or no
// unit.
func (s *Size) UnmarshalText(b []byte) error {
	for _, unit := range sizes {
		digits, is := strings.CutSuffix(string(b), unit.name)
		if n, err := strconv.ParseInt(digits, 10, 32); is && err == nil && n > 0 {
			*s = Size(n * unit.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size; accepted is a number with B, KiB, MiB or GiB, such as 100MiB", b)
}

// MarshalText returns the size in the largest unit that needs no fraction.
func (s Size) MarshalText() ([]byte, error) {
	for _, unit := range []int{2, 1, 0} {
		if int64(s)%sizes[unit].bytes == 0 {
			return fmt.Appendf(nil, "%d%s", int64(s)/sizes[unit].bytes, sizes[unit].name), nil
		}
	}
	return fmt.Appendf(nil, "%dB", int64(s)), nil
}

// Retention is the time for which data are kept after their deletion.
type Retention time.Duration

// UnmarshalText sets r. It accepts durations from an hour to ten years.
func (r *Retention) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil || d < time.Hour || d > 10*365*24*time.Hour {
		return fmt.Errorf("%q is not a retention; accepted is 1h to 87600h, such as 720h for 30 days", b)
	}
	*r = Retention(d)
	return nil
}

// MarshalText returns the retention in Go's notation of durations.
func (r Retention) MarshalText() ([]byte, error) { return []byte(time.Duration(r).String()), nil }

// Address is a host and a port to listen on.
type Address string

// UnmarshalText sets a. It returns an error unless b is a host and a port.
func (a *Address) UnmarshalText(b []byte) error {
	_, port, err := net.SplitHostPort(string(b))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address; accepted is HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080, [::1]:8080 or :8080", b)
	}
	*a = Address(b)
	return nil
}

// DatabaseURL is the URL of a database: sqlite:PATH or postgres://….
type DatabaseURL string

// UnmarshalText sets u. It returns an error for any other URL. The error does not contain the
// value, which may contain a password.
func (u *DatabaseURL) UnmarshalText(b []byte) error {
	s := string(b)
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok && path != "" && !hasHost(path) {
		*u = DatabaseURL(s)
		return nil
	}
	parsed, err := url.Parse(s)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		return fmt.Errorf("the value is not the address of a database; accepted are sqlite:PATH and postgres://USER:PASSWORD@HOST:PORT/NAME")
	}
	*u = DatabaseURL(s)
	return nil
}

// Redacted returns the URL without the password and without parameters, which may contain a
// password too.
func (u DatabaseURL) Redacted() string {
	if strings.HasPrefix(string(u), "sqlite:") || u == "" {
		return string(u)
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return "(hidden)"
	}
	if parsed.RawQuery != "" {
		parsed.RawQuery = "..."
	}
	return parsed.Redacted()
}

// BlobURL is the URL of the place of the files of documents: file:PATH or s3://….
type BlobURL string

// UnmarshalText sets u. It returns an error for any other URL. The error does not contain the
// value.
func (u *BlobURL) UnmarshalText(b []byte) error {
	l, err := blob.ParseLocation(string(b))
	if err != nil {
		return err
	}
	if hasHost(l.Dir) {
		return errors.New("the value names another machine; accepted are file:PATH with a path on this machine, and s3://BUCKET?endpoint=URL&region=NAME")
	}
	*u = BlobURL(b)
	return nil
}

// Encryption is auto, on or off.
type Encryption string

// UnmarshalText sets e. It returns an error for any other word.
func (e *Encryption) UnmarshalText(b []byte) error {
	return setWord((*string)(e), b, string(blob.Auto), string(blob.Always), string(blob.Never))
}

// SMTPURL is the URL of a mail server: smtp://… or smtps://….
type SMTPURL string

// UnmarshalText sets u. It returns an error for any other URL. The error does not contain the
// value, which may contain a password.
func (u *SMTPURL) UnmarshalText(b []byte) error {
	parsed, err := url.Parse(string(b))
	if err != nil || parsed.Scheme != "smtp" && parsed.Scheme != "smtps" || parsed.Hostname() == "" {
		return fmt.Errorf("the value is not the address of a mail server; accepted are smtp://USER:PASSWORD@HOST:PORT and smtps://USER:PASSWORD@HOST:PORT")
	}
	*u = SMTPURL(b)
	return nil
}

// Redacted returns the URL without the password.
func (u SMTPURL) Redacted() string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return "(hidden)"
	}
	return parsed.Redacted()
}

// Email is an email address.
type Email string

// UnmarshalText sets e. It returns an error unless b is a single address without a display name.
func (e *Email) UnmarshalText(b []byte) error {
	parsed, err := mail.ParseAddress(string(b))
	if err != nil || parsed.Address != string(b) {
		return fmt.Errorf("%q is not an email address; accepted is one such as kartei@example.com", b)
	}
	*e = Email(b)
	return nil
}

// BaseURL is an http or https URL without path, query and fragment.
type BaseURL string

// UnmarshalText sets u. It removes a slash or /v1 at the end, and returns an error for any other
// URL. Clients use the URL with /v1, so operators may enter this form.
func (u *BaseURL) UnmarshalText(b []byte) error {
	s := strings.TrimSuffix(strings.TrimSuffix(string(b), "/"), "/v1")
	parsed, err := url.Parse(s)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" ||
		parsed.Path != "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		return fmt.Errorf("%q is not a base address; accepted is http:// or https:// and a host, without a path, such as https://kartei.example.com", b)
	}
	*u = BaseURL(s)
	return nil
}

// Issuer is the issuer URL of an OpenID provider.
type Issuer string

// UnmarshalText sets i. It returns an error unless b is an https URL, or an http URL of this
// machine. Without TLS, an attacker who changes the provider's responses could sign in as any
// person.
func (i *Issuer) UnmarshalText(b []byte) error {
	u, err := url.Parse(string(b))
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		strings.Contains(string(b), "#") {
		return fmt.Errorf("%q is not the address of an OpenID provider; accepted is one without user, ? and #, such as https://login.example.com", b)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Hostname())) {
		return fmt.Errorf("%q is not https; http is accepted only for localhost, 127.0.0.1 and [::1]", b)
	}
	*i = Issuer(b)
	return nil
}

// Network is a network of IP addresses.
type Network struct{ netip.Prefix }

// UnmarshalText sets n. It accepts only CIDR notation.
func (n *Network) UnmarshalText(b []byte) error {
	parsed, err := netip.ParsePrefix(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a network; accepted is an address with the length of its prefix, such as 10.0.0.0/8, 192.0.2.7/32 or 2001:db8::/32", b)
	}
	n.Prefix = parsed
	return nil
}

// Prefixes returns the networks as a list of prefixes.
func Prefixes(list []Network) []netip.Prefix {
	var all []netip.Prefix
	for _, n := range list {
		all = append(all, n.Prefix)
	}
	return all
}

// Host is the name of a host, in lower case.
type Host string

// UnmarshalText sets h. It returns an error unless b is the name of a host without scheme, port and
// path.
func (h *Host) UnmarshalText(b []byte) error {
	name := strings.ToLower(string(b))
	if u, err := url.Parse("https://" + name); err != nil || name == "" || u.Hostname() != name || u.Host != name ||
		strings.ContainsAny(name, " *,") {
		return fmt.Errorf("%q is not the name of a host; accepted is one without scheme, port and path, such as app.example.com", b)
	}
	*h = Host(name)
	return nil
}

// Origin is the origin of web pages: a scheme and a host, with or without a port.
type Origin string

// UnmarshalText sets o. It returns an error unless b is an origin in lower case.
func (o *Origin) UnmarshalText(b []byte) error {
	u, err := url.Parse(string(b))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != string(b) ||
		strings.ToLower(string(b)) != string(b) {
		return fmt.Errorf("%q is not an origin; accepted is one in lower case without a path, such as https://inspector.example.com", b)
	}
	*o = Origin(b)
	return nil
}

// Secret is a value that is never printed.
type Secret string

// MarshalText returns [set], or an empty text for an empty secret.
func (s Secret) MarshalText() ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	return []byte("[set]"), nil
}

// String returns the result of MarshalText, so that messages do not contain the secret.
func (s Secret) String() string {
	text, _ := s.MarshalText()
	return string(text)
}

// Environment is production or rc. The word rc means a release candidate.
type Environment string

// UnmarshalText sets e. It returns an error for any other word.
func (e *Environment) UnmarshalText(b []byte) error {
	return setWord((*string)(e), b, "production", "rc")
}

// ClamdAway says what happens to files while clamd is unavailable: wait or refuse.
type ClamdAway string

// UnmarshalText sets a. It returns an error for any other word.
func (a *ClamdAway) UnmarshalText(b []byte) error { return setWord((*string)(a), b, "wait", "refuse") }

// Confinement says whether texts are read in a process that is not confined: prefer (yes) or
// require (no).
type Confinement string

// Require means that only a confined process may read texts.
const Require Confinement = "require"

// UnmarshalText sets c. It returns an error for any other word.
func (c *Confinement) UnmarshalText(b []byte) error {
	return setWord((*string)(c), b, "prefer", string(Require))
}

// LogFormat is the format of the log: text or json.
type LogFormat string

// UnmarshalText sets f. It returns an error for any other word.
func (f *LogFormat) UnmarshalText(b []byte) error { return setWord((*string)(f), b, "text", "json") }

// LogLevel is the lowest level that is logged: debug, info, warn or error.
type LogLevel string

// UnmarshalText sets l. It returns an error for any other word.
func (l *LogLevel) UnmarshalText(b []byte) error {
	return setWord((*string)(l), b, "debug", "info", "warn", "error")
}

func setWord(to *string, b []byte, words ...string) error {
	for _, w := range words {
		if string(b) == w {
			*to = w
			return nil
		}
	}
	return fmt.Errorf("%q is not accepted; accepted are %s", b, strings.Join(words, ", "))
}
