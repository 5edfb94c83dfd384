package bundle

import (
	"bytes"
	"testing"

	"kartei/extract/textio"
)

// TestParse checks that Parse refuses invalid output, and that it decodes the output of a Writer.
func TestParse(t *testing.T) {
	for _, wrong := range []string{"x", "{}", `{"size":5}` + "\nabc", `{"size":-1}` + "\nabc"} {
		if _, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	var out bytes.Buffer
	w := &Writer{out: &out, left: 200}
	if err := w.Add(Part{Name: "ä.vcf", Content: []byte("a\nb")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(Part{Content: make([]byte, 200)}); err != textio.ErrInflated {
		t.Errorf("beyond the limit: %v", err)
	}
	if list, err := Parse(out.Bytes()); err != nil || len(list) != 1 || string(list[0].Content) != "a\nb" ||
		list[0].Name != "ä.vcf" {
		t.Errorf("%+v %v", list, err)
	}
}
