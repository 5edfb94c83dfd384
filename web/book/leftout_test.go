package book

import (
	"strconv"
	"testing"

	"kartei/web/records"
	"kartei/web/shell"
)

// TestLabelsLeftOut checks that leaveOut counts all records without an address. It stores only the
// first withoutShown of them, each with its id and name.
func TestLabelsLeftOut(t *testing.T) {
	s := labelSheets{family: &records.Contacts}
	for i := range 9999 {
		s.leaveOut(shell.Values{"id": "con_" + strconv.Itoa(i), "lastName": "Ohne", "firstName": "Ida", "note": "lang"})
	}
	if s.missing != 9999 || len(s.without) != withoutShown || s.without[1] != (unaddressedRecord{"con_1", "Ohne, Ida"}) {
		t.Errorf("%d: %v", s.missing, s.without)
	}
}
