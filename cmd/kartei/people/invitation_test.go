package people

import (
	"strings"
	"testing"

	"kartei/people/invitation"
)

// TestMailing checks that the output of user invite does not call an email sent, because the mail
// server may be away, or because no email is sent.
func TestMailing(t *testing.T) {
	for _, c := range []struct {
		wanted, mailed bool
		want           string
	}{
		{false, false, ""},
		{true, true, "waits to be sent"},
		{true, false, "No email is sent"},
	} {
		got := mailing(c.wanted, invitation.NewInvitation{Mailed: c.mailed})
		if !strings.Contains(got, c.want) || c.want == "" && got != "" ||
			c.mailed && (strings.Contains(got, "is sent") || !strings.Contains(got, "kartei jobs")) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
