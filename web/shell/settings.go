package shell

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"kartei/kit/i18n"
)

// SettingsGroup is a group of settings pages in the menu, with its heading.
type SettingsGroup struct {
	Name  i18n.Text
	Pages []SettingsPage
}

// SettingsPage is an entry in the menu of the settings.
type SettingsPage struct {
	Path, Icon string
	Name, Hint i18n.Text
	// Others is the hint for people who are not admins, if they see less on the page. If it is
	// empty, they get Hint too.
	Others i18n.Text
}

// hintFor returns the text that says what the page is for.
func (p *SettingsPage) hintFor(v *Request) string {
	if p.Others != "" && !v.Session.Administers {
		return v.Words.Say(p.Others)
	}
	return v.Words.Say(p.Hint)
}

// menu returns the groups of the menu with only the pages that the person may open. Empty groups
// are left out.
func (v *Request) menu() (groups []SettingsGroup) {
	for _, g := range v.Site.application.Menu {
		g.Pages = slices.DeleteFunc(slices.Clone(g.Pages), func(p SettingsPage) bool {
			page := v.Site.PageAt(p.Path)
			return page == nil || !v.Session.mayOpen(page)
		})
		if len(g.Pages) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// showSettings serves the list of the settings pages.
func showSettings(v *Request) View {
	title := v.Words.Say("Settings")
	return v.OK(title, settingsPlace, settingsListView(v, title))
}

// settingsPlace identifies the settings in the navigation.
const settingsPlace = "settings"

// Settings returns a settings page beside the menu of the settings. here is the path of the current
// entry. After a change, Saved redirects to such a page with DoneField, and the page shows what was
// done.
func (v *Request) Settings(here, title string, content templ.Component) HTML {
	note, _ := v.Context().Value(NoteKey{}).(*Toast)
	if text, known := doneTexts[v.URL.Query().Get(DoneField)]; known && v.Method == http.MethodGet {
		note = &Toast{Text: v.Words.Say(text)}
	}
	return HTML{Body: AppPage(v.Frame(title, settingsPlace), settingsView(v, here, title, content), note)}
}

// DoneField is the query parameter that selects a text of doneTexts.
const DoneField = "done"

// Saved returns a redirect to a page, which then shows the text for done.
func (v *Request) Saved(path, done string) View {
	return Redirect{To: path + "?" + url.Values{DoneField: {done}}.Encode()}
}

// doneTexts maps the value of DoneField to the text that a page shows after a change. The address
// contains nothing else about the change.
var doneTexts = map[string]i18n.Text{
	"grantEnded":   "The application is disconnected. Its next call is refused.",
	"grantRenewed": "The connection is renewed for 90 days.",
	"approved":     "The application is approved. Those who wait for it are told.",
	"disapproved":  "The approval is taken back, and the connections of the application have ended.",
	"declined":     "The request is declined.",
	"clientOff":    "The application is disabled. Its next call is refused.",
	"clientOn":     "The application is enabled again.",
	"profile":      "Profile saved.",
	"password":     "Password changed. All other sessions have ended.",
	"totp":         "Authenticator app set up. All other sessions have ended.",
	"totpGone":     "Authenticator app removed. All other sessions have ended.",
	"passkey":      "Passkey added. All other sessions have ended.",
	"passkeyGone":  "Passkey removed. All other sessions have ended.",
	"sso":          "Linked with single sign-on. All other sessions have ended.",
	"ssoGone":      "Unlinked from single sign-on. All other sessions have ended.",
	"session":      "Session ended.",
	"sessions":     "All other sessions have ended.",
	"ended":        "Access ended.",
	"endedAll":     "Everything has ended. Only this session is open.",
	"endedBut":     "Ended. Passkeys and single sign-on stayed: remove them below, one by one.",
	"key":          "Key saved.",
	"keyPaused":    "Key paused. Calls with it are refused.",
	"keyResumed":   "The key works again.",
	"keyRevoked":   "Key revoked.",
	"organization": "Organization saved.",
	"resent":       "The event is being sent once more.",
	"import":       "Import discarded.",
	"address":      "A link is on its way to both addresses. The new one takes effect once you have opened both.",
	"webhook":      "Endpoint saved.",
	"webhookOn":    "The endpoint gets events again.",
	"webhookGone":  "Endpoint deleted.",
	"invited":      "The invitation is on its way.",
	"uninvited":    "Invitation revoked.",
	"principal":    "Saved.",
	"enabled":      "Enabled. Sign-in and keys work again.",
	"disabled":     "Disabled. Sessions have ended, keys are refused.",
	"handsOver":    "Disabled. The hand-over is in progress.",
	"factors":      "The link is on its way.",
	"erased":       "The person is erased.",
	"account":      "Service account created. Create a key now.",
}
