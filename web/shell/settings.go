package shell

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"kartei/kit/fault"
)

// SettingsGroup is a group of settings pages with its heading.
type SettingsGroup struct {
	Name  fault.Text
	Pages []SettingsPage
}

// SettingsPage is a line of the menu of the settings.
type SettingsPage struct {
	Path, Icon string
	Name, Hint fault.Text
	// Others is the hint for people who are no admins, if they see less.
	Others fault.Text
}

// hintFor is what the page is about.
func (p *SettingsPage) hintFor(v *Request) string {
	if p.Others != (fault.Text{}) && !v.Session.Administers {
		return p.Others.In(v.Words.Language)
	}
	return p.Hint.In(v.Words.Language)
}

// menu returns the groups of the menu with the pages that the person may open.
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
	title := v.Words.Say("Einstellungen", "Settings")
	return v.OK(title, settingsPlace, settingsListView(v, title))
}

// settingsPlace is the place of the settings in the navigation.
const settingsPlace = "settings"

// Settings answers with a page of the settings, beside their menu, in which here is the
// present line. A change leads to it by a redirect, whose address says what was done: see
// saved.
func (v *Request) Settings(here, title string, content templ.Component) HTML {
	note, _ := v.Context().Value(NoteKey{}).(*Toast)
	if text, known := doneTexts[v.URL.Query().Get(DoneField)]; known && v.Method == http.MethodGet {
		note = &Toast{Text: text.In(v.Words.Language)}
	}
	return HTML{Body: AppPage(v.Frame(title, settingsPlace), settingsView(v, here, title, content), note)}
}

// DoneField is the parameter with the word of what was done.
const DoneField = "done"

// Saved leads to a page that says what was done.
func (v *Request) Saved(path, done string) View {
	return Redirect{To: path + "?" + url.Values{DoneField: {done}}.Encode()}
}

// doneTexts are what pages say after a change, by its word. The address holds nothing
// else about it.
var doneTexts = map[string]fault.Text{
	"grantEnded":   Text("Die Anwendung ist getrennt. Ihr nächster Aufruf wird abgewiesen.", "The application is disconnected. Its next call is refused."),
	"grantRenewed": Text("Die Verbindung ist um 90 Tage verlängert.", "The connection is renewed for 90 days."),
	"approved":     Text("Die Anwendung ist freigegeben. Wer auf sie wartet, erfährt es.", "The application is approved. Those who wait for it are told."),
	"disapproved":  Text("Die Freigabe ist zurückgenommen, und die Verbindungen der Anwendung sind beendet.", "The approval is taken back, and the connections of the application have ended."),
	"declined":     Text("Die Anfrage ist abgelehnt.", "The request is declined."),
	"clientOff":    Text("Die Anwendung ist gesperrt. Ihr nächster Aufruf wird abgewiesen.", "The application is disabled. Its next call is refused."),
	"clientOn":     Text("Die Anwendung ist wieder freigegeben.", "The application is enabled again."),
	"profile":      Text("Profil gespeichert.", "Profile saved."),
	"password":     Text("Kennwort geändert. Alle anderen Sitzungen sind beendet.", "Password changed. All other sessions have ended."),
	"totp":         Text("App für Einmalcodes eingerichtet. Alle anderen Sitzungen sind beendet.", "Authenticator app set up. All other sessions have ended."),
	"totpGone":     Text("App für Einmalcodes entfernt. Alle anderen Sitzungen sind beendet.", "Authenticator app removed. All other sessions have ended."),
	"passkey":      Text("Passkey hinzugefügt. Alle anderen Sitzungen sind beendet.", "Passkey added. All other sessions have ended."),
	"passkeyGone":  Text("Passkey entfernt. Alle anderen Sitzungen sind beendet.", "Passkey removed. All other sessions have ended."),
	"sso":          Text("Mit Single Sign-on verbunden. Alle anderen Sitzungen sind beendet.", "Linked with single sign-on. All other sessions have ended."),
	"ssoGone":      Text("Verbindung mit Single Sign-on getrennt. Alle anderen Sitzungen sind beendet.", "Unlinked from single sign-on. All other sessions have ended."),
	"session":      Text("Sitzung beendet.", "Session ended."),
	"sessions":     Text("Alle anderen Sitzungen sind beendet.", "All other sessions have ended."),
	"ended":        Text("Zugang beendet.", "Access ended."),
	"endedAll":     Text("Alles beendet. Nur diese Sitzung ist noch offen.", "Everything has ended. Only this session is open."),
	"endedBut":     Text("Beendet. Passkeys und Single Sign-on sind geblieben: Entfernen Sie sie unten einzeln.", "Ended. Passkeys and single sign-on stayed: remove them below, one by one."),
	"key":          Text("Schlüssel gespeichert.", "Key saved."),
	"keyPaused":    Text("Schlüssel pausiert. Aufrufe damit werden abgelehnt.", "Key paused. Calls with it are refused."),
	"keyResumed":   Text("Der Schlüssel gilt wieder.", "The key works again."),
	"keyRevoked":   Text("Schlüssel widerrufen.", "Key revoked."),
	"organization": Text("Organisation gespeichert.", "Organization saved."),
	"resent":       Text("Das Ereignis wird noch einmal gesendet.", "The event is being sent once more."),
	"import":       Text("Import verworfen.", "Import discarded."),
	"address":      Text("An beide Adressen ist ein Link unterwegs. Die neue gilt, wenn Sie beide geöffnet haben.", "A link is on its way to both addresses. The new one takes effect once you have opened both."),
	"webhook":      Text("Endpunkt gespeichert.", "Endpoint saved."),
	"webhookOn":    Text("Der Endpunkt bekommt wieder Ereignisse.", "The endpoint gets events again."),
	"webhookGone":  Text("Endpunkt gelöscht.", "Endpoint deleted."),
	"invited":      Text("Die Einladung ist unterwegs.", "The invitation is on its way."),
	"uninvited":    Text("Einladung zurückgezogen.", "Invitation revoked."),
	"principal":    Text("Gespeichert.", "Saved."),
	"enabled":      Text("Entsperrt. Anmelden und Schlüssel gelten wieder.", "Enabled. Sign-in and keys work again."),
	"disabled":     Text("Gesperrt. Sitzungen sind beendet, Schlüssel werden abgelehnt.", "Disabled. Sessions have ended, keys are refused."),
	"handsOver":    Text("Gesperrt. Die Übergabe läuft.", "Disabled. The hand-over is in progress."),
	"factors":      Text("Der Link ist unterwegs.", "The link is on its way."),
	"erased":       Text("Die Person ist gelöscht.", "The person is erased."),
	"account":      Text("Dienstkonto angelegt. Legen Sie jetzt einen Schlüssel an.", "Service account created. Create a key now."),
}
