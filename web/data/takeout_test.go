package data_test

import (
	"archive/zip"
	"io"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// unzipped returns the files of a ZIP archive by name.
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

// TestTakeOut checks the exports of a contact, of the caller, of another person and of the whole
// organization.
func TestTakeOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		member, boss := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Admin)
		anna := member.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "firstName", "Anna", "note", "ruft an").Want(303).Location
		anna, _, _ = strings.Cut(anna, "?")
		member.Get(anna).Want(200, anna+`/access`)
		ask := member.Get(anna+"/access").Want(200, "Auskunft über „Anna Berg“", "Prüfen Sie vor der Herausgabe")
		sent := ask.Send(anna + "/access").Want(200)
		if got := sent.Header.Get("Content-Disposition"); !strings.Contains(got, "attachment") || !strings.Contains(got, "Anna%20Berg") && !strings.Contains(got, "Anna Berg") {
			t.Errorf("%s", got)
		}
		files := unzipped(t, sent.Body)
		if !strings.Contains(files["auskunft.html"], "ruft an") || !strings.Contains(files["contact.json"], `"lastName": "Berg"`) || files["README.txt"] == "" {
			t.Errorf("%q", files)
		}
		boss.Get(anna + "x/access").Want(404)

		own := member.Get(dataPath).Want(200, "Was über Sie selbst gespeichert ist")
		if strings.Contains(own.Body, "Alles exportieren") {
			t.Error("a member may export the office")
		}
		mine := unzipped(t, own.Send(dataPath+"/person").Want(200).Body)
		if mine["person.json"] == "" || mine["account.json"] == "" || mine["sessions.jsonl"] == "" {
			t.Errorf("%q", mine)
		}
		admins := boss.Get(dataPath).Want(200, "Alles exportieren", "Person oder Dienstkonto")
		theirs := unzipped(t, admins.Send(dataPath+"/person", "id", o.User(access.Member)).Want(200).Body)
		if theirs["person.json"] == "" || theirs["account.json"] != "" {
			t.Errorf("%q", theirs)
		}
		all := unzipped(t, boss.Get(dataPath).Send(dataPath+"/organization").Want(200).Body)
		if !strings.Contains(all["contacts.jsonl"], "Berg") || all["people.jsonl"] == "" {
			t.Errorf("%q", all)
		}
		own.Send(dataPath+"/person", "id", o.User(access.Admin)).Want(404)
	})
}
