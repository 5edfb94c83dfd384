package legacy

import "strings"

// textLimit is how much text the tests read of a file.
const textLimit = 1 << 20

// HostileFile is a file that wants more than it should, or is not what it says.
type HostileFile struct {
	Name    string
	Content []byte
	Text    string // what is read of it, if not nothing
	Err     error
}

// HostileFiles are the files that a child process has to survive, by the name of
// their reader. The external test of this package hands them to one.
var HostileFiles = map[string]func() []HostileFile{
	"application/msword":            hostileWord,
	"application/vnd.ms-excel":      hostileExcel,
	"application/vnd.ms-powerpoint": hostilePowerPoint,
	"application/vnd.ms-outlook": func() []HostileFile {
		return append(hostileOutlook(), hostileCompounds()...)
	},
}

// LargeFile returns a message of 96 MiB, whose tables go beyond the header.
func LargeFile() []byte {
	return filed(outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")}, entry{"37010102", strings.Repeat("x", 96<<20)},
		entry{"1000001F", wide16(strings.Repeat("Wort ", 2000))})...)
}
