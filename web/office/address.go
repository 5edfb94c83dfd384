package office

import "kartei/kit/id"

// The addresses of pages that other pages lead to.
const (
	settingsPath = "/settings" // lists the other pages below it
	profilePath  = "/settings/profile"
	securityPath = "/settings/security"
	// actingPath is the page with all that acts for the account of the person.
	actingPath = securityPath + "/access"

	keysPath         = "/settings/interfaces/keys"
	requestsPath     = "/settings/interfaces/requests"
	eventsPath       = "/settings/interfaces/events"
	usagePath        = "/settings/interfaces/usage"
	applicationsPath = "/settings/interfaces/applications"
	webhooksPath     = "/settings/interfaces/webhooks"

	peoplePath       = "/settings/people"
	accountsPath     = "/settings/service-accounts"
	dataPath         = "/settings/data"
	organizationPath = "/settings/organization"
	auditPath        = "/settings/audit"

	// changesPath is the list of changes of whole lists.
	changesPath = "/changes"

	confirmPath = "/confirm"
	signOutPath = "/signout"
	// switchPath is where a person goes on in another organization.
	switchPath = "/switch"
)

// sandboxPath begins the address of each page of the sandbox. So an address says which
// environment it shows.
const sandboxPath = "/sandbox"

// eventPath returns the address of the page of an event.
func eventPath(id string) string { return eventsPath + "/" + id }

// principalAt is the address of the page of a person or of a service account.
func principalAt(name string) string {
	if id.Valid(id.ServiceAccount, name) {
		return accountsPath + "/" + name
	}
	return peoplePath + "/" + name
}

// organizationAt is the address of the page about the organization or its sandbox.
func organizationAt(sandbox bool) string {
	if sandbox {
		return organizationPath + "?of=sandbox"
	}
	return organizationPath
}
