package legacy

import (
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"kartei/extract/textio"
)

// inCodepage returns text in a code page of Windows as UTF-8.
func inCodepage(page uint64, r io.Reader) (io.Reader, error) {
	switch {
	case page == 65001:
		return textio.Named("utf-8", r)
	case page >= 1250 && page <= 1258:
		return textio.Named(fmt.Sprintf("windows-%d", page), r)
	case page >= 28591 && page <= 28606:
		return textio.Named(fmt.Sprintf("iso-8859-%d", page-28590), r)
	case codepageNames[page] != "":
		return textio.Named(codepageNames[page], r)
	}
	return textio.Decoded(r), nil
}

// codepageNames are those whose names do not hold their numbers.
var codepageNames = map[uint64]string{866: "ibm866", 874: "windows-874", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 10000: "macintosh",
	20866: "koi8-r", 20932: "euc-jp", 21866: "koi8-u", 50220: "iso-2022-jp", 51932: "euc-jp", 51949: "euc-kr", 54936: "gb18030"}

// utf16le returns UTF-16 without a mark of its byte order as UTF-8.
func utf16le(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
}
