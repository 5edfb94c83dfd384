package signin

import (
	"encoding/json"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// Passkeys runs the ceremonies of WebAuthn. A passkey verifies its user by a gesture, such as a
// fingerprint, so it counts as both factors.
type Passkeys struct{ relying *webauthn.WebAuthn }

// NewPasskeys returns the Passkeys for the address of an instance. It returns nil if passkeys
// cannot be used. Browsers require a host name, and TLS unless the host is localhost.
func NewPasskeys(base string) *Passkeys {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Kartei", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil
	}
	return &Passkeys{w}
}

// Owner is the account of passkeys.
type Owner struct {
	// Account is the id of the account and the user handle of its passkeys. Email is the name that
	// the browser shows for them.
	Account, Email string
	// Stored are the passkeys of the account as the database stores them.
	Stored []string
}

// WebAuthnID implements webauthn.User.
func (o *Owner) WebAuthnID() []byte { return []byte(o.Account) }

// WebAuthnName implements webauthn.User.
func (o *Owner) WebAuthnName() string { return o.Email }

// WebAuthnDisplayName implements webauthn.User.
func (o *Owner) WebAuthnDisplayName() string { return o.Email }

// WebAuthnCredentials implements webauthn.User. It leaves out passkeys that cannot be decoded.
func (o *Owner) WebAuthnCredentials() []webauthn.Credential {
	var all []webauthn.Credential
	for _, text := range o.Stored {
		var c webauthn.Credential
		if json.Unmarshal([]byte(text), &c) == nil {
			all = append(all, c)
		}
	}
	return all
}

// CeremonyData is the data that the server keeps between the two steps of a ceremony.
type CeremonyData = webauthn.SessionData

// Register begins the registration of a passkey. options are for the browser, and kept is for
// Registered.
func (p *Passkeys) Register(o *Owner) (options json.RawMessage, kept *CeremonyData, err error) {
	var known []protocol.CredentialDescriptor
	for _, c := range o.WebAuthnCredentials() {
		known = append(known, c.Descriptor())
	}
	creation, kept, err := p.relying.BeginRegistration(o, webauthn.WithExclusions(known))
	if err != nil {
		return nil, nil, err
	}
	options, err = json.Marshal(creation.Response)
	return options, kept, err
}

// StoredPasskey is the id of a passkey and the text that the database stores.
type StoredPasskey struct{ ID, Stored string }

// Registered checks the response of the browser, and returns the new passkey.
func (p *Passkeys) Registered(o *Owner, kept *CeremonyData, response []byte) (StoredPasskey, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return StoredPasskey{}, err
	}
	c, err := p.relying.CreateCredential(o, *kept, parsed)
	if err != nil {
		return StoredPasskey{}, err
	}
	return made(c)
}

// Ask begins a sign-in, in which the browser offers its passkeys. options are for the browser, and
// kept is for Used.
func (p *Passkeys) Ask() (options json.RawMessage, kept *CeremonyData, err error) {
	assertion, kept, err := p.relying.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, err
	}
	options, err = json.Marshal(assertion.Response)
	return options, kept, err
}

// Holder returns the id of the account that a response of the browser claims. The claim is not
// checked. It is empty if the response is not valid.
func Holder(response []byte) (account string) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return ""
	}
	return string(parsed.Response.UserHandle)
}

// Used checks the response of the browser for the account that it claims, and returns the passkey
// with its new counter.
func (p *Passkeys) Used(o *Owner, kept *CeremonyData, response []byte) (StoredPasskey, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return StoredPasskey{}, err
	}
	_, c, err := p.relying.ValidatePasskeyLogin(func([]byte, []byte) (webauthn.User, error) { return o, nil }, *kept,
		parsed)
	if err != nil {
		return StoredPasskey{}, err
	}
	if c.Authenticator.CloneWarning {
		return StoredPasskey{}, protocol.ErrVerification.WithDetails("the counter of the passkey went back")
	}
	return made(c)
}

func made(c *webauthn.Credential) (StoredPasskey, error) {
	c.Attestation = webauthn.CredentialAttestation{} // the maker of the device does not matter
	text, err := json.Marshal(c)
	return StoredPasskey{ID: protocol.URLEncodedBase64(c.ID).String(), Stored: string(text)}, err
}
