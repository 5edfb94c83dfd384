package legacy

import "strings"

// textLimit bounds the text that the tests read from a file, in bytes.
const textLimit = 1 << 20

// HostileFile is a file that is malformed, or that would take much time or
// memory.
type HostileFile struct {
	Name    string
	Content []byte
	Text    string // the expected text, usually none
	Err     error
}

// HostileFiles are files that a child process must survive, by content type.
// The external test of this package passes them to a child.
var HostileFiles = map[string]func() []HostileFile{
	"application/msword":            hostileWord,
	"application/vnd.ms-excel":      hostileExcel,
	"application/vnd.ms-powerpoint": hostilePowerPoint,
	"application/vnd.ms-outlook": func() []HostileFile {
		return append(hostileOutlook(), hostileCompounds()...)
	},
}

// LargeFile returns a message of 96 MiB. Its tables need more sectors than the
// header can name.
func LargeFile() []byte {
	return filed(outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")},
		entry{"37010102", strings.Repeat("x", 96<<20)}, entry{"1000001F", wide16(strings.Repeat("Wort ", 2000))})...)
}
