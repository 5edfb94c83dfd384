package people

import (
	"testing"

	"kartei/people/audit"
)

// TestChangesForPeople checks that a change without an old value shows only the new one.
func TestChangesForPeople(t *testing.T) {
	got := changes([]audit.Change{
		{Member: "email"}, {Member: "role", To: "member"}, {Member: "versionPin", From: "", To: "2026-11-01"},
		{Member: "role", From: "member", To: "viewer"}, {Member: "ownerId", From: "usr_1", To: ""},
		{Member: "owned", From: 0, To: 3},
	})
	if want := "email; role: member; versionPin: 2026-11-01; role: member -> viewer; ownerId: usr_1 -> -; owned: 0 -> 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
