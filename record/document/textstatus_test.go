package document_test

import (
	"os"
	"strings"
	"testing"

	"kartei/access"
	"kartei/extract"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestTextStatus checks that a document says how much of its text was read, and why the rest is
// missing.
func TestTextStatus(t *testing.T) {
	scrambled, err := os.ReadFile("../../extract/testdata/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	const sealed = "Subject: Vertraulich\r\nFrom: a@b.de\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\n\r\nx"
	const limit = 500 // in bytes of text
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Texts(extract.Options{Cache: cache, Limits: extract.Limits{Text: limit}}),
			apitest.Replicas(1))
		c := o.As(access.Member)
		for _, f := range []struct {
			name, contentType, content, status string
			reason                             any
		}{
			{"a.txt", "text/plain", "Guten Tag", "complete", nil},
			{"leer.txt", "text/plain", " \n", "none", nil},
			{
				"bild.png", "image/png",
				"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00", "none",
				nil,
			},
			{"a.pdf", "application/pdf", string(scrambled), "unread", "encrypted"},
			{"a.eml", "message/rfc822", sealed, "partial", "encrypted"},
			{
				"anlage.eml", "message/rfc822", "Subject: a\nContent-Type: application/pdf; name=Bescheid.pdf\n\nx",
				"partial", "contained",
			},
			{"a.json", "application/json", `["a",`, "partial", "damaged"},
			{"lang.txt", "text/plain", strings.Repeat("Wort ", limit), "partial", "too_long"},
		} {
			ended := c.Await(c.Do("POST", "/documents", map[string]any{
				"uploadId": c.Upload(f.name, f.contentType, []byte(f.content)),
			}).Want(202))
			result, _ := ended.JSON()["result"].(map[string]any)
			if result == nil {
				t.Errorf("%s: %s", f.name, ended.Body)
				continue
			}
			want(t, c.Do("GET", "/documents/"+result["id"].(string), nil).Want(200),
				map[string]any{"name": f.name, "textStatus": f.status, "textReason": f.reason})
		}
	})
}
