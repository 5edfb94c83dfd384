package shell

import (
	"net/url"
	"strings"

	"kartei/kit/id"
)

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

// pathsByPrefix has the path of the pages for each prefix of an id.
var pathsByPrefix = map[string]string{
	id.Contact: "/contacts/", id.Company: "/companies/", id.Task: "/tasks/", id.Document: "/documents/",
	id.Operation: "/operations/", id.Import: DataPath + "/",
	id.Key: KeysPath + "/", id.WebhookEndpoint: WebhooksPath + "/", id.Event: EventsPath + "/", id.Request: RequestsPath + "/",
	id.User: PeoplePath + "/", id.ServiceAccount: AccountsPath + "/",
}

// pathFor returns the path of the pages for the prefix of an id, with a slash at the end. It is
// empty if the prefix has no pages.
func pathFor(name string) string { return pathsByPrefix[name[:strings.Index(name, "_")+1]] }

// PathOf returns the path of the page of an id, or an empty text if there is none.
func PathOf(name string) string {
	path := pathFor(name)
	if path == "" {
		return ""
	}
	return path + url.PathEscape(name)
}

// PathOf returns the path of the page of an id. It is empty if there is no such page, or if only
// admins may open the page and the person is no admin.
func (v *Request) PathOf(name string) string {
	page := v.Site.PageAt(pathFor(name) + "{id}")
	if page == nil || page.AdminsOnly() && !v.Session.Administers {
		return ""
	}
	return PathOf(name)
}
