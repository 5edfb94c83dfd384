package ui

import (
	"context"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/a-h/templ"
	"rsc.io/qr"
)

// QR returns a component that renders a text as a QR code. label says what the code is for. If the
// text is too long, nothing is rendered.
func QR(text, label string) templ.Component {
	if len(text) > longest {
		return templ.NopComponent
	}
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		code, err := qr.Encode(text, qr.L)
		if err != nil {
			return err
		}
		size := code.Size + 2*quiet
		_, err = fmt.Fprintf(w, `<svg class="qr" role="img" aria-label="%s" viewBox="0 0 %d %d"><path d="%s"/></svg>`,
			html.EscapeString(label), size, size, dark(code))
		return err
	})
}

// longest is the maximum number of bytes in a QR code: version 40 at level L (ISO/IEC 18004, table
// 7).
const longest = 2953

// quiet is the width of the white border in modules. Cameras need it.
const quiet = 4

// dark returns the SVG path of the dark modules, with one rectangle for each horizontal run.
func dark(code *qr.Code) string {
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	return b.String()
}
