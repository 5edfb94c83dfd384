package grant

import (
	"net/url"
	"slices"
	"strings"
)

// Schemes that no program of its own takes: browsers and systems open them themselves, and
// run, read or send something. Web browsers have them, the IANA has them as permanent, or
// Windows, macOS, Android or iOS adds them.
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

// privateScheme reports whether a program on the computer of a person may have taken the
// scheme of an address.
func privateScheme(scheme string) bool {
	return len(scheme) > 1 && !slices.Contains(takenSchemes, scheme) &&
		!slices.ContainsFunc(takenPrefixes, func(p string) bool { return strings.HasPrefix(scheme, p) })
}

// Scheme returns the scheme of an address that leads to the program that took it, and "" for
// any other address. The program has no other name that is certain.
func Scheme(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Scheme == "http" {
		return ""
	}
	return u.Scheme
}
