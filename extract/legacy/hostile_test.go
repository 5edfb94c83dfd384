package legacy

import "strings"

// textLimit is the maximum length of the text that a test reads from a file, in bytes.
const textLimit = 1 << 20

// HostileFile is a file that is malformed, or whose reading would take much time or memory.
type HostileFile struct {
	Name    string
	Content []byte
	Text    string // the expected text; empty means that the text is not checked
	Err     error
}

// HostileFiles maps content types to files that a child process must survive. The external test of
// this package passes these files to a child.
var HostileFiles = map[string]func() []HostileFile{
	"application/msword":            hostileWord,
	"application/vnd.ms-excel":      hostileExcel,
	"application/vnd.ms-powerpoint": hostilePowerPoint,
	"application/vnd.ms-outlook": func() []HostileFile {
		return append(hostileOutlook(), hostileCompounds()...)
	},
}

// LargeFile returns a message of 96 MiB. Its allocation table needs more sectors than the header
// has numbers for.
func LargeFile() []byte {
	return filed(outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")},
		entry{"37010102", strings.Repeat("x", 96<<20)}, entry{"1000001F", wide16(strings.Repeat("Wort ", 2000))})...)
}
