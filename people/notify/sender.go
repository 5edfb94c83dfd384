package notify

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"

	"kartei/kit/loopback"
)

// Sender sends emails. If Send returns nil, the email is stored by a server or in a file. Otherwise
// Send must be repeated. id is the Message-ID without the host.
type Sender interface {
	Send(ctx context.Context, id string, m *mail.Msg) error
}

// Files is a Sender that writes each email as an .eml file into a folder.
type Files string

// path returns the path of the file of an email.
func (f Files) path(id string) string { return filepath.Join(string(f), id+".eml") }

// Send writes a file whose name is the id of the email.
func (f Files) Send(_ context.Context, id string, m *mail.Msg) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return &fileError{err}
	}
	temporary, err := os.CreateTemp(string(f), ".mail-*")
	if err != nil {
		return &fileError{err}
	}
	defer os.Remove(temporary.Name())
	_, err = m.WriteTo(temporary)
	if synced := temporary.Sync(); err == nil {
		err = synced
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return &fileError{err}
	}
	if err = os.Rename(temporary.Name(), f.path(id)); err != nil {
		return &fileError{err}
	}
	return nil
}

type fileError struct{ err error }

func (e *fileError) Error() string { return "the email cannot be written to a file: " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// smtpTime is the maximum duration of sending one email.
const smtpTime = 30 * time.Second

// SMTP is a Sender that sends emails to an SMTP server.
type SMTP struct {
	host    string
	options []mail.Option
}

// NewSMTP parses an address: smtp://USER:PASSWORD@HOST:PORT (default port 587) or smtps:// (default
// port 465, TLS from the first byte). With smtp, STARTTLS is required unless the host is this
// machine or the query is ?tls=off. NewSMTP fails if the address is not valid.
func NewSMTP(address string) (*SMTP, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		// the error must not contain the address, which may have a password
		return nil, fmt.Errorf("notify: the SMTP address is not valid; it must be smtp://HOST:PORT or smtps://HOST:PORT, with USER:PASSWORD@ if required")
	}
	s := &SMTP{host: u.Hostname()}
	port, policy := 587, mail.TLSMandatory
	switch {
	case u.Scheme == "smtps":
		port = 465
		s.options = append(s.options, mail.WithSSL())
	case u.Query().Get("tls") == "off":
		policy = mail.NoTLS
	case loopback.Host(u.Hostname()):
		policy = mail.TLSOpportunistic
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, fmt.Errorf("notify: the SMTP port is not valid; it must be a number from 1 to 65535")
		}
	}
	s.options = append(s.options, mail.WithPort(port), mail.WithTLSPolicy(policy), mail.WithTimeout(smtpTime),
		mail.WithoutNoop())
	if u.User != nil {
		password, _ := u.User.Password()
		auth := mail.SMTPAuthAutoDiscover
		if policy != mail.TLSMandatory { // TLS is off, or the host is this machine
			auth = mail.SMTPAuthPlainNoEnc
		}
		s.options = append(s.options, mail.WithSMTPAuth(auth), mail.WithUsername(u.User.Username()),
			mail.WithPassword(password))
	}
	_, err = mail.NewClient(s.host, s.options...)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	return s, nil
}

// Reach connects to the server and signs in, without an email.
func (s *SMTP) Reach(ctx context.Context) error {
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	if err := client.DialWithContext(ctx); err != nil {
		return err
	}
	return client.Close()
}

// Send sends an email on a new connection, because emails are rare.
func (s *SMTP) Send(ctx context.Context, _ string, m *mail.Msg) error {
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, smtpTime)
	defer cancel()
	return client.DialAndSendWithContext(bounded, m)
}
