package grant

import (
	"net/url"
	"slices"
	"strings"
)

// takenSchemes and takenPrefixes are schemes that are no private scheme of a program. Browsers and
// operating systems handle them, and may run, read or send something. They are known from web
// browsers, from the permanent schemes of the IANA, and from Windows, macOS, Android or iOS.
var (
	takenSchemes = strings.Fields(`
		http https ws wss ftp ftps sftp tftp file filesystem data blob about javascript ecmascript livescript mocha jscript vbscript vbs
		view-source jar resource res mk mhtml mid cid urn uri tag doi oid localhost
		mailto tel fax sms smsto mms sip sips callto xmpp im pres facetime facetime-audio imessage skype whatsapp
		ssh telnet tn3270 rlogin vnc rdp smb cifs nfs afp dav davs webdav ldap ldaps imap pop nntp news snews gopher wais dict irc ircs
		rtsp rtmp rtp mms coap coaps git svn rsync magnet ed2k bitcoin ethereum geo maps market intent content android-app package
		shell search search-ms cmd powershell wscript cscript hcp its vnd.ms.radio ldapi jdbc
		applescript terminal x-man-page help macappstore itunes webcal calshow feed prefs shortcuts
		web ext pwa isolated-app chromium browser devtools opera vivaldi brave firefox safari`)
	takenPrefixes = []string{
		"ms-", "x-apple", "itms", "chrome", "edge", "microsoft-edge", "moz-", "safari-", "com.apple.", "web+",
		"ext+", "x-help", "view-source",
	}
)

// privateScheme reports whether scheme may be the private scheme of a program on a person's
// computer.
func privateScheme(scheme string) bool {
	return len(scheme) > 1 && !slices.Contains(takenSchemes, scheme) &&
		!slices.ContainsFunc(takenPrefixes, func(p string) bool { return strings.HasPrefix(scheme, p) })
}

// Scheme returns the private scheme of a redirect URI, or "" for a web address. Nothing else
// reliably identifies the program.
func Scheme(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Scheme == "http" {
		return ""
	}
	return u.Scheme
}
