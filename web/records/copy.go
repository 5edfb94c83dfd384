package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"kartei/api"
	"kartei/api/release"
	"kartei/web/shell"
)

// curls are calls of the API about a record, as commands for people who write
// programs. $KEY is the key of the person who pastes them.
type curls struct {
	get string
	// patch changes nothing as it is, and values sends every member as it is shown.
	// Both expect the revision that the page shows.
	patch, values string
}

// programs reports whether the person has use for calls of the API: admins, who give keys
// away, and who has one.
func programs(s *shell.Session) bool { return s.Administers || s.HasKey }

// curlsOf returns the calls about a record.
func curlsOf(v *shell.Request, f *Family, record shell.Values) curls {
	const begin = `curl -H "Authorization: Bearer $KEY"`
	at := fmt.Sprintf("%s/v1/%s/%s", v.Site.BaseURL, f.Name, record["id"])
	change := func(body string) string {
		return begin + PreviewOf(f.Name+".update") + ` -H 'Content-Type: application/json' -X PATCH -H 'If-Match: "r` + record["revision"] + `"' -d ` + Quoted(body) + " " + at
	}
	var names []string
	for _, m := range f.Fields {
		if record[m.Name] != "" && !m.Unasked && !m.restricted {
			names = append(names, m.Name)
		}
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(record.Patch(names)); err != nil {
		body.Reset()
	}
	return curls{begin + PreviewOf(f.Name+".get") + " " + at, change("{}"), change(strings.TrimSpace(body.String()))}
}

// PreviewOf returns the header that a call of an operation needs, if it is a preview
// in the current version.
func PreviewOf(operation string) string {
	current := release.Names(release.Versions)[0]
	for i := range api.Operations {
		if o := &api.Operations[i]; o.ID == operation && o.Channel.Preview(current) {
			return ` -H 'Svc-Preview: true'`
		}
	}
	return ""
}

// Quoted returns a text as one word of a shell.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
