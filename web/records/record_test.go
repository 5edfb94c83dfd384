package records

import (
	"testing"

	"kartei/kit/i18n"
	"kartei/record"
	"kartei/web/shell"
)

// TestDoors checks the text that says by which interface a change was made.
func TestDoors(t *testing.T) {
	for c, want := range map[[2]string][2]string{
		{"web", "updated"}: {"", ""}, {"rest", "updated"}: {"über die API", "through the API"}, {"mcp", "updated"}: {"über einen Assistenten", "through an assistant"},
		{"job", "updated"}: {"von Kartei, bei der Übergabe von Einträgen", "by Kartei, as entries were handed over"},
		{"job", "created"}: {"von Kartei, als Beispiel", "by Kartei, as an example"}, {"job", "completed"}: {"von Kartei, als Beispiel", "by Kartei, as an example"},
		{"admin", "updated"}: {"vom Betreiber", "by the operator"},
	} {
		de, en := i18n.Words{Language: i18n.German}, i18n.Words{Language: i18n.English}
		if got := [2]string{door(de, record.Change{Door: c[0], Act: c[1]}), door(en, record.Change{Door: c[0], Act: c[1]})}; got != want {
			t.Errorf("%v: %q, want %q", c, got, want)
		}
	}
}

// TestCredentialsOfChanges checks the text with the key or the application of a change. The text
// says who created the key if this is another person.
func TestCredentialsOfChanges(t *testing.T) {
	key := func(madeBy string) *record.ChangeKey {
		return &record.ChangeKey{Environment: "live", KidShort: "ab12cd34", MadeBy: madeBy}
	}
	named := key("usr_2")
	named.Name = "CRM"
	for want, c := range map[[2]string]record.Change{
		{"", ""}: {Principal: "usr_1"},
		{"mit dem Schlüssel kart_live_ab12cd34…", "with the key kart_live_ab12cd34…"}:                                                                              {Principal: "usr_1", Credential: "key_1", Key: key("usr_1")},
		{"mit dem Schlüssel CRM, erstellt von Jana Sommer", "with the key CRM, created by Jana Sommer"}:                                                            {Principal: "usr_1", Credential: "key_1", Key: named},
		{"mit dem Schlüssel kart_live_ab12cd34…, erstellt vom Betreiber der Instanz", "with the key kart_live_ab12cd34…, created by the operator of the instance"}: {Principal: "usr_1", Credential: "key_1", Key: key("")},
		{"mit dem Schlüssel kart_live_ab12cd34…, erstellt von Ihnen", "with the key kart_live_ab12cd34…, created by you"}:                                          {Principal: "usr_1", Credential: "key_1", Key: key("usr_3")},
		{"durch die Anwendung Kalender", "by the application Kalender"}:                                                                                            {Principal: "usr_1", Credential: "gra_1"},
	} {
		var got [2]string
		for i, in := range []i18n.Language{i18n.German, i18n.English} {
			v := &shell.Request{Words: i18n.Words{Language: in}}
			v.Session.Principal.ID = "usr_3"
			got[i] = credentialOf(v, c, map[string]string{"usr_2": "Jana Sommer", "gra_1": "Kalender"})
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
