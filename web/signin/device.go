package signin

import (
	"strings"

	"kartei/kit/i18n"
)

// marks maps parts of a user agent to the names of browsers or systems. The first part that occurs
// counts, because most user agents also name other browsers.
type marks []struct{ mark, name string }

func (m marks) in(agent string) string {
	for _, one := range m {
		if strings.Contains(agent, one.mark) {
			return one.name
		}
	}
	return ""
}

var browsers = marks{
	{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser", "Samsung Internet"}, {"Vivaldi", "Vivaldi"}, {"FxiOS", "Firefox"}, {"Firefox/", "Firefox"},
	{"CriOS", "Chrome"}, {"HeadlessChrome", "Chromium"}, {"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
}

var systems = marks{
	{"Windows", "Windows"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
}

// DeviceText returns the browser and the system of a user agent as a text.
func DeviceText(w i18n.Words, agent string) string {
	browser, system := browsers.in(agent), systems.in(agent)
	switch {
	case browser == "" && system == "":
		return w.Say("Unknown device")
	case browser == "" || system == "":
		return browser + system
	case system == "iPhone" || system == "iPad":
		return w.Say("%s on the %s", browser, system)
	}
	return w.Say("%s on %s", browser, system)
}

// DeviceIcon returns the name of the icon for the device of a user agent.
func DeviceIcon(agent string) string {
	if s := systems.in(agent); s == "iPhone" || s == "iPad" || s == "Android" {
		return "smartphone"
	}
	return "monitor"
}
