package keys_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/release"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/waittest"
	"kartei/web/shell"
)

// lineOf returns the entry of a list that contains text. It fails the test if there is none.
func lineOf(p *pagetest.Page, text string) string {
	p.T.Helper()
	for _, line := range strings.Split(p.Main(), "<li>") {
		if strings.Contains(line, text) {
			return line
		}
	}
	p.T.Fatalf("%s has no line with %q\n%s", p.Path, text, p.Main())
	return ""
}

// announced sets the end of the newest API version until the test ends. It returns the name of the
// version.
func announced(t *testing.T, end time.Time) string {
	v := &release.Versions[len(release.Versions)-1]
	before := v.Sunset
	t.Cleanup(func() { v.Sunset = before })
	v.Sunset = end
	return v.Name
}

// lock makes calls with a key until the key is locked.
func lock(t *testing.T, o *apitest.Office, key string) {
	t.Helper()
	program := &apitest.Client{Office: o, Key: key}
	program.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	for range 51 {
		program.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(429)
	}
	program.Do("GET", "/me", nil).Want(429)
}

// TestListOfKeys checks the lines of keys in all states. A line shows the rest of the lifetime, a
// lock, or the end of the key's API version, if the key has them.
func TestListOfKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered(limit.Override{Name: "writes", Quota: 1, Capacity: 1}))
		owner := o.User(access.Member)
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		keys := map[string]key.WithSecret{}
		for name, days := range map[string]int{"Ruhig": 90, "Bald": 30, "Vorbei": 7, "Widerrufen": 90, "Gebremst": 90, "Zukunft": 90, "Alt": 90, "Alt vorbei": 7} {
			made, err := o.Operator.CreateKey(t.Context(), key.New{
				Organization: o.ID, Principal: owner, Environment: access.Test, Name: name, Scopes: []string{"contacts:write"}, Networks: []string{"192.0.2.1"}, ExpiresIn: time.Duration(days) * 24 * time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			keys[name] = made
		}
		o.Clock.Advance(24*24*time.Hour + time.Hour)
		b.Cookie = o.Session(owner)
		ending := announced(t, time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC))
		for name, version := range map[string]string{"Zukunft": ending, "Alt": "1999-01-01", "Alt vorbei": "1999-01-01"} {
			dbtest.Run(t, d, `update api_keys set version_pin = $1 where id = $2`, version, keys[name].ID)
		}
		revoked := shell.KeysPath + "/" + keys["Widerrufen"].ID
		b.Get(revoked + "/revoke").Send(revoked + "/revoke").Want(303)
		lock(t, o, keys["Gebremst"].Key)
		for w := waittest.New(); !strings.Contains(b.Get(shell.KeysPath).Want(200).Body, "gesperrt bis"); { // locks are stored late
			if w.IsStuck() {
				t.Fatal("no key is locked")
			}
		}
		list := b.Get(shell.KeysPath)
		const bar, lasting, ends, ended = "<meter", `max="90" low="7" optimum="90" value="66"`, "Version endet am 30.06.2027", "Version beendet"
		signs := []string{bar, lasting, `max="30" low="7" optimum="30" value="6"`, "noch 66 Tage", "noch 6 Tage", "aktiv", "abgelaufen", "widerrufen", "gesperrt bis ", ends, ended}
		for name, has := range map[string][]string{
			"Ruhig": {bar, lasting, "noch 66 Tage", "aktiv"}, "Bald": {bar, `max="30" low="7" optimum="30" value="6"`, "noch 6 Tage", "aktiv"},
			"Vorbei": {"abgelaufen"}, "Alt vorbei": {"abgelaufen"}, "Widerrufen": {"widerrufen"}, "Gebremst": {bar, lasting, "noch 66 Tage", "gesperrt bis "},
			"Zukunft": {bar, lasting, "noch 66 Tage", "aktiv", ends}, "Alt": {bar, lasting, "noch 66 Tage", "aktiv", ended},
		} {
			line := lineOf(list, "<bdi>"+name+"</bdi>")
			for _, sign := range signs {
				if strings.Contains(line, sign) != slices.Contains(has, sign) {
					t.Errorf("%s has %q: %t\n%s", name, sign, strings.Contains(line, sign), line)
				}
			}
		}
	})
}
