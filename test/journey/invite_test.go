package journey

import (
	"fmt"
	"testing"

	"kartei/instance/config"
	"kartei/test/dbtest"
)

// TestInvite checks that an admin can invite a colleague from the list of people with a link, the
// address, the role, and a button.
func TestInvite(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		// No mail server responds at this address. The email waits, and the invitation exists
		// anyway.
		o := Open(t, url, Contacts(0), Server(func(s *config.Server) {
			if err := s.SMTPURL.UnmarshalText([]byte("smtp://127.0.0.1:9")); err != nil {
				t.Fatal(err)
			}
		}))
		for i, h := range hands(url) {
			address := fmt.Sprintf("neu%d@kanzlei.example", i)
			tab := o.SignedIn(o.Helene(), h.View)
			tab.Open(o.BaseURL + "/settings/people")
			press(t, tab, h.keyboard, `main a[href="/settings/people/invite"]`)
			tab.At("/settings/people/invite")
			fill(t, tab, h.keyboard, `main [name="email"]`, address)
			mark(t, tab, h.keyboard, "role", "viewer")
			press(t, tab, h.keyboard, `main form[action="/settings/people/invite"] button.primary`)
			tab.Says(address)
			cost(t, tab, "inviting somebody", map[bool]int{false: 4, true: 3}[h.keyboard])
			var role string
			dbtest.Get(t, o.DB, []any{&role}, `select role from invitations where email = $1`, address)
			if role != "viewer" {
				t.Errorf("%s: the role is %q", h.View, role)
			}
		}
	})
}
