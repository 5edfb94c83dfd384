package command

import (
	"bytes"
	"strings"
	"testing"

	"kartei/api/op"
	"kartei/people/notify"
)

// TestTableIsPlain checks that PrintTable replaces the control characters of a name that would
// clear a terminal.
func TestTableIsPlain(t *testing.T) {
	var out bytes.Buffer
	if err := PrintTable(&Globals{Out: &out}, []string{"NAME"}, [][]string{{"Tr\u009b2J\x1b[31m\n"}, {""}}); err != nil {
		t.Fatal(err)
	}
	if want := "NAME\nTr\ufffd2J\ufffd[31m\ufffd\n-\n"; strings.ReplaceAll(out.String(), " ", "") != want {
		t.Errorf("%q", out.String())
	}
}

// TestHintOfNextPage checks that PrintList prints the last ID, in whichever column it is.
func TestHintOfNextPage(t *testing.T) {
	var out, errs bytes.Buffer
	g := &Globals{Out: &out, Err: &errs}
	page := op.Entries[notify.Entry]{Data: []notify.Entry{{ID: "ntc_1"}, {ID: "ntc_2"}}, HasMore: true}
	err := PrintList(g, JSON{}, page, []string{"TIME", "ID"}, func(e notify.Entry) []string { return []string{"-", e.ID} })
	if err != nil || !strings.HasSuffix(errs.String(), "--after ntc_2\n") {
		t.Errorf("%s %v", errs.String(), err)
	}
}
