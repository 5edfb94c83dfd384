package api

import (
	"reflect"
	"testing"
)

// An admission ends with the gate: the stages after it ask about the operation.
func TestAdmission(t *testing.T) {
	if got := reflect.ValueOf(path[admission-1]).Pointer(); got != reflect.ValueOf(gate).Pointer() {
		t.Error("the admission ends with another stage than gate")
	}
	for _, id := range []string{"tools.list", "tools.text"} {
		if byID[id].Cost == 0 {
			t.Errorf("%s costs nothing", id)
		}
	}
	if !byID["tools.text"].Run.discloses {
		t.Error("the text of a document is no record that was read")
	}
}
