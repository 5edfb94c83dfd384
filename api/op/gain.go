package op

import "context"

// Gain is access that a call makes, widens, restores or hands out.
type Gain struct {
	Word GainWord
	// ID is what gives the access: a key, a grant, an endpoint, a client, a person.
	ID string
	// Organization is the number of the organization in which it works.
	Organization int64
	// Principal is the user or the service account that has it now. Without one, all of
	// the organization have it.
	Principal string
	// Admins adds notices for the admins. They get them in any case about a
	// service account or the whole organization.
	Admins bool
	// Told is true if the operation itself notifies the owner.
	Told bool
	// To is who owns the record now that somebody else had. Such gains are counted: one notice
	// tells of all of an act.
	To string
}

// GainWord names the access that was given. Notices keep the word, so it stays
// as it is.
type GainWord string

// The words of gains.
const (
	KeyCreated  GainWord = "key.created"
	KeyRotated  GainWord = "key.rotated"
	KeyWidened  GainWord = "key.widened"
	KeyResumed  GainWord = "key.resumed"
	ClientMade  GainWord = "client.created"
	NewSecret   GainWord = "client.rotated"
	ClientOn    GainWord = "client.enabled"
	ClientKnown GainWord = "client.approved"
	HookCreated GainWord = "webhook.created"
	HookChanged GainWord = "webhook.changed"
	HookRotated GainWord = "webhook.rotated"
	HookEnabled GainWord = "webhook.enabled"
	HookResent  GainWord = "webhook.resent"

	PersonCreated  GainWord = "person.created"
	PersonInvited  GainWord = "person.invited"
	PersonWidened  GainWord = "person.widened"
	PasswordLink   GainWord = "person.passwordLink"
	AccountCreated GainWord = "serviceAccount.created"
	AccountWidened GainWord = "serviceAccount.widened"
	Opened         GainWord = "organization.opened"
	AddressChanged GainWord = "person.address"
	HandedOver     GainWord = "records.handedOver"
	RecordsGiven   GainWord = "records.given"
	ListGiven      GainWord = "records.listGiven"

	ListExported   GainWord = "export.list"
	PersonExported GainWord = "export.person"
	AllExported    GainWord = "export.organization"
	AuditExported  GainWord = "export.audit"

	// SignInChanged is about how a person signs in. The notice goes to the
	// account, not to a person of it.
	SignInChanged GainWord = "signIn.changed"
)

// Giver lets an operation give access, or refuses it.
type Giver interface {
	Give(ctx context.Context, c *Call, g Gain) error
}

// Gives says that the operation gives access. The path refuses it if the sign-in of the
// person who calls is not recent, and tells those whom it concerns, in the transaction of the
// operation. Telling holds the turn of jobs until the commit, so Gives comes after the locks
// of keys and endpoints, and before db.Tx.Tick (docs/decisions/0020).
func (c *Call) Gives(ctx context.Context, g Gain) error {
	if c.Giver == nil {
		return nil
	}
	return c.Giver.Give(ctx, c, g)
}
