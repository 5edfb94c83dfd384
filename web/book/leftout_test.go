package book

import (
	"strconv"
	"testing"

	"kartei/web/records"
	"kartei/web/shell"
)

// TestLabelsLeftOut keeps of the records without an address only what is shown.
func TestLabelsLeftOut(t *testing.T) {
	s := labelSheets{family: &records.Contacts}
	for i := range 9999 {
		s.leaveOut(shell.Values{"id": "con_" + strconv.Itoa(i), "lastName": "Ohne", "firstName": "Ida", "note": "lang"})
	}
	if s.missing != 9999 || len(s.without) != withoutShown || s.without[1] != (unaddressedRecord{"con_1", "Ohne, Ida"}) {
		t.Errorf("%d: %v", s.missing, s.without)
	}
}
