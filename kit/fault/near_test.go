package fault_test

import (
	"testing"

	"kartei/kit/fault"
)

// TestNearest checks which names Nearest finds for misspelled names.
func TestNearest(t *testing.T) {
	names := []string{"firstName", "lastName", "email", "jobTitle", "tags", "phone"}
	for unknown, want := range map[string]string{
		"last_name": "lastName", "LASTNAME": "lastName", "last-name": "lastName", "lastNam": "lastName",
		"lastNmae": "lastName", "emial": "", "e_mail": "email", "Email": "email",
		"mail": "email", "tag": "", "x": "", "surname": "", "": "", "phones": "phone", "jobtitel": "jobTitle",
	} {
		if got := fault.Nearest(unknown, names); got != want {
			t.Errorf("%q: %q, want %q", unknown, got, want)
		}
	}
}
