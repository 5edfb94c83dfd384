package shell

import (
	"strings"

	"kartei/api"
	"kartei/api/release"
)

// Curl returns the begin of a curl command that calls an operation with a key. The command has
// the header Svc-Preview if the operation is a preview in the current version.
func Curl(operation string) string {
	command := `curl -H "Authorization: Bearer $KEY"`
	current := release.Names(release.Versions)[0]
	for i := range api.Operations {
		if o := &api.Operations[i]; o.ID == operation && o.Channel.Preview(current) {
			return command + ` -H 'Svc-Preview: true'`
		}
	}
	return command
}

// Quoted returns a text as one word of a shell.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
