package op

import "context"

// Gain is access that a call makes, widens, restores or hands out.
type Gain struct {
	Word Gained
	// ID is what gives the access: a key, a grant, an endpoint, a client, a person.
	ID string
	// Organization is the number of the organization in which it works.
	Organization int64
	// Principal is the user or the service account that has it now. Without one, all of
	// the organization have it.
	Principal string
	// Admins says that the admins are told, too. They are told in any case of what a
	// service account or the whole organization has.
	Admins bool
	// Told says that the operation tells the owner itself.
	Told bool
	// To is who owns the record now that somebody else had. Such gains are counted: one notice
	// tells of all of an act.
	To string
}

// Gained says what was given. Notices keep the word, so it stays as it is.
type Gained string

// The words of gains.
const (
	KeyCreated  Gained = "key.created"
	KeyRotated  Gained = "key.rotated"
	KeyWidened  Gained = "key.widened"
	KeyResumed  Gained = "key.resumed"
	ClientMade  Gained = "client.created"
	NewSecret   Gained = "client.rotated"
	ClientOn    Gained = "client.enabled"
	ClientKnown Gained = "client.approved"
	HookCreated Gained = "webhook.created"
	HookChanged Gained = "webhook.changed"
	HookRotated Gained = "webhook.rotated"
	HookEnabled Gained = "webhook.enabled"
	HookResent  Gained = "webhook.resent"

	PersonCreated  Gained = "person.created"
	PersonInvited  Gained = "person.invited"
	PersonWidened  Gained = "person.widened"
	PasswordLink   Gained = "person.passwordLink"
	AccountCreated Gained = "serviceAccount.created"
	AccountWidened Gained = "serviceAccount.widened"
	Opened         Gained = "organization.opened"
	AddressChanged Gained = "person.address"
	HandedOver     Gained = "records.handedOver"
	RecordsGiven   Gained = "records.given"
	ListGiven      Gained = "records.listGiven"

	ListExported   Gained = "export.list"
	PersonExported Gained = "export.person"
	AllExported    Gained = "export.organization"
	AuditExported  Gained = "export.audit"

	// SignInChanged is about how a person signs in. The account is told, not a
	// person of it.
	SignInChanged Gained = "signIn.changed"
)

// Giver lets an operation give access, or refuses it.
type Giver interface {
	Give(ctx context.Context, c *Call, g Gain) error
}

// Gives says that the operation gives access. The path refuses it if the sign-in of the
// person who calls is not recent, and tells those whom it concerns, in the transaction of the
// operation. Telling holds the turn of jobs until the commit, so Gives comes after the locks
// of keys and endpoints, and before db.Tick (docs/decisions/0020).
func (c *Call) Gives(ctx context.Context, g Gain) error {
	if c.Giver == nil {
		return nil
	}
	return c.Giver.Give(ctx, c, g)
}
