package legacy

import (
	"bufio"
	"os"
	"testing"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

func FuzzRTF(f *testing.F) {
	letter, err := os.ReadFile("../testdata/letter.rtf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(letter)
	f.Add([]byte(`{\rtf1\uc2 \u-10179??\u-8704??\'e4{\*\x y}\bin3 abc}`))
	f.Add([]byte(`{\rtf1\fromhtml1{\*\htmltag4 <b>}\htmlrtf x\htmlrtf0 c{\htmlrtf y}}`))
	f.Add([]byte(`{\rtf1\ansicpg932{\fonttbl{\f1\fcharset134 A;}}{\info{\upr{\title a}{\*\ud{\title b}}}}{\header k}\f1\'ba\'cf{\footnote n}\u128512?}` + "\x00"))
	readtest.Fuzz(f, RTF)
}

// FuzzOutlook checks that no content crashes the reader of messages. Its seeds are larger than
// other seeds, but the tables of a message are at the beginning.
func FuzzOutlook(f *testing.F) {
	f.Add(filed(outlookItem("", 32, map[uint32]uint64{
		propMessageCodepage<<16 | typeNumber: 1251, propSubmitted<<16 | typeTime: 1,
	},
		entry{"0037001E", "a"}, entry{"1000001E", "b"})...))
	f.Add(filed(outlookItem("", 32, nil, entry{"10090102", literal(`{\rtf1\fromhtml1{\*\htmltag4 <b>}c}`)})...))
	f.Add(nested(2))
	readtest.Fuzz(f, Outlook)
}

func FuzzWord(f *testing.F) {
	f.Add(wordOf(0, []int{3}, "abc"))
	f.Add(wordOf(wordTable1, []int{4, 2, 0, 0, 1}, "a\x13b\x14c\x15", wide16("d\a\a😀")))
	readtest.Fuzz(f, Word)
}

func FuzzExcel(f *testing.F) {
	f.Add(book(sharedTexts("a", "b"), xlsCell(xlsSharedOf, 0, "\x01\x00\x00\x00")))
	f.Add(book("", xlsCell(xlsManyRK, 1, "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		xlsCell(xlsFormula, 2, "\x00\x00\x00\x00\x00\x00\xff\xff")))
	readtest.Fuzz(f, Excel)
}

// FuzzExcelRecords checks that no records of a workbook crash the reader. The input has only the
// records, without the compound file around them.
func FuzzExcelRecords(f *testing.F) {
	f.Add([]byte(xlsRecord(xlsShared, "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00a") +
		xlsRecord(xlsContinue, "\x01b\x00")))
	f.Add([]byte(xlsRecord(xlsLabel, "\x00\x00\x00\x00\x00\x00\x01\x00\x0dx")))
	readtest.Fuzz(f, func(in *textio.Input, out *textio.Sink) error {
		x := workbook{r: &xlsReader{r: bufio.NewReader(in)}, out: out, depth: 1, kind: xlsWorksheet}
		return x.write()
	})
}

func FuzzPowerPoint(f *testing.F) {
	f.Add(slidesOf(pptPlain, pptRecordOf(0x0f, pptSlides, pptSlideOf(2)+pptTextOf("a")), 0, "",
		pptRecordOf(0x0f, 1006, pptTextOf("b"))))
	readtest.Fuzz(f, PowerPoint)
}

// FuzzDecompressRTF checks that no compressed RTF crashes the reader. The input has only the
// compressed RTF, since mutated messages are hardly ever valid.
func FuzzDecompressRTF(f *testing.F) {
	f.Add([]byte(literal(`{\rtf1\fromhtml1{\*\htmltag4 <b>}c}`)))
	f.Add([]byte(rtfExample))
	readtest.Fuzz(f, func(in *textio.Input, out *textio.Sink) error {
		r, err := decompressRTF(in)
		if err != nil {
			return err
		}
		return RTF(&textio.Input{Reader: r}, out)
	})
}
