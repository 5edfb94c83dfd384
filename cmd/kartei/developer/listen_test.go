package developer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"
)

// TestListenLine checks that a line names the members that an update changed, without control
// characters.
func TestListenLine(t *testing.T) {
	for event, want := range map[string]string{
		`{"id":"evt_a","type":"contact.updated","data":{"id":"con_a","revision":3,"changed":["email","a\u001b"]}}`: "contact.updated      con_a  evt_a  200  7 ms  changed email, a\ufffd\n",
		`{"id":"evt_b","type":"contact.created","data":{"id":"con_b","revision":1,"changed":[]}}`:                  "contact.created      con_b  evt_b  200  7 ms\n",
	} {
		var e remote.Event
		if err := json.Unmarshal([]byte(event), &e); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		l := &listener{Globals: &command.Globals{Out: &out}}
		if err := l.tell(e, 200, 7*time.Millisecond, nil); err != nil || !strings.HasSuffix(out.String(), "  "+want) {
			t.Errorf("%q, want %q: %v", out.String(), want, err)
		}
	}
}
