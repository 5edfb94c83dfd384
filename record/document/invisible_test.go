package document_test

import (
	"os"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
)

// TestInvisibleInDocuments checks that a search finds words of a file with invisible characters
// within them. Text that is copied from web pages has such characters.
func TestInvisibleInDocuments(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		file, err := os.ReadFile("testdata/invisible.docx")
		if err != nil {
			t.Fatal(err)
		}
		c := o.As(access.Member)
		id := c.Document("vertrag.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", file)
		for _, word := range []string{
			"Donaudampf", "Kaufvertrag", "Auflage", "Klageschrift", "Preisliste", "Kauf\u200bvertrag",
		} {
			found := c.Do("GET", "/documents?q="+word, nil).Want(200).Data()
			if len(found) != 1 || found[0]["id"] != id {
				t.Errorf("%q finds %v", word, found)
			}
		}
		if found := c.Do("GET", "/documents?q=Mietvertrag", nil).Want(200).Data(); len(found) != 0 {
			t.Errorf("%v", found)
		}
	})
}
