package invitation_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/people/invitation"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/waittest"

	"github.com/wneessen/go-mail"
)

var ctx = context.Background()

type office struct{ *operator.Office }

func newOffice(t *testing.T, d db.DB) *office {
	t.Helper()
	return &office{operator.NewOffice(t, d)}
}

func (o *office) invite(in invitation.New) (invitation.NewInvitation, error) {
	in.Organization = o.Org.ID
	return operator.Run(ctx, o.Operator, invitation.Create, in)
}

func (o *office) accept(token string) (access.PrincipalInfo, error) {
	return o.acceptAs(token, "Ida Neu")
}

func (o *office) acceptAs(token, name string) (access.PrincipalInfo, error) {
	return operator.Do(ctx, o.Operator, invitation.Accept, invitation.Acceptance{Token: token, Name: name})
}

func (o *office) invitations() []invitation.Info {
	o.Helper()
	return must(operator.Run(ctx, o.Operator, invitation.List, op.Page{Organization: o.Org.ID})).Data
}

// TestInvitation checks that an invitation creates its person once. The token is not stored.
func TestInvitation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		o.Operator = o.Operator.With(op.Services{BaseURL: "https://kartei.example"})
		made := must(o.invite(invitation.New{
			Email:    " Ida@Neu.example ",
			Role:     access.Viewer,
			Language: "en",
			Rights:   access.Rights{"tasks": access.NoRight},
		}))
		if made.Email != "Ida@Neu.example" || made.Link != "https://kartei.example/invitation#"+made.Token ||
			made.ExpiresAt != clock.FromTime(operator.Start.Add(7*24*time.Hour)) || made.Mailed {
			t.Errorf("%+v", made)
		}
		if list := o.invitations(); len(list) != 1 || list[0].ID != made.ID || list[0].Role != access.Viewer ||
			list[0].OrganizationID != o.Org.ID {
			t.Errorf("%+v", list)
		}
		var stored string
		if err := d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select token_hash from invitations`).Scan(&stored)
		}); err != nil || len(stored) != 64 || strings.Contains(stored, made.Token) {
			t.Errorf("stored: %q %v", stored, err)
		}
		p := must(o.accept(made.Token))
		if got := must(o.Operator.GetPrincipal(ctx, op.ByID{ID: p.ID})); got.Name != "Ida Neu" ||
			got.Email != "Ida@Neu.example" || got.Role != access.Viewer ||
			got.Language != "en" || got.Rights["tasks"] != access.NoRight || got.Disabled || got.OrganizationID != o.Org.ID {
			t.Errorf("%+v", got)
		}
		if len(o.invitations()) != 0 {
			t.Error("an accepted invitation stays")
		}
		// A person without an account can be invited without a change of their role.
		if _, err := o.invite(invitation.New{
			Email: "ida@neu.EXAMPLE", Role: access.Admin,
		}); fmt.Sprint(operator.Wrong(t, err)) != "[role FORBIDDEN_COMBINATION]" {
			t.Errorf("inviting a person of the organization with another role: %v", err)
		}
		again := must(o.invite(invitation.New{Email: "ida@neu.EXAMPLE"}))
		if q := must(o.acceptAs(again.Token, "")); q.ID != p.ID || again.Role != access.Viewer || q.Name != "Ida Neu" {
			t.Errorf("%+v %+v", again, q)
		}
		if _, err := o.Operator.SetUser(ctx, principal.Change{ID: p.ID, Disabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.invite(invitation.New{
			Email: "ida@neu.EXAMPLE",
		}); fmt.Sprint(operator.Wrong(t, err)) != "[email DUPLICATE]" {
			t.Errorf("inviting a disabled person of the organization: %v", err)
		}
	})
}

// TestInvalidInvitations checks that unknown, used, expired, revoked and replaced tokens get the
// same error. A person of another organization can be invited.
func TestInvalidInvitations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		away := must(o.Operator.CreateOrganization(ctx, organization.New{Name: "Andere"}))
		must(o.Operator.CreateUser(ctx, principal.New{Organization: away.ID, Name: "Ida Fern", Email: "fern@example.com"}))
		token := func(email string) string { return must(o.invite(invitation.New{Email: email})).Token }
		used, replaced, expired := token("used@example.com"), token("replaced@example.com"), token("expired@example.com")
		must(o.accept(used))
		revoked := must(o.invite(invitation.New{Email: "revoked@example.com"}))
		must(operator.Run(ctx, o.Operator, invitation.Revoke, op.ByID{ID: revoked.ID}))
		o.Clock.Advance(time.Hour)
		must(o.accept(token("fern@example.com")))
		good := token("replaced@example.com")
		o.Clock.Advance(7*24*time.Hour - time.Hour)
		var answers []string
		for name, token := range map[string]string{
			"empty": "", "unknown": strings.Repeat("x", len(good)), "used": used, "replaced": replaced, "expired": expired,
			"revoked": revoked.Token,
		} {
			_, err := o.accept(token)
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
			answers = append(answers, fmt.Sprintf("%+v", *fault.From(err)))
			if answers[0] != answers[len(answers)-1] {
				t.Errorf("%s is answered otherwise: %s", name, answers[len(answers)-1])
			}
		}
		if _, err := operator.Run(ctx, o.Operator, invitation.Revoke,
			op.ByID{ID: revoked.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked again: %v", err)
		}
		if _, err := o.acceptAs(good, ""); fmt.Sprint(operator.Wrong(t, err)) != "[name REQUIRED]" {
			t.Errorf("no name: %v", err)
		}
		must(o.accept(good)) // the invalid input did not use up the token
	})
}

// TestInvitationsAreBounded checks the bound on open invitations. Expired invitations do not count,
// and neither does a second one to the same address.
func TestInvitationsAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		for n := range 100 {
			must(o.invite(invitation.New{Email: fmt.Sprintf("neu%d@example.com", n)}))
		}
		if _, err := o.invite(invitation.New{Email: "mehr@example.com"}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("one too many: %v", err)
		}
		must(o.invite(invitation.New{Email: "NEU1@example.com"}))
		o.Clock.Advance(invitation.Lifetime)
		must(o.invite(invitation.New{Email: "mehr@example.com"}))
		if list := o.invitations(); len(list) != 1 {
			t.Errorf("%d are open", len(list))
		}
		if _, err := o.invite(invitation.New{
			Email: "ida", Role: "chef", Mail: true,
		}); fmt.Sprint(operator.Wrong(t, err)) != "[email INVALID_FORMAT role NOT_IN_ENUM mail FORBIDDEN_COMBINATION]" {
			t.Errorf("%v", err)
		}
	})
}

// mailbox is a Sender that sends the texts of emails to a channel.
type mailbox struct{ texts chan string }

func (s mailbox) Send(_ context.Context, _ string, m *mail.Msg) error {
	var b strings.Builder
	_, err := m.WriteTo(&b)
	s.texts <- b.String()
	return err
}

// TestInvitationIsMailed checks that the link is sent to the address. The link waits encrypted, and
// no row and no log line contains it.
func TestInvitationIsMailed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		var logged bytes.Buffer
		ring := masterkey.Ring{Current: masterkey.New()}
		sender := mailbox{make(chan string, 1)}
		center := notify.New(notify.Options{
			DB: d, Clock: o.Clock, Sender: sender, From: "kartei@kartei.example", BaseURL: "https://kartei.example",
			Host:  "kartei.example",
			Vault: ring.Vault(notify.MessagePurpose), Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		o.Operator = o.Operator.With(*op.Services{BaseURL: "https://kartei.example"}.With(notify.Mails.Is(true),
			notify.Service.Is(center)))
		made := must(o.invite(invitation.New{Email: "ida@neu.example", Language: "en", Mail: true}))
		if !made.Mailed {
			t.Errorf("%+v", made)
		}
		var payload string
		if err := d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select payload from jobs`).Scan(&payload)
		}); err != nil ||
			strings.Contains(payload, made.Token) || strings.Contains(payload, "neu.example") {
			t.Errorf("%s %v", payload, err)
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			job.NewRunner(d, o.Clock, center.Handlers(), job.Options{Logger: slog.New(slog.DiscardHandler)}).Run(running)
		}()
		defer func() {
			stop()
			<-ended
			if strings.Contains(logged.String(), made.Token) || strings.Contains(logged.String(), "neu.example") {
				t.Errorf("the log says %s", logged.String())
			}
		}()
		select {
		case text := <-sender.texts:
			plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(text)))
			if !strings.Contains(string(plain), made.Link) || !strings.Contains(text, "To: <ida@neu.example>") ||
				!strings.Contains(text, "Subject: Kartei: Invitation") || strings.Contains(text, "Morgenstern") {
				t.Errorf("%v\n%s", err, plain)
			}
		case <-time.After(waittest.Bound):
			t.Error("nothing is sent")
		}
	})
}

// TestInvitationMailsAreBounded checks the bounds on emails to an address. An organization gets an
// error at its bound. At the bound of all organizations, the email is dropped without an error.
func TestInvitationMailsAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		center := notify.New(notify.Options{
			DB: d, Clock: o.Clock, Vault: masterkey.Ring{Current: masterkey.New()}.Vault(notify.MessagePurpose),
		})
		o.Operator = o.Operator.With(*op.Services{BaseURL: "https://kartei.example"}.With(notify.Mails.Is(true),
			notify.Service.Is(center)))
		sent := func() (n int) {
			if err := d.Read(ctx, func(tx db.Tx) error {
				return tx.QueryRow(ctx, `select count(*) from jobs where kind = $1`, notify.MessageKind).Scan(&n)
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		invite := func(organization string) error {
			before := sent()
			made, err := operator.Run(ctx, o.Operator, invitation.Create, invitation.New{
				Organization: organization, Email: "Ida@neu.example", Mail: true,
			})
			mailed := sent() > before
			if err == nil && made.Mailed != mailed {
				t.Errorf("the operator is told %t, want %t", made.Mailed, mailed)
			}
			return err
		}
		for n := range 5 {
			away := must(o.Operator.CreateOrganization(ctx, organization.New{Name: "Andere"}))
			for range 3 {
				if err := invite(away.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := invite(away.ID); !fault.Is(err, fault.RateLimited) {
				t.Errorf("one too many: %v", err)
			}
			if want := min(3*(n+1), 10); sent() != want {
				t.Errorf("%d emails, want %d", sent(), want)
			}
		}
		o.Clock.Advance(24 * time.Hour)
		if err := invite(o.Org.ID); err != nil || sent() != 11 {
			t.Errorf("a day later: %v, %d", err, sent())
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
