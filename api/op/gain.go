package op

import "context"

// Gain is access that a call creates, widens, restores or hands out.
type Gain struct {
	Word GainWord
	// ID is the id of the object that gives the access: a key, a grant, an endpoint, a client or a
	// person.
	ID string
	// Organization is the number of the organization to whose data the access is.
	Organization int64
	// Principal is the id of the user or the service account with the access. It is empty if all
	// people of the organization have the access.
	Principal string
	// Admins says that admins also get a notice. About a service account or the whole organization
	// they always get one.
	Admins bool
	// Told says that the operation itself notifies the owner.
	Told bool
	// To is the id of the new owner of a record that had another owner. Such gains are counted, and
	// one notice covers all gains of an act.
	To string
}

// GainWord is the name of a kind of gain. Notices store the name, so it must not change.
type GainWord string

// These are the names of all gains.
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

	// SignInChanged is a change of the factors with which a person signs in. The notice goes to the
	// account, not to one of its people.
	SignInChanged GainWord = "signIn.changed"
)

// Giver decides whether an operation may give access. Give fails if it may not.
type Giver interface {
	Give(ctx context.Context, c *Call, g Gain) error
}

// Gives must be called by an operation that gives access. It fails if the calling person has not
// signed in recently. It notifies the people concerned in the transaction of the operation. The
// notices hold the turn of jobs until the commit. So Gives comes after the locks of keys and
// endpoints, and before db.Tx.Tick (docs/decisions/0020).
func (c *Call) Gives(ctx context.Context, g Gain) error {
	if c.Giver == nil {
		return nil
	}
	return c.Giver.Give(ctx, c, g)
}
