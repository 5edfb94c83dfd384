package office

import (
	"net/http"
	"net/url"

	"kartei/door/web/look"
	"kartei/kit/fault"
)

// settingsTabs are the pages about the person.
func settingsTabs(v *request, here string) []look.Tab {
	var tabs []look.Tab
	for _, t := range []struct{ path, name string }{
		{"/settings/profile", v.words.Say("Profil", "Profile")},
		{"/settings/security", v.words.Say("Sicherheit", "Security")},
		{keysPath, v.words.Say("Schlüssel", "Keys")},
		{requestsPath, v.words.Say("Aufrufe", "Calls")},
	} {
		if hasPage(t.path) {
			tabs = append(tabs, look.Tab{Name: t.name, Href: look.Own(t.path), Here: t.path == here})
		}
	}
	return tabs
}

// settings answers with a page about the person. A change leads to it by a redirect,
// whose address says what was done: see saved.
func (v *request) settings(here, title string, content component) view {
	note, _ := v.Context().Value(noteKey{}).(*toast)
	if text, known := doneTexts[v.URL.Query().Get(doneField)]; known && v.Method == http.MethodGet {
		note = &toast{Text: text.In(v.words.Language)}
	}
	return view{status: http.StatusOK, body: appPage(v.frame(title, "settings"), settingsView(v, here, title, content), note)}
}

// settingsAs is settings for a form that was refused.
func (v *request) settingsAs(status int, here, title string, content component) view {
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
	"profile":     text("Profil gespeichert.", "Profile saved."),
	"password":    text("Kennwort geändert. Alle anderen Sitzungen sind beendet.", "Password changed. All other sessions have ended."),
	"totp":        text("App für Einmalcodes eingerichtet. Alle anderen Sitzungen sind beendet.", "Authenticator app set up. All other sessions have ended."),
	"totpGone":    text("App für Einmalcodes entfernt. Alle anderen Sitzungen sind beendet.", "Authenticator app removed. All other sessions have ended."),
	"passkey":     text("Passkey hinzugefügt. Alle anderen Sitzungen sind beendet.", "Passkey added. All other sessions have ended."),
	"passkeyGone": text("Passkey entfernt. Alle anderen Sitzungen sind beendet.", "Passkey removed. All other sessions have ended."),
	"session":     text("Sitzung beendet.", "Session ended."),
	"sessions":    text("Alle anderen Sitzungen sind beendet.", "All other sessions have ended."),
	"key":         text("Schlüssel gespeichert.", "Key saved."),
	"keyPaused":   text("Schlüssel pausiert. Aufrufe damit werden abgelehnt.", "Key paused. Calls with it are refused."),
	"keyResumed":  text("Der Schlüssel gilt wieder.", "The key works again."),
	"keyRevoked":  text("Schlüssel widerrufen.", "Key revoked."),
	"address":     text("An beide Adressen ist ein Link unterwegs. Die neue gilt, wenn Sie beide geöffnet haben.", "A link is on its way to both addresses. The new one takes effect once you have opened both."),
}
