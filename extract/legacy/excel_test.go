package legacy

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

// xlsRecord returns a record of a workbook.
func xlsRecord(kind uint16, content string) string {
	b := binary.LittleEndian.AppendUint16(nil, kind)
	return string(binary.LittleEndian.AppendUint16(b, uint16(len(content)))) + content
}

// xlsCell returns the record of a cell in the first column.
func xlsCell(kind uint16, row byte, content string) string {
	if kind == xlsManyRK {
		return xlsRecord(kind, string([]byte{row, 0, 0, 0})+content)
	}
	return xlsRecord(kind, string([]byte{row, 0, 0, 0, 15, 0})+content)
}

func xlsBeginOf(kind byte) string {
	return xlsRecord(xlsBegin, "\x00\x06"+string([]byte{kind, 0})+strings.Repeat("\x00", 12))
}

// sharedTexts returns the record of the shared strings. Each character has one byte.
func sharedTexts(texts ...string) string {
	b := string([]byte{0, 0, 0, 0, byte(len(texts)), 0, 0, 0})
	for _, t := range texts {
		b += string([]byte{byte(len(t)), 0, 0}) + t
	}
	return xlsRecord(xlsShared, b)
}

// book returns a workbook with one sheet.
func book(globals string, cells ...string) []byte {
	return filed(entry{"Workbook", xlsBeginOf(xlsGlobals) + xlsRecord(xlsSheet, "\x00\x00\x00\x00\x00\x00\x01\x00A") +
		globals + xlsRecord(xlsEnd, "") +
		xlsBeginOf(xlsWorksheet) + strings.Join(cells, "") + xlsRecord(xlsEnd, "")})
}

// book95 returns a workbook of Excel 95 with one sheet. Its texts are in the code page page.
func book95(page string, cells ...string) []byte {
	begin := func(kind byte) string {
		return xlsRecord(xlsBegin, "\x00\x05"+string([]byte{kind, 0})+"\x00\x00\x00\x00")
	}
	return filed(entry{"Book", begin(xlsGlobals) + xlsRecord(xlsCodepage, page) +
		xlsRecord(xlsSheet, "\x00\x00\x00\x00\x00\x00\x02M\xe4") + xlsRecord(xlsEnd, "") +
		begin(xlsWorksheet) + strings.Join(cells, "") + xlsRecord(xlsEnd, "")})
}

func TestExcel(t *testing.T) {
	number := func(v float64) string { return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))) }
	rk := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	const head = "\x00\x00\x00\x00\x01\x00\x00\x00"
	shared := xlsCell(xlsSharedOf, 0, "\x00\x00\x00\x00")
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"cells", book(sharedTexts("a", "b"), xlsCell(xlsSharedOf, 0, "\x01\x00\x00\x00"),
			xlsCell(xlsSharedOf, 0, "\x00\x00\x00\x00"), xlsCell(xlsSharedOf, 1, "\x07\x00\x00\x00"),
			xlsCell(xlsLabel, 2, "\x01\x00\x01"+wide16("ж")),
			xlsCell(xlsRichLabel, 2, "\x03\x00\x00x\ny\x01\x00\x00\x00\x00\x00")), "A\n\nb\ta\nж\tx y"},
		{"numbers", book("", xlsCell(xlsNumber, 0, number(-12.5)), xlsCell(xlsNumber, 0, number(1e20)),
			xlsCell(xlsNumber, 1, number(123456789012)), xlsCell(xlsRK, 1, rk(950<<2|2)),
			xlsCell(xlsRK, 1, rk(1250<<2|3)), xlsCell(xlsRK, 1, rk(uint32(math.Float64bits(0.5)>>32))),
			xlsCell(xlsRK, 1, rk(0xffffffff&^1))),
			"A\n\n-12.5\t1E+20\n123456789012\t950\t12.5\t0.5\t-1"},
		{
			"many numbers in one record",
			book("", xlsCell(xlsManyRK, 0, "\x0f\x00"+rk(1<<2|2)+"\x0f\x00"+rk(2<<2|2)+"\x01\x00")), "A\n\n1\t2",
		},
		{"formulas", book("", xlsCell(xlsFormula, 0, number(7)+"rest"),
			xlsCell(xlsFormula, 0, "\x00\x00\x00\x00\x00\x00\xff\xffrest"), xlsRecord(0x0221, "array"),
			xlsRecord(xlsString, "\x02\x00\x00ab"), xlsCell(xlsFormula, 0, "\x01\x00\x01\x00\x00\x00\xff\xff"),
			xlsCell(xlsFormula, 0, "\x02\x00\x07\x00\x00\x00\xff\xff"),
			xlsRecord(xlsString, "\x02\x00\x00cd")), "A\n\n7\tab\t1"},
		{
			"what is true, and an error",
			book("", xlsCell(xlsTruth, 0, "\x01\x00"), xlsCell(xlsTruth, 0, "\x07\x01")), "A\n\n1",
		},
		{
			"a text that goes on in another width",
			book(xlsRecord(xlsShared, head+"\x04\x00\x00ab")+xlsRecord(xlsContinue, "\x01"+wide16("ж"))+
				xlsRecord(xlsContinue, "\x00c"), shared),
			"A\n\nabжc",
		},
		{
			"a character in two records",
			book(xlsRecord(xlsShared, head+"\x04\x00\x01"+wide16("a😀")[:4])+xlsRecord(xlsContinue, "\x01"+wide16("a😀b")[4:]),
				shared),
			"A\n\na😀b",
		},
		{"what stands behind a text", book(xlsRecord(xlsShared,
			"\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x0c\x01\x00\x03\x00\x00\x00a1234")+
			xlsRecord(xlsContinue, "567\x01\x00\x00b"),
			shared, xlsCell(xlsSharedOf, 0, "\x01\x00\x00\x00")), "A\n\na\tb"},
		{"a chart within a sheet", book("", xlsCell(xlsLabel, 0, "\x01\x00\x00a"), xlsBeginOf(0x20),
			xlsCell(xlsLabel, 0, "\x01\x00\x00b"), xlsRecord(xlsEnd, ""),
			xlsCell(xlsLabel, 0, "\x01\x00\x00c")), "A\n\na\tc"},
		{"Excel 95", book95("\xe4\x04", xlsCell(xlsLabel, 0, "\x04\x00K\xf6ln"),
			xlsCell(xlsRichLabel, 0, "\x01\x00a\x01\x00\x00"), xlsCell(xlsNumber, 1, number(7)),
			xlsCell(xlsFormula, 1, "\x00\x00\x00\x00\x00\x00\xff\xffrest"), xlsRecord(xlsString, "\x02\x00ab")),
			"Mä\n\nKöln\ta\n7\tab"},
		{"Excel 95 in Cyrillic", book95("\xe3\x04", xlsCell(xlsLabel, 0, "\x02\x00\xc4\xe0")), "Mд\n\nДа"},
		{"Excel 5 of a Macintosh", book95("\x00\x80", xlsCell(xlsLabel, 0, "\x01\x00\x80")), "M‰\n\nÄ"},
		{
			"zeros at the end",
			filed(entry{"Workbook", xlsBeginOf(xlsWorksheet) + xlsRecord(xlsEnd, "") + strings.Repeat("\x00", 99)}),
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := readtest.Text(t, Excel, c.content, textLimit); got != c.want || err != nil {
				t.Errorf("%q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func hostileExcel() []HostileFile {
	empty := xlsRecord(xlsShared, "\x00\x00\x00\x00\xff\xff\xff\xff") +
		strings.Repeat(xlsRecord(xlsContinue, strings.Repeat("\x00", 6000)), 4000)
	return []HostileFile{
		{
			"under a password",
			filed(entry{
				"Workbook",
				xlsBeginOf(xlsGlobals) + xlsRecord(xlsPassword, "\x01\x00") + xlsRecord(xlsSheet, "\x12\x34"),
			}),
			"", textio.ErrEncrypted,
		},
		{"Excel 4", filed(entry{"Workbook", xlsRecord(xlsBegin, "\x00\x04\x05\x00")}), "", textio.ErrBroken},
		{"Excel 95 that breaks off", filed(entry{"Book", xlsRecord(xlsBegin, "\x00\x05\x05\x00")}), "", textio.ErrBroken},
		{
			"a text of Excel 95 that is longer than its record",
			book95("\xe4\x04", xlsCell(xlsLabel, 0, "\xff\xffa")), "Mä", textio.ErrBroken,
		},
		{
			"a workbook that breaks off",
			filed(entry{"Workbook", xlsBeginOf(xlsWorksheet) + xlsCell(xlsLabel, 0, "\x01\x00\x00a")}), "a",
			textio.ErrBroken,
		},
		{
			"a record that is longer than the file",
			filed(entry{"Workbook", xlsBeginOf(xlsWorksheet) + "\x04\x02\xff\xff"}), "", textio.ErrBroken,
		},
		{"a text that goes on nowhere", book("", xlsCell(xlsLabel, 0, "\xff\xff\x00a")), "A", textio.ErrBroken},
		{
			"a text with four billion bytes behind",
			book("", xlsCell(xlsLabel, 0, "\x00\x00\x04\xff\xff\xff\xff")), "A", textio.ErrBroken,
		},
		{
			"shared texts without end",
			book(sharedTexts("a") + "\xfc\x00\x08\x00\x00\x00\x00\x00\xff\xff\xff\xff"), "A", textio.ErrBroken,
		},
		{"shared texts that are empty", book(empty), "A", textio.ErrInflated},
	}
}
