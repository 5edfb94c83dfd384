// Package invitation owns invitations of people to an organization.
package invitation

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/store/replay"
)

const (
	// Lifetime is the time for which a link is valid. A week is longer than a usual absence.
	Lifetime = 7 * 24 * time.Hour
	// maxOpen is the maximum number of open invitations of an organization. No office has so many
	// new colleagues in a week. Each invitation sends an email to somebody who has not asked for
	// it.
	maxOpen = 100
	// Path is the path of the page of an invitation. The token follows as the fragment. Browsers do
	// not send fragments, so no server or proxy can log the token.
	Path = "/invitation#"
)

// New is the input of Create.
type New struct {
	Organization string `json:"organizationId,omitempty"`
	Email        string `json:"email"`
	// Language is the language of pages and emails for the new person. If it is empty, the language
	// of the browser at the acceptance is used. The email with the invitation then is German.
	Language string `json:"language,omitempty"`
	// Role is the role of the new person. Empty means member.
	Role   access.Role   `json:"role,omitempty"`
	Rights access.Rights `json:"rights,omitempty"`
	// Mail makes the instance send an email with the link.
	Mail bool `json:"mail,omitempty"`
}

// Info is an open invitation as admins see it, without its token.
type Info struct {
	ID string `json:"id"`
	// OrganizationID is the id of a live organization, even if the invitation was created for its
	// sandbox.
	OrganizationID string `json:"organizationId"`
	Email          string `json:"email"`
	// Language is empty if the input had no language.
	Language string        `json:"language,omitempty"`
	Role     access.Role   `json:"role"`
	Rights   access.Rights `json:"rights"`
	// InvitedBy is the id of the admin who sent the invitation. It is empty for the operator.
	InvitedBy string       `json:"invitedBy"`
	CreatedAt clock.Micros `json:"createdAt"`
	ExpiresAt clock.Micros `json:"expiresAt"`
	// HandedOver says that the admin got the link to pass it on, because there is no mail server.
	// So a person with the link has not proven that the address is theirs.
	HandedOver bool `json:"handedOver,omitempty"`

	organization int64
}

// NewInvitation is a new invitation. Whoever has its token can act as the owner of the address. So
// only the operator gets the token. An admin gets it only if there is no mail server, to pass it
// on.
type NewInvitation struct {
	Info
	Token string `json:"token,omitempty"`
	// Link is the URL of the page that accepts the invitation. It is empty if the address of the
	// instance is not known.
	Link string `json:"link,omitempty"`
	// Mailed says that an email with the link was enqueued. An admin does not see that the bound on
	// emails of all organizations to an address was reached, so Mailed is then true nevertheless.
	Mailed bool `json:"mailed"`
}

// Secret implements op.Secret.
func (NewInvitation) Secret() {}

// Acceptance is the input of Accept.
type Acceptance struct {
	// Token is the credential. A caller with the token counts as the person who was invited.
	Token string `json:"token"`
	// Name is the name of the person.
	Name string `json:"name"`
}

// Create is the operation that creates an invitation to the caller's organization. It ends an older
// invitation to the same address. The response does not reveal whether a person of another
// organization has the address.
var Create = op.New("people.invite", op.Administer, create, op.By(op.Admin|op.Operator), op.Fresh, op.Gives,
	op.Audited("person.invite"))

func create(ctx context.Context, c *op.Call, in New) (NewInvitation, error) {
	var f input.Faults
	o, err := c.OrganizationField(ctx, &f, in.Organization)
	if err != nil {
		return NewInvitation{}, err
	}
	made := prepare(c, &f, in)
	if !c.IsOperator() {
		in.Mail = notify.Mails.In(c)
		made.HandedOver = !in.Mail
	}
	if in.Mail && !notify.Mails.In(c) {
		f.Say("mail", fault.ForbiddenCombination,
			"No mail server is configured (--smtp-url), or no server is running.")
	}
	if err := f.Err(); err != nil {
		return NewInvitation{}, err
	}
	made.organization, made.OrganizationID = o.Live, o.ID
	if o.SandboxOf != "" {
		made.OrganizationID = o.SandboxOf
	}
	// Changed lets only one transaction at a time change an organization, so that maxOpen holds.
	if err := access.Changed(ctx, c.Tx); err != nil {
		return NewInvitation{}, err
	}
	if err := mayInvite(ctx, c, &made, in.Role); err != nil {
		return NewInvitation{}, err
	}
	if made, err = store(ctx, c, made, in.Mail); err != nil {
		return NewInvitation{}, err
	}
	err = c.Gives(ctx, op.Gain{Word: op.PersonInvited, ID: made.ID, Organization: made.organization})
	if !c.IsOperator() && !made.HandedOver {
		made.Token, made.Link = "", ""
	}
	return made, err
}

// prepare checks the members that the new person will have.
func prepare(c *op.Call, f *input.Faults, in New) NewInvitation {
	p := principal.Check(c, f, access.UserPrincipal, principal.New{
		Name: placeholder, Email: in.Email, Language: in.Language, Role: in.Role, Rights: in.Rights,
	})
	if in.Language == "" {
		p.Language = "" // the person's browser decides
	}
	return NewInvitation{Info: Info{
		ID: id.New(id.Invitation), Email: p.Email, Language: p.Language, Role: p.Role, Rights: p.Rights,
		InvitedBy: c.Actor.PrincipalID(), CreatedAt: c.Now, ExpiresAt: c.Now.Add(Lifetime),
	}}
}

// placeholder replaces the name in checks, because the person gives the name later.
const placeholder = "?"

// mayInvite fails if the address belongs to a person of the organization who has an account or is
// disabled. It also fails if there are too many open invitations. A person without an account keeps
// their role and rights.
func mayInvite(ctx context.Context, c *op.Call, i *NewInvitation, role access.Role) error {
	p, joined, err := personAt(ctx, c.Tx, i.organization, i.Email)
	switch {
	case err != nil:
		return err
	case p.ID == "":
	case joined || p.Disabled:
		return fault.Invalid(fault.Field{Name: "email", Code: fault.Duplicate, Text: isMember})
	case role != "" && role != p.Role:
		return fault.Invalid(fault.Field{Name: "role", Code: fault.ForbiddenCombination, Text: hasRole})
	default:
		i.Role, i.Rights, i.Language = p.Role, p.Rights, p.Language
	}
	var open int64
	err = c.Tx.QueryRow(ctx, countInvitations, i.organization, c.Now, access.FoldEmail(i.Email)).Scan(&open)
	if err != nil {
		return err
	}
	if open >= maxOpen {
		return &fault.Fault{Code: fault.Forbidden, Detail: tooManyInvitations}
	}
	return nil
}

// personAt returns the person of an organization with an address, or the zero value if there is
// none. joined says that the person has an account.
func personAt(
	ctx context.Context, tx db.Tx, organization int64, email string,
) (p access.PrincipalInfo, joined bool, err error) {
	var name string
	err = tx.QueryRow(ctx, `select id, account_id is not null from principals where organization = $1 and email_folded = $2`,
		organization, access.FoldEmail(email)).Scan(&name, &joined)
	if errors.Is(err, db.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, joined, err
	}
	p, err = access.PrincipalIn(ctx, tx, access.UserPrincipal, name)
	return p, joined, err
}

var (
	isMember           = i18n.Text("This address belongs to a person of the organization already. If that person is disabled, enable them.")
	hasRole            = i18n.Text("This person has another role already. Change it first, or invite without a role.")
	tooManyInvitations = i18n.Format("The organization has %d open invitations already. Revoke one, or wait until one is accepted or expires.",
		maxOpen)
)

// store stores an invitation, which replaces an older one to the same address. If mail is set, it
// enqueues the email.
func store(ctx context.Context, c *op.Call, i NewInvitation, mail bool) (NewInvitation, error) {
	i.Token = access.NewToken()
	if base := c.Services.BaseURL; base != "" {
		i.Link = base + Path + i.Token
	}
	c.Audit.About(i.organization, i.ID)
	c.Audit.Hidden("email", true)
	c.Audit.Changed("role", nil, string(i.Role))
	if i.HandedOver {
		c.Audit.Changed("handedOver", nil, true)
	}
	if len(i.Rights) > 0 {
		c.Audit.Changed("rights", nil, i.Rights)
	}
	if err := Erase(ctx, c.Tx, i.organization, i.Email); err != nil {
		return i, err
	}
	if _, err := c.Tx.Exec(ctx, insertInvitation, i.ID, i.organization, access.HashToken(i.Token), i.Email,
		access.FoldEmail(i.Email), i.Language,
		string(i.Role), db.JSON(i.Rights), i.InvitedBy, i.CreatedAt, i.ExpiresAt, i.HandedOver); err != nil {
		return i, err
	}
	if i.Mailed = mail; !mail {
		return i, nil
	}
	if send, err := mayMail(ctx, c, i.organization, i.Email); err != nil || !send {
		i.Mailed = !c.IsOperator() // only the operator may know of other organizations
		return i, err
	}
	return i, notify.Service.In(c).Send(ctx, c.Tx, i.organization, i.message())
}

// mayMail limits the emails to an address. If an organization sends more than three in an hour,
// mayMail fails with RATE_LIMITED. If all organizations together send more than ten in a day, it
// returns false without an error. So an admin does not learn that others write to the address.
func mayMail(ctx context.Context, c *op.Call, organization int64, email string) (bool, error) {
	subject := "invitation|" + access.FoldEmail(email)
	err := signin.Attempt(ctx, c.Tx, c.Now, signin.Limit{
		Subject: fmt.Sprintf("%s|%d", subject, organization), Window: time.Hour, Most: 3,
	})
	if left := signin.Waits(err); left > 0 {
		return false, &fault.Fault{Code: fault.RateLimited, RetryAfter: left, Detail: manyMails}
	}
	if err != nil {
		return false, err
	}
	err = signin.Attempt(ctx, c.Tx, c.Now, signin.Limit{Subject: subject, Window: 24 * time.Hour, Most: 10})
	if signin.Waits(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

var manyMails = i18n.Text("Three invitations went to this address within the last hour. Ask whether one is in the spam folder.")

// message returns the email with the link. The email does not contain the names of the organization
// and the inviting person. Otherwise it would send texts that people chose to strangers, in the
// name of the instance.
func (i *NewInvitation) message() notify.Message {
	in := cmp.Or(i18n.Language(i.Language), i18n.German)
	return notify.Message{
		To: i.Email, Language: in, Until: i.ExpiresAt,
		Title: invitationTitle.In(in), Text: in.Say(invitationText, i.Link),
	}
}

var (
	invitationTitle = i18n.Text("Invitation")
	invitationText  = i18n.Text("You are invited to work with Kartei. This link accepts the invitation:\n\n%s\n\nThe link works once, and for seven days. Do not pass it on. If you did not expect an invitation, delete this message.")
)

// List is the operation that lists open invitations, the oldest first.
var List = op.New("invitations.list", op.Read, list, op.By(op.Admin|op.Operator))

func list(ctx context.Context, c *op.Call, p op.Page) (op.Entries[Info], error) {
	organization, err := c.Within(ctx, p.Organization)
	if err != nil {
		return op.Entries[Info]{}, err
	}
	return op.ListPage(ctx, c.Tx, p, scan, selectInvitations, p.After, organization, c.Now)
}

// Revoke is the operation that revokes an invitation.
var Revoke = op.New("invitations.revoke", op.Administer, revoke, op.By(op.Admin|op.Operator), op.Always,
	op.Audited("invitation.revoke"))

func revoke(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	i, err := scan(c.Tx.QueryRow(ctx, selectInvitation, in.ID))
	if errors.Is(err, db.ErrNoRows) || err == nil && (!c.Reaches(i.organization, i.organization) || i.ExpiresAt <= c.Now) {
		err = fault.Unknown("There is no open invitation with this id.")
	}
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(i.organization, i.ID)
	if err := replay.EraseSecrets(ctx, c.Tx, i.organization, i.ID); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, end(ctx, c, i.ID)
}

// Erase deletes the invitation to an address, if there is one. live is the number of a live
// organization.
func Erase(ctx context.Context, tx db.Tx, live int64, email string) error {
	_, err := tx.Exec(ctx, eraseInvitation, live, access.FoldEmail(email))
	return err
}

// end deletes an invitation. If another call has deleted it meanwhile, end fails with
// db.ErrConflict. The operation then runs again and does not find the invitation.
func end(ctx context.Context, c *op.Call, name string) error {
	n, err := c.Tx.Exec(ctx, deleteInvitation, name)
	if err != nil {
		return err
	}
	if n == 0 {
		return db.ErrConflict
	}
	return nil
}

// Accept creates the person of an invitation and ends the invitation. If the person already exists
// without an account, Accept does not change them.
//
// The caller has checked the token before the transaction. Otherwise a stranger with an invalid
// token could cause writes and clear caches.
func Accept(ctx context.Context, c *op.Call, in Acceptance) (access.PrincipalInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.PrincipalInfo{}, err
	}
	i, err := Open(ctx, c, in.Token)
	if err != nil {
		return access.PrincipalInfo{}, err
	}
	known, _, err := personAt(ctx, c.Tx, i.organization, i.Email)
	if err != nil {
		return access.PrincipalInfo{}, err
	}
	if known.ID != "" {
		c.Audit.About(known.Home, known.ID)
		return known, end(ctx, c, i.ID)
	}
	// The name is checked last, because an error about the name reveals that the token is valid.
	var f input.Faults
	p := principal.Check(c, &f, access.UserPrincipal, principal.New{
		Name: in.Name, Email: i.Email, Language: cmp.Or(i.Language, string(c.Language)), Role: i.Role,
		Rights: maps.Clone(i.Rights),
	})
	if err := f.Err(); err != nil {
		return access.PrincipalInfo{}, err
	}
	if err := end(ctx, c, i.ID); err != nil {
		return access.PrincipalInfo{}, err
	}
	return principal.Insert(ctx, c, access.OrganizationInfo{ID: i.OrganizationID, Live: i.organization}, p)
}

// Open returns the open invitation of a token. It fails with the same error for unknown, used,
// expired and revoked tokens. An invitation is also invalid if its sender is no longer an admin.
// Otherwise a disabled admin could return by an invitation to a second address.
//
// Open looks up the hash of the token, so the duration of the lookup reveals nothing. It compares
// the hashes in constant time.
func Open(ctx context.Context, c *op.Call, token string) (Info, error) {
	hash := access.HashToken(token)
	var stored, state string
	var taken int64 // not zero if the person has an account or is disabled
	i, err := scanAnd(c.Tx.QueryRow(ctx, selectInvitationByHash, hash), &stored, &state, &taken)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return i, err
	}
	if subtle.ConstantTimeCompare([]byte(stored), []byte(hash)) != 1 || i.ExpiresAt <= c.Now ||
		access.State(state) != access.Open || taken > 0 {
		if taken > 0 && c.Services.Logger != nil {
			c.Services.Logger.Info("an invitation was refused, because its address belongs to a person already",
				slog.String("invitation", i.ID))
		}
		return i, &fault.Fault{Code: fault.NotFound, Detail: noInvitation}
	}
	return i, nil
}

var noInvitation = i18n.Text("This invitation is not valid, or no longer valid. Ask for a new one.")

func scan(row db.Row) (Info, error) { return scanAnd(row) }

// scanAnd reads the columns of invitationColumns, and further columns into more.
func scanAnd(row db.Row, more ...any) (i Info, err error) {
	var rights string
	err = row.Scan(append([]any{
		&i.ID, &i.organization, &i.OrganizationID, &i.Email, &i.Language, &i.Role, &rights, &i.InvitedBy,
		&i.CreatedAt, &i.ExpiresAt, &i.HandedOver,
	}, more...)...)
	if err != nil {
		return i, err
	}
	i.Rights = access.Rights{}
	if err := json.Unmarshal([]byte(rights), &i.Rights); err != nil {
		return i, fmt.Errorf("invitation: %s: rights: %w", i.ID, err)
	}
	return i, nil
}
