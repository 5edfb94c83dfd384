package api

import (
	"reflect"
	"testing"
)

// TestAdmission checks that gate is the last stage of an admission, since later stages depend on
// the operation. It also checks two unpublished operations: both have a cost, and tools.text counts
// as reading a record.
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
