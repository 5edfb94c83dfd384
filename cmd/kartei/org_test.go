package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestTableIsPlain writes a name that would clear a terminal.
func TestTableIsPlain(t *testing.T) {
	var out bytes.Buffer
	if err := table(&Globals{Out: &out}, []string{"NAME"}, [][]string{{"Tr\u009b2J\x1b[31m\n"}, {""}}); err != nil {
		t.Fatal(err)
	}
	if want := "NAME\nTr\ufffd2J\ufffd[31m\ufffd\n-\n"; strings.ReplaceAll(out.String(), " ", "") != want {
		t.Errorf("%q", out.String())
	}
}
