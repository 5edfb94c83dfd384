package office_test

import (
	"archive/zip"
	"io"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// unzipped returns the files of an archive.
func unzipped(t *testing.T, body string) map[string]string {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatalf("%d bytes are no archive: %s", len(body), err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(b)
	}
	return files
}

// TestTakeOut downloads what is kept about a contact, about oneself and about somebody
// else, and everything of the office.
func TestTakeOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		member, boss := open(t, o, access.Member), open(t, o, access.Admin)
		anna := member.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "firstName", "Anna", "note", "ruft an").want(303).Location
		anna, _, _ = strings.Cut(anna, "?")
		member.get(anna).want(200, anna+`/access`)
		ask := member.get(anna+"/access").want(200, "Auskunft über „Anna Berg“", "Prüfen Sie vor der Herausgabe")
		sent := ask.send(anna + "/access").want(200)
		if got := sent.Header.Get("Content-Disposition"); !strings.Contains(got, "attachment") || !strings.Contains(got, "Anna%20Berg") && !strings.Contains(got, "Anna Berg") {
			t.Errorf("%s", got)
		}
		files := unzipped(t, sent.Body)
		if !strings.Contains(files["auskunft.html"], "ruft an") || !strings.Contains(files["contact.json"], `"lastName": "Berg"`) || files["README.txt"] == "" {
			t.Errorf("%q", files)
		}
		boss.get(anna + "x/access").want(404)

		own := member.get(dataPath).want(200, "Was über Sie selbst gespeichert ist")
		if strings.Contains(own.Body, "Alles exportieren") {
			t.Error("a member may export the office")
		}
		mine := unzipped(t, own.send(dataPath+"/person").want(200).Body)
		if mine["person.json"] == "" || mine["account.json"] == "" || mine["sessions.jsonl"] == "" {
			t.Errorf("%q", mine)
		}
		admins := boss.get(dataPath).want(200, "Alles exportieren", "Person oder Dienstkonto")
		theirs := unzipped(t, admins.send(dataPath+"/person", "id", o.User(access.Member)).want(200).Body)
		if theirs["person.json"] == "" || theirs["account.json"] != "" {
			t.Errorf("%q", theirs)
		}
		all := unzipped(t, boss.get(dataPath).send(dataPath+"/organization").want(200).Body)
		if !strings.Contains(all["contacts.jsonl"], "Berg") || all["people.jsonl"] == "" {
			t.Errorf("%q", all)
		}
		own.send(dataPath+"/person", "id", o.User(access.Admin)).want(404)
	})
}
