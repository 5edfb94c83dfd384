package shell

import "kartei/kit/id"

// The addresses of pages that other pages lead to.
const (
	SettingsPath = "/settings" // lists the other pages below it
	ProfilePath  = "/settings/profile"
	SecurityPath = "/settings/security"
	// ActingPath is the page with all that acts for the account of the person.
	ActingPath = SecurityPath + "/access"

	KeysPath         = "/settings/interfaces/keys"
	RequestsPath     = "/settings/interfaces/requests"
	EventsPath       = "/settings/interfaces/events"
	UsagePath        = "/settings/interfaces/usage"
	ApplicationsPath = "/settings/interfaces/applications"
	WebhooksPath     = "/settings/interfaces/webhooks"

	PeoplePath       = "/settings/people"
	AccountsPath     = "/settings/service-accounts"
	DataPath         = "/settings/data"
	OrganizationPath = "/settings/organization"
	AuditPath        = "/settings/audit"

	// ChangesPath is the list of changes of whole lists.
	ChangesPath = "/changes"

	SignOutPath = "/signout"
	// SwitchPath is where a person goes on in another organization.
	SwitchPath = "/switch"
)

// SandboxPath begins the address of each page of the sandbox. So an address says which
// environment it shows.
const SandboxPath = "/sandbox"

// EventPath returns the address of the page of an event.
func EventPath(id string) string { return EventsPath + "/" + id }

// PrincipalAt is the address of the page of a person or of a service account.
func PrincipalAt(name string) string {
	if id.Valid(id.ServiceAccount, name) {
		return AccountsPath + "/" + name
	}
	return PeoplePath + "/" + name
}

// OrganizationAt is the address of the page about the organization or its sandbox.
func OrganizationAt(sandbox bool) string {
	if sandbox {
		return OrganizationPath + "?of=sandbox"
	}
	return OrganizationPath
}
