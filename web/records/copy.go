package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"kartei/web/shell"
)

// curls has API calls about a record as curl commands, for people who write programs. The command
// reads the API key from $KEY.
type curls struct {
	get string
	// patch is a PATCH with an empty body, which changes nothing. values is a PATCH with the
	// current value of each member. Both have an If-Match with the revision on the page.
	patch, values string
}

// programs reports whether the person may need API calls: admins, who create keys for others, and
// people with a key.
func programs(s *shell.Session) bool { return s.Administers || s.HasKey }

// curlsOf returns the API calls about a record.
func curlsOf(v *shell.Request, f *Family, record shell.Values) curls {
	at := fmt.Sprintf("%s/v1/%s/%s", v.Site.BaseURL, f.Name, record["id"])
	change := func(body string) string {
		return shell.Curl(f.Name+".update") + ` -H 'Content-Type: application/json' -X PATCH -H 'If-Match: "r` + record["revision"] + `"' -d ` + shell.Quoted(body) + " " + at
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
	return curls{shell.Curl(f.Name+".get") + " " + at, change("{}"), change(strings.TrimSpace(body.String()))}
}
