package office

import (
	"net/http"
	"net/url"
	"slices"

	"kartei/kit/fault"

	"github.com/a-h/templ"
)

// settingsGroup is a group of settings pages with its heading.
type settingsGroup struct {
	name  fault.Text
	pages []settingsPage
}

// settingsPage is a line of the menu of the settings.
type settingsPage struct {
	path, icon string
	name, hint fault.Text
	// others is the hint for people who are no admins, if they see less.
	others fault.Text
}

// hintFor is what the page is about.
func (p *settingsPage) hintFor(v *request) string {
	if p.others != (fault.Text{}) && !v.session.Administers {
		return p.others.In(v.words.Language)
	}
	return p.hint.In(v.words.Language)
}

// menu returns the groups of the menu with the pages that the person may open.
func (v *request) menu() (groups []settingsGroup) {
	for _, g := range v.office.rooms.Menu {
		g.pages = slices.DeleteFunc(slices.Clone(g.pages), func(p settingsPage) bool {
			page := v.office.pageAt(p.path)
			return page == nil || !v.session.mayOpen(page)
		})
		if len(g.pages) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// showSettings serves the list of the settings pages.
func showSettings(v *request) view {
	title := v.words.Say("Einstellungen", "Settings")
	return v.ok(title, settingsPlace, settingsListView(v, title))
}

// settingsPlace is the place of the settings in the navigation.
const settingsPlace = "settings"

// settings answers with a page of the settings, beside their menu, in which here is the
// present line. A change leads to it by a redirect, whose address says what was done: see
// saved.
func (v *request) settings(here, title string, content templ.Component) view {
	note, _ := v.Context().Value(noteKey{}).(*toast)
	if text, known := doneTexts[v.URL.Query().Get(doneField)]; known && v.Method == http.MethodGet {
		note = &toast{Text: text.In(v.words.Language)}
	}
	return view{status: http.StatusOK, body: appPage(v.frame(title, settingsPlace), settingsView(v, here, title, content), note)}
}

// settingsAs is settings for a form that was refused.
func (v *request) settingsAs(status int, here, title string, content templ.Component) view {
	out := v.settings(here, title, content)
	out.status = status
	return out
}

// doneField is the parameter with the word of what was done.
const doneField = "done"

// saved leads to a page that says what was done.
func (v *request) saved(path, done string) view {
	return view{to: path + "?" + url.Values{doneField: {done}}.Encode()}
}

// doneTexts are what pages say after a change, by its word. The address holds nothing
// else about it.
var doneTexts = map[string]fault.Text{
	"grantEnded":   text("Die Anwendung ist getrennt. Ihr nächster Aufruf wird abgewiesen.", "The application is disconnected. Its next call is refused."),
	"grantRenewed": text("Die Verbindung ist um 90 Tage verlängert.", "The connection is renewed for 90 days."),
	"approved":     text("Die Anwendung ist freigegeben. Wer auf sie wartet, erfährt es.", "The application is approved. Those who wait for it are told."),
	"disapproved":  text("Die Freigabe ist zurückgenommen, und die Verbindungen der Anwendung sind beendet.", "The approval is taken back, and the connections of the application have ended."),
	"declined":     text("Die Anfrage ist abgelehnt.", "The request is declined."),
	"clientOff":    text("Die Anwendung ist gesperrt. Ihr nächster Aufruf wird abgewiesen.", "The application is disabled. Its next call is refused."),
	"clientOn":     text("Die Anwendung ist wieder freigegeben.", "The application is enabled again."),
	"profile":      text("Profil gespeichert.", "Profile saved."),
	"password":     text("Kennwort geändert. Alle anderen Sitzungen sind beendet.", "Password changed. All other sessions have ended."),
	"totp":         text("App für Einmalcodes eingerichtet. Alle anderen Sitzungen sind beendet.", "Authenticator app set up. All other sessions have ended."),
	"totpGone":     text("App für Einmalcodes entfernt. Alle anderen Sitzungen sind beendet.", "Authenticator app removed. All other sessions have ended."),
	"passkey":      text("Passkey hinzugefügt. Alle anderen Sitzungen sind beendet.", "Passkey added. All other sessions have ended."),
	"passkeyGone":  text("Passkey entfernt. Alle anderen Sitzungen sind beendet.", "Passkey removed. All other sessions have ended."),
	"sso":          text("Mit Single Sign-on verbunden. Alle anderen Sitzungen sind beendet.", "Linked with single sign-on. All other sessions have ended."),
	"ssoGone":      text("Verbindung mit Single Sign-on getrennt. Alle anderen Sitzungen sind beendet.", "Unlinked from single sign-on. All other sessions have ended."),
	"session":      text("Sitzung beendet.", "Session ended."),
	"sessions":     text("Alle anderen Sitzungen sind beendet.", "All other sessions have ended."),
	"ended":        text("Zugang beendet.", "Access ended."),
	"endedAll":     text("Alles beendet. Nur diese Sitzung ist noch offen.", "Everything has ended. Only this session is open."),
	"endedBut":     text("Beendet. Passkeys und Single Sign-on sind geblieben: Entfernen Sie sie unten einzeln.", "Ended. Passkeys and single sign-on stayed: remove them below, one by one."),
	"key":          text("Schlüssel gespeichert.", "Key saved."),
	"keyPaused":    text("Schlüssel pausiert. Aufrufe damit werden abgelehnt.", "Key paused. Calls with it are refused."),
	"keyResumed":   text("Der Schlüssel gilt wieder.", "The key works again."),
	"keyRevoked":   text("Schlüssel widerrufen.", "Key revoked."),
	"organization": text("Organisation gespeichert.", "Organization saved."),
	"resent":       text("Das Ereignis wird noch einmal gesendet.", "The event is being sent once more."),
	"import":       text("Import verworfen.", "Import discarded."),
	"address":      text("An beide Adressen ist ein Link unterwegs. Die neue gilt, wenn Sie beide geöffnet haben.", "A link is on its way to both addresses. The new one takes effect once you have opened both."),
	"webhook":      text("Endpunkt gespeichert.", "Endpoint saved."),
	"webhookOn":    text("Der Endpunkt bekommt wieder Ereignisse.", "The endpoint gets events again."),
	"webhookGone":  text("Endpunkt gelöscht.", "Endpoint deleted."),
	"invited":      text("Die Einladung ist unterwegs.", "The invitation is on its way."),
	"uninvited":    text("Einladung zurückgezogen.", "Invitation revoked."),
	"principal":    text("Gespeichert.", "Saved."),
	"enabled":      text("Entsperrt. Anmelden und Schlüssel gelten wieder.", "Enabled. Sign-in and keys work again."),
	"disabled":     text("Gesperrt. Sitzungen sind beendet, Schlüssel werden abgelehnt.", "Disabled. Sessions have ended, keys are refused."),
	"handsOver":    text("Gesperrt. Die Übergabe läuft.", "Disabled. The hand-over is in progress."),
	"factors":      text("Der Link ist unterwegs.", "The link is on its way."),
	"erased":       text("Die Person ist gelöscht.", "The person is erased."),
	"account":      text("Dienstkonto angelegt. Legen Sie jetzt einen Schlüssel an.", "Service account created. Create a key now."),
}
