package erasure

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/invitation"
	"kartei/people/signin"
	"kartei/record/upload"
	"kartei/store/retention"
	"kartei/transfer/bulk"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
)

var write = flag.Bool("write", false, "write the table of docs/operating/periods.md (make docs)")

// otherPeriods are the periods that no rule has: their rows are deleted by what made them.
var otherPeriods = []retention.Rule{
	{What: "the file of an import, and the values that it replaced", From: "the upload", Age: imports.Age},
	{What: "the values before a change of a whole list", From: "the change", Age: bulk.Age},
	{What: "a record as it was before a merge", From: "the merge", Age: merge.Age},
	{What: "a file that was sent and became no document", From: "the beginning of the upload", Age: upload.Lifetime.Sub(0)},
	{What: "the link of an invitation", From: "the invitation", Age: invitation.Lifetime},
	{What: "a session on a browser that is not trusted, at most", From: "the sign-in", Age: access.SessionLifetime},
	{What: "a session on a trusted browser, at most", From: "the sign-in", Age: access.TrustedLifetime},
	{What: "browsers and networks from which a person has signed in", From: "the last sign-in", Age: signin.DeviceLifetime},
	{What: "a closed organization with everything in it (setting `--organization-retention`)", From: "the closing", Age: 30 * day},
}

// TestPeriodsPage checks that docs/operating/periods.md names all periods. With -write it writes the
// table.
func TestPeriodsPage(t *testing.T) {
	const file, mark = "../../docs/operating/periods.md", "<!-- The table is written from instance/erasure: make docs -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), mark)
	written, after, found := strings.Cut(rest, mark)
	if !found {
		t.Fatalf("%s has not two lines %q", file, mark)
	}
	want := "\n| What | Kept | From |\n|---|---|---|\n"
	for _, r := range append(append([]retention.Rule{}, Rules...), otherPeriods...) {
		if r.What == "" || r.From == "" {
			t.Errorf("the rule of %s does not say what is kept: call Says", r.Name)
		}
		want += fmt.Sprintf("| %s | %s | %s |\n", r.What, length(r.Age), r.From)
	}
	want += "\n"
	switch {
	case written == want:
	case *write:
		if err := os.WriteFile(file, []byte(before+mark+want+mark+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of %s is not what the rules say; write it with: make docs", file)
	}
}

// length returns a duration in words.
func length(d time.Duration) string {
	switch {
	case d == 0:
		return "no longer"
	case d > day && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return fmt.Sprintf("%d minutes", d/time.Minute)
}
