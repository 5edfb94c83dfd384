package account

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

// NewAddress is the input of ChangeEmail.
type NewAddress struct {
	Email string `json:"email"`
}

// addressTicket is the data of a ticket for a change of address. Each change has two tickets.
type addressTicket struct {
	// To is the new address. Old is true in the ticket that is mailed to the present address.
	To  string `json:"to"`
	Old bool   `json:"old"`
}

// ChangeEmail begins a change of the sign-in address. Both addresses get a link, and the address
// changes when both links were used. If the new address has an account already, the response is the
// same, but the links do not work.
var ChangeEmail = op.New("account.changeEmail", op.Administer, changeEmail, op.By(op.Member), op.Fresh, op.Gives,
	op.Audited("account.changeEmail"))

func changeEmail(ctx context.Context, c *op.Call, in NewAddress) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if in.Email, err = input.CheckEmail("email", in.Email); err != nil {
		return op.Nothing{}, err
	}
	switch {
	case access.FoldEmail(in.Email) == access.FoldEmail(s.account.email) && in.Email == s.account.email:
		return op.Nothing{}, fault.Invalid(fault.Field{Name: "email", Code: fault.Duplicate})
	case !notify.Mails.In(c):
		return op.Nothing{}, &fault.Fault{Code: fault.Forbidden, Detail: noMails}
	}
	if err := signin.Throttled(signin.Attempt(ctx, c.Tx, c.Now, signin.MailLimit("address", s.account.id))); err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(s.home, c.Actor.PrincipalID())
	c.Audit.Hidden("newEmail", true)
	if err := signin.EndTickets(ctx, c.Tx, s.account.id, signin.Address); err != nil {
		return op.Nothing{}, err
	}
	m := addressTicket{To: in.Email}
	if err := sendAddress(ctx, c, &s, in.Email, m, addressText); err != nil {
		return op.Nothing{}, err
	}
	m.Old = true
	if err := sendAddress(ctx, c, &s, s.account.email, m, oldAddressText); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, tellBell(ctx, c, s.account.id, ChangeFacts{What: addressBegun})
}

func sendAddress(ctx context.Context, c *op.Call, s *Own, to string, m addressTicket, text i18n.Text) error {
	token, err := signin.Issue(ctx, c.Tx, c.Now, signin.EmailLifetime, signin.Address, s.account.id, m)
	if err != nil {
		return err
	}
	in, err := languageOf(ctx, c.Tx, s.account.id)
	if err != nil {
		return err
	}
	return mail(ctx, c, notify.Message{
		To: to, Language: in, Until: c.Now.Add(signin.EmailLifetime), Title: addressTitle.In(in),
		Text: in.Say(text, c.Services.BaseURL+AddressPath+token),
	})
}

var (
	addressTitle   = i18n.Text("Sign-in address")
	addressText    = i18n.Text("Somebody wants to sign in to Kartei with this address. If it was you, confirm it by this link:\n\n%s\n\nThe link works for a day. The present address must agree too. If it was not you, delete this message.")
	oldAddressText = i18n.Text("Your account is to get another sign-in address. If it was you, confirm it by this link:\n\n%s\n\nThe link works for a day. If it was not you, confirm nothing and change your password.")
)

// Link is the input of ConfirmEmail.
type Link struct {
	Token string `json:"token"`
}

// ConfirmResult is the result of ConfirmEmail.
type ConfirmResult struct {
	// Status is "changed", or "waiting" if the link to the other address is still unused.
	Status string `json:"status"`
}

const (
	// addressTickets selects the unused tickets of a change. Both tickets expire at the same time,
	// and an account has at most one change. So a missing ticket was used.
	addressTickets = `select data from sign_in_tickets where account_id = $1 and kind = 'address' and expires_at > $2`
	updateEmail    = `update accounts set email = $2, email_folded = $3, unconfirmed = false where id = $1`
)

// checkLink refuses an invalid link before the transaction of the call begins.
func checkLink(ctx context.Context, c *op.Call, in Link) (nothing struct{}, err error) {
	return nothing, c.Services.Read(ctx, func(tx db.Tx) error {
		_, err := signin.Read(ctx, tx, c.Now, signin.Address, in.Token, nil)
		return signin.Unknown(err)
	})
}

// ConfirmEmail confirms a change of the sign-in address with the token of a link. The address
// changes with the second link.
var ConfirmEmail = op.NewPrefetched("account.confirmEmail", op.Administer, checkLink, confirmEmail,
	op.By(op.Anyone), op.Gives, op.Audited("account.confirmEmail"))

func confirmEmail(ctx context.Context, c *op.Call, in Link, _ struct{}) (ConfirmResult, error) {
	var m addressTicket
	account, err := signin.Read(ctx, c.Tx, c.Now, signin.Address, in.Token, nil)
	if err != nil {
		return ConfirmResult{}, signin.Unknown(err)
	}
	// If both links are used at the same time, the second transaction must see the effect of the
	// first.
	if err = lock(ctx, c.Tx, account); err != nil {
		return ConfirmResult{}, signin.Unknown(err)
	}
	account, err = signin.Take(ctx, c.Tx, c.Now, signin.Address, in.Token, &m)
	if err != nil {
		return ConfirmResult{}, signin.Unknown(err)
	}
	left, err := db.Values[string](ctx, c.Tx, addressTickets, account, c.Now)
	if err != nil {
		return ConfirmResult{}, err
	}
	if len(left) > 0 {
		c.Audit.Omit()
		return ConfirmResult{"waiting"}, nil
	}
	if err := about(ctx, c, account); err != nil {
		return ConfirmResult{}, err
	}
	c.Audit.Hidden("email", true)
	if err := tell(ctx, c, account, addressMoved); err != nil { // to the old address
		return ConfirmResult{}, err
	}
	a, err := byID(ctx, c.Tx, account)
	if err != nil {
		return ConfirmResult{}, err
	}
	if _, err := c.Tx.Exec(ctx, updateEmail, account, m.To, access.FoldEmail(m.To)); err != nil {
		if errors.Is(err, db.ErrDuplicate) {
			err = signin.Unknown(db.ErrNoRows)
		}
		return ConfirmResult{}, err
	}
	if err := access.Changed(ctx, c.Tx); err != nil {
		return ConfirmResult{}, err
	}
	return ConfirmResult{"changed"}, principal.MoveEmail(ctx, c.Tx, account, a.email, m.To)
}
