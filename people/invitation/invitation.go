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
	// Lifetime is the time in which a link works. A week covers an
	// absence.
	Lifetime = 7 * 24 * time.Hour
	// maxOpen bounds the open invitations of an organization. No office
	// has that many new colleagues in a week, and each invitation is an email
	// to somebody who did not ask for it.
	maxOpen = 100
	// Path is the page of an invitation. The token follows as a
	// fragment. Browsers do not send fragments, so the token is in no log of a
	// server or a proxy.
	Path = "/invitation#"
)

// New is the input of Create.
type New struct {
	Organization string `json:"organizationId,omitempty"`
	Email        string `json:"email"`
	// Language is the language of pages and messages. The default is the one in which the
	// person accepts; the invitation itself is German then.
	Language string `json:"language,omitempty"`
	// Role is by default member.
	Role   access.Role   `json:"role,omitempty"`
	Rights access.Rights `json:"rights,omitempty"`
	// Mail asks for an email with the link to the address.
	Mail bool `json:"mail,omitempty"`
}

// Info is an open invitation as shown to administrators, without its
// token.
type Info struct {
	ID string `json:"id"`
	// OrganizationID is the id of a live organization, never of a sandbox.
	OrganizationID string `json:"organizationId"`
	Email          string `json:"email"`
	// Language is empty if nobody chose one.
	Language string        `json:"language,omitempty"`
	Role     access.Role   `json:"role"`
	Rights   access.Rights `json:"rights"`
	// InvitedBy is the admin who sent the invitation; empty for the operator.
	InvitedBy string       `json:"invitedBy"`
	CreatedAt clock.Micros `json:"createdAt"`
	ExpiresAt clock.Micros `json:"expiresAt"`
	// HandedOver says that the admin got the link to pass it on, because no mail server
	// sends it. Its holder has not shown that the address is theirs.
	HandedOver bool `json:"handedOver,omitempty"`

	organization int64
}

// NewInvitation is a new invitation. Its token is shown only here, and only to the
// operator. An admin has it mailed, or passes it on if no mail server sends it: whoever
// has the token acts as the owner of the address.
type NewInvitation struct {
	Info
	Token string `json:"token,omitempty"`
	// Link is the address of the page that accepts the invitation. It is empty
	// if the address of the instance is not known.
	Link string `json:"link,omitempty"`
	// Mailed says that the link is sent to the address.
	Mailed bool `json:"mailed"`
}

// Secret implements op.Secret.
func (NewInvitation) Secret() {}

// Acceptance is the input of Accept.
type Acceptance struct {
	// Token is the credential: its holder counts as the person who was invited.
	Token string `json:"token"`
	// Name is the name of the person.
	Name string `json:"name"`
}

// Create creates an invitation to the caller's organization. An older
// invitation to the same address ends. The answer does not reveal whether the
// address belongs to a person of another organization.
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
	// Changed serializes the changes of an organization, so that the bound on
	// invitations holds.
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

// placeholder stands for the name until the person gives it.
const placeholder = "?"

// mayInvite refuses an address whose person in the organization has an account
// already, or is disabled, and an invitation beyond the bounds. A person without an
// account keeps the role and the rights that they have.
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
	if err == nil && open >= maxOpen {
		err = &fault.Fault{Code: fault.Forbidden, Detail: tooManyInvitations}
	}
	return err
}

// personAt returns the person of an organization with an address, or the zero one,
// and whether an account signs in as them.
func personAt(
	ctx context.Context, tx db.Tx, organization int64, email string,
) (p access.PrincipalInfo, joined bool, err error) {
	var name string
	err = tx.QueryRow(ctx, `select id, account_id is not null from principals where organization = $1 and email_folded = $2`,
		organization, access.FoldEmail(email)).Scan(&name, &joined)
	if errors.Is(err, db.ErrNoRows) {
		return p, false, nil
	}
	if err == nil {
		p, err = access.PrincipalIn(ctx, tx, access.UserPrincipal, name)
	}
	return p, joined, err
}

var (
	isMember           = i18n.Text("This address belongs to a person of the organization already. If that person is disabled, enable them.")
	hasRole            = i18n.Text("This person has another role already. Change it first, or invite without a role.")
	tooManyInvitations = i18n.Format("The organization has %d open invitations already. Revoke one, or wait until one is accepted or expires.",
		maxOpen)
)

// store stores an invitation in place of an older one to the same
// address. It enqueues the email, if one is wanted.
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
		return i, err
	}
	return i, notify.Service.In(c).Send(ctx, c.Tx, i.organization, i.message())
}

// mayMail bounds the emails to an address: three an hour for an organization, which it
// is told, and ten a day for all. The second bound is silent: an admin must not learn
// that others write to an address.
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

// message returns the email with the link. It names neither the organization
// nor the inviting person. Otherwise texts that people chose would go to
// strangers in the instance's name.
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

// List lists open invitations, the oldest first.
var List = op.New("invitations.list", op.Read, list, op.By(op.Admin|op.Operator))

func list(ctx context.Context, c *op.Call, p access.Page) (access.List[Info], error) {
	organization, err := c.Within(ctx, p.Organization)
	if err != nil {
		return access.List[Info]{}, err
	}
	return access.ListPage(ctx, c.Tx, p, scan, selectInvitations, p.After, organization, c.Now)
}

// Revoke revokes an invitation.
var Revoke = op.New("invitations.revoke", op.Administer, revoke, op.By(op.Admin|op.Operator), op.Always,
	op.Audited("invitation.revoke"))

func revoke(ctx context.Context, c *op.Call, in access.ByID) (op.Nothing, error) {
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

// Erase deletes the invitation to an address, if there is one. live is the number of the
// organization that holds its people.
func Erase(ctx context.Context, tx db.Tx, live int64, email string) error {
	_, err := tx.Exec(ctx, eraseInvitation, live, access.FoldEmail(email))
	return err
}

// end deletes an invitation. If another call has deleted it
// meanwhile, the operation runs again and does not find it.
func end(ctx context.Context, c *op.Call, name string) error {
	n, err := c.Tx.Exec(ctx, deleteInvitation, name)
	if err == nil && n == 0 {
		err = db.ErrConflict
	}
	return err
}

// Accept creates the person that an invitation is for, and ends the
// invitation. A person without an account who was invited stays as they are. The
// caller has read the invitation outside the transaction: otherwise strangers could
// make the database write, or clear caches.
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
	// The name is checked last, because its faults would reveal that the token
	// is valid.
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

// Open returns the open invitation of a token. Unknown, used, expired and
// revoked tokens get the same answer. So does one whose sender administers no longer:
// otherwise an admin who was disabled could come back by an invitation to a second
// address. It finds the token by its hash, so the time of the lookup reveals nothing. It
// also compares the token in constant time.
func Open(ctx context.Context, c *op.Call, token string) (Info, error) {
	hash := access.HashToken(token)
	var stored, state string
	var taken int64 // a person with an account, or a disabled one
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

// scanAnd reads the columns of invitationColumns, and further ones
// that follow them.
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
