package document_test

import (
	"bytes"
	"fmt"
	"mime"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/extract/filetype"
	"kartei/test/apitest"
)

// session returns the request body that begins an upload of a text file.
func session(name string, file []byte, members ...map[string]any) map[string]any {
	body := map[string]any{"fileName": name, "contentType": "text/plain", "size": len(file)}
	for _, more := range members {
		for k, v := range more {
			body[k] = v
		}
	}
	return body
}

// TestNames checks that a document keeps exactly the given name. The Content-Disposition header
// has the name with a safe extension. Dangerous names are refused.
func TestNames(t *testing.T) {
	taken := []string{
		"Klage.pdf", "Über Öl & Äpfel.pdf", "契約書.pdf", "عقد.pdf", "Договір.docx", "สัญญา.pdf", "חוזה.pdf", "אב 12 cd.pdf",
		"📎 Anlage 👩‍⚖️.pdf", "e\u0301.txt",
		".htaccess", "...pdf", "a..b", "..pdf", "-rf", "~", "$HOME", "`id`", "$(id)", "a;b", "a,b", "a=b", "a:b", "a*b?",
		"<script>.txt", "a|b", "a&b", "a#b", "a+b", "a@b", "a^b",
		`"quoted".txt`, `'quoted'.txt`, "100%.txt", "%2e%2e%2fetc", "%00.txt", "UTF-8''x", "=?UTF-8?Q?x?=", "a  b",
		"a\u00a0b", "a\ufeffb", "a\u200db",
		"name.", "CONTRACT.txt", "COM10.txt", "COM.txt", "console", "NULL", "LPT",
		strings.Repeat("a", 200), strings.Repeat("漢", 200), strings.Repeat("😀", 200), strings.Repeat("é", 196) + ".pdf",
	}
	devices := []string{
		"CON", "con.txt", "PRN.pdf", "aux", "NUL.tar.gz", "nul .txt", "COM1", "lpt9.txt", "COM0", "COM¹.txt",
		"LPT³", "CONIN$", "conout$.txt",
	}
	refused := map[string]string{
		"": "TOO_SHORT", " ": "INVALID_FORMAT", "\u00a0\u3000": "INVALID_FORMAT", strings.Repeat("a", 201): "TOO_LONG",
		strings.Repeat("a", 255): "TOO_LONG", strings.Repeat("漢", 201): "TOO_LONG",
		"a/b": "INVALID_FORMAT", `a\b`: "INVALID_FORMAT", "/etc/passwd": "INVALID_FORMAT", `C:\x`: "INVALID_FORMAT",
		"../x": "INVALID_FORMAT", ".": "INVALID_FORMAT", "..": "INVALID_FORMAT", " .. ": "INVALID_FORMAT",
		"a\x00b": "INVALID_FORMAT", "a\rb": "INVALID_FORMAT", "a\nb": "INVALID_FORMAT",
		"a\r\nSet-Cookie: x": "INVALID_FORMAT", "a\tb": "INVALID_FORMAT", "a\x1bb": "INVALID_FORMAT",
		"a\x7fb": "INVALID_FORMAT", "a\u0085b": "INVALID_FORMAT", "a\u2028b": "INVALID_FORMAT",
		"Rechnung\u202efdp.exe": "INVALID_FORMAT", "a\u202ab": "INVALID_FORMAT", "a\u2066b": "INVALID_FORMAT",
		"a\u2069b": "INVALID_FORMAT", "a\u200fb": "INVALID_FORMAT", "a\u200eb": "INVALID_FORMAT",
		"a\u061cb": "INVALID_FORMAT",
	}
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte("Guten Tag\n")
		id := c.Document("erster.txt", "text/plain", file)
		shown := func(name, saved string) {
			t.Helper()
			header := download(c, id).Want(200).Header.Get("Content-Disposition")
			kind, parameters, err := mime.ParseMediaType(header)
			if err != nil || kind != "attachment" || parameters["filename"] != saved || len(parameters) != 1 {
				t.Errorf("%q: %s gives %q, %v", name, header, parameters, err)
			}
			plain, _, _ := strings.Cut(header, "; filename*=")
			if _, parameters, err = mime.ParseMediaType(plain); err != nil ||
				len([]rune(parameters["filename"])) != len([]rune(saved)) || strings.ContainsAny(parameters["filename"], `/\"%`) {
				t.Errorf("%q: for old programs %s, %v", name, plain, err)
			}
			for _, b := range []byte(header) {
				if b < ' ' || b > '~' {
					t.Errorf("%q: %q is not a header of ASCII", name, header)
				}
			}
		}
		for _, name := range append(taken, devices...) {
			kept := strings.ReplaceAll(name, "e\u0301", "é")
			renamed := c.Do("PATCH", "/documents/"+id, map[string]any{"name": name}, "If-Match", "*").Want(200)
			want(t, renamed, map[string]any{"name": kept})
			want(t, c.Do("GET", "/documents/"+id, nil).Want(200), map[string]any{"name": kept})
			saved := filetype.WithEnding(kept, "text/plain")
			if slices.Contains(devices, name) {
				saved = "_" + saved // Windows would open a device under this name
			}
			shown(name, saved)
		}
		for name, code := range refused {
			if got := c.Do("POST", "/uploads", session(name, file)).Want(422,
				"VALIDATION_FAILED").Fields(); !slices.Equal(got, []string{"fileName " + code}) {
				t.Errorf("%q as fileName: %q", name, got)
			}
			got := c.Do("PATCH", "/documents/"+id, map[string]any{"name": name}, "If-Match", "*").Want(422,
				"VALIDATION_FAILED").Fields()
			if !slices.Equal(got, []string{"name " + code}) {
				t.Errorf("%q as name: %q", name, got)
			}
			upload := c.Upload("a.txt", "text/plain", file)
			got = c.Do("POST", "/documents", map[string]any{"uploadId": upload, "name": name}).Want(422,
				"VALIDATION_FAILED").Fields()
			if !slices.Equal(got, []string{"name " + code}) {
				t.Errorf("%q as name of a new one: %q", name, got)
			}
		}
		// A name is the same in the upload, the document and the download.
		name := "Klage_契約書 “100%” (2).txt"
		id = c.Document(name, "text/plain", file)
		shown(name, name)
		want(t, c.Do("GET", "/documents/"+id, nil).Want(200), map[string]any{"name": name})
		// A text file is never downloaded with an executable extension.
		for _, ending := range []string{"bat", "hta", "vbs", "js", "exe", "EXE"} {
			c.Do("PATCH", "/documents/"+id, map[string]any{"name": "lauf." + ending}, "If-Match", "*").Want(200)
			shown("lauf."+ending, "lauf."+ending+".txt")
		}
	})
}

// lies are files whose content is not of the declared type. said is a part of the English
// problem.
var lies = []struct{ name, declared, content, said string }{
	{
		"Rechnung.pdf", "application/pdf", "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00",
		"portable-executable",
	},
	{
		"Brief.txt", "text/plain", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00",
		"looks like application/x-executable",
	},
	{"Bild.png", "image/png", "<html><script>alert(1)</script></html>", "looks like text/html"},
	{"Bild.png", "image/png", smallPDF, "looks like application/pdf"},
	{
		"Brief.txt", "text/plain", "<!DOCTYPE html><html><script>alert(1)</script></html>",
		"looks like text/html. Files of that type are not accepted here.",
	},
	{"Text.pdf", "application/pdf", "Ein Text\n", "looks like text/plain. Begin a new upload with the type that fits."},
	{"Archiv.pdf", "application/pdf", smallPDF + "PK\x05\x06" + strings.Repeat("\x00", 18), "several things at once"},
	{"Null.pdf", "application/pdf", strings.Repeat("\x00", 5000), "not of the type application/pdf. Begin"},
}

const smallPDF = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"

// TestRejected checks a file whose content is not of the declared type. The operation fails with
// the reason, which only its principal sees. Nothing of the file stays, and other principals
// cannot find the operation.
func TestRejected(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		_, sandbox := o.Organization("Kanzlei Abendroth")
		user := o.User(access.Admin, sandbox)
		others := map[string]*apitest.Client{
			"a colleague": o.As(access.Member), "an admin": o.As(access.Admin),
			"another organization": {Office: o, Principal: user, Key: o.Key(user)},
		}
		for _, lie := range lies {
			file := lie.name + " as " + lie.declared
			upload := c.Upload(lie.name, lie.declared, []byte(lie.content))
			accepted := c.Do("POST", "/documents", map[string]any{"uploadId": upload, "externalId": "lie"}).Want(202)
			want(t, c.Await(accepted), map[string]any{"status": "failed", "result": nil, "progress": 100.0})
			saysWhy(t, c, file, accepted, lie.said)
			at := "/operations/" + accepted.Text("id")
			isUnknownTo(t, others, c, file, at)
			o.Rest()
			if left := o.Stored(); len(left) > 0 {
				t.Errorf("%s: %q is left", file, left)
			}
			usedUp := c.Do("POST", "/documents", map[string]any{"uploadId": upload}).Want(422, "VALIDATION_FAILED")
			if !bytes.Contains(usedUp.Body, []byte("GET /v1"+at)) {
				t.Errorf("%s: %s does not lead to its operation", file, usedUp.Body)
			}
		}
		if n := len(c.Do("GET", "/documents", nil).Want(200).Data()); n != 0 {
			t.Errorf("%d documents", n)
		}
		endsAreEventsOf(t, c, others, len(lies))
		refusesTypes(t, c, "application/x-msdownload", "text/html", "image/svg+xml", "application/octet-stream")
		refusesTakenID(t, c)
	})
}

// saysWhy fails the test unless the failed operation has the problem UPLOAD_REJECTED in both
// languages.
func saysWhy(t *testing.T, c *apitest.Client, file string, accepted *apitest.Answer, said string) {
	t.Helper()
	at := "/operations/" + accepted.Text("id")
	german := c.Do("GET", at, nil).Want(200).JSON()["error"].(map[string]any)
	english := c.Do("GET", at, nil, "Accept-Language", "en").Want(200).JSON()["error"].(map[string]any)
	for _, problem := range []map[string]any{german, english} {
		if problem["code"] != "UPLOAD_REJECTED" || problem["status"] != 422.0 || problem["instance"] != "/v1"+at ||
			problem["requestId"] != accepted.Header.Get("Request-Id") {
			t.Errorf("%s: %v", file, problem)
		}
	}
	if !strings.Contains(german["detail"].(string), "Datei") ||
		!strings.Contains(english["detail"].(string), "file") || german["title"] == english["title"] {
		t.Errorf("%s: %v and %v", file, german, english)
	}
	if got := english["detail"].(string); !strings.Contains(got, said) {
		t.Errorf("%s: %q", file, got)
	}
}

// isUnknownTo fails the test unless the operation is NOT_FOUND for others, with the same detail
// as an unknown id.
func isUnknownTo(t *testing.T, others map[string]*apitest.Client, c *apitest.Client, file, at string) {
	t.Helper()
	for who, other := range others {
		if got := other.Do("GET", at, nil).Want(404,
			"NOT_FOUND").Text("detail"); got != c.Do("GET", "/operations/opr_00000000000000000000000000",
			nil).Want(404).Text("detail") {
			t.Errorf("%s: %s is told %s", file, who, got)
		}
	}
}

// endsAreEventsOf fails the test unless c sees the ends of n operations as events, and others see
// no events.
func endsAreEventsOf(t *testing.T, c *apitest.Client, others map[string]*apitest.Client, n int) {
	t.Helper()
	events := c.Do("GET", "/events?limit=100&sort=createdAt", nil).Want(200).Data()
	if len(events) != n || slices.ContainsFunc(events,
		func(e map[string]any) bool { return e["type"] != "operation.completed" }) {
		t.Errorf("events %v", events)
	}
	for _, e := range events {
		c.Do("GET", "/events/"+e["id"].(string), nil).Want(200)
		for _, other := range others {
			other.Do("GET", "/events/"+e["id"].(string), nil).Want(404, "NOT_FOUND")
		}
	}
	for who, other := range others {
		if got := types(other); len(got) != 0 {
			t.Errorf("%s sees %q", who, got)
		}
	}
}

func refusesTypes(t *testing.T, c *apitest.Client, types ...string) {
	t.Helper()
	for _, declared := range types {
		got := c.Do("POST", "/uploads", map[string]any{"fileName": "a", "contentType": declared, "size": 1}).Want(422,
			"VALIDATION_FAILED")
		if !slices.Equal(got.Fields(), []string{"contentType NOT_IN_ENUM"}) ||
			!bytes.Contains(got.Body, []byte("Erlaubt sind nur: application/pdf, ")) {
			t.Errorf("%s: %s", declared, got.Body)
		}
	}
}

// refusesTakenID sends two documents with the same external id. It checks that the second call is
// refused at once.
func refusesTakenID(t *testing.T, c *apitest.Client) {
	t.Helper()
	c.Document("a.txt", "text/plain", []byte("a\n"), map[string]any{"externalId": "d-1"})
	again := c.Do("POST", "/documents", map[string]any{
		"uploadId": c.Upload("b.txt", "text/plain", []byte("b\n")), "externalId": "d-1",
	})
	if got := again.Want(422, "VALIDATION_FAILED").Fields(); !slices.Equal(got, []string{"externalId DUPLICATE"}) {
		t.Errorf("%q", got)
	}
}

// TestPrivateContent checks that only the owner and admins can download the file of a private
// document. Others get the same response as for an unknown document.
func TestPrivateContent(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, colleague, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		_, sandbox := o.Organization("Kanzlei Abendroth")
		user := o.User(access.Admin, sandbox)
		stranger := &apitest.Client{Office: o, Principal: user, Key: o.Key(user)}
		file := []byte("Vertraulich\n")
		id := c.Document("a.txt", "text/plain", file, map[string]any{"visibility": "private"})
		for _, reader := range []*apitest.Client{c, admin} {
			if a := download(reader, id).Want(200); !bytes.Equal(a.Body, file) {
				t.Errorf("%q", a.Body)
			}
		}
		strip := func(a *apitest.Answer) string {
			body := a.JSON()
			delete(body, "requestId")
			delete(body, "instance")
			return fmt.Sprint(body)
		}
		for who, other := range map[string]*apitest.Client{"a colleague": colleague, "another organization": stranger} {
			unknown := strip(download(other, "doc_00000000000000000000000000").Want(404, "NOT_FOUND"))
			for _, headers := range [][]string{
				nil,
				{"Range", "bytes=0-1"},
				{"If-None-Match", `"` + sum(file) + `"`},
				{"If-None-Match", "*"},
			} {
				a := download(other, id, headers...).Want(404, "NOT_FOUND")
				if got := strip(a); got != unknown || a.Header.Get("Etag") != "" || a.Header.Get("Content-Disposition") != "" {
					t.Errorf("%s is told %s %v, of an unknown one %s", who, got, a.Header, unknown)
				}
			}
		}
		if got := types(c); !slices.Equal(got, []string{"document.created", "operation.completed"}) {
			t.Errorf("the owner sees %q", got)
		}
		if got := types(colleague); len(got) != 0 {
			t.Errorf("a colleague sees %q", got)
		}
		if got := types(admin); !slices.Equal(got, []string{"document.created"}) {
			t.Errorf("an admin sees %q", got)
		}
	})
}
