"""Writes the workbooks and archives in wild/ anew, with XlsxWriter, openpyxl and msoffcrypto-tool.

XlsxWriter writes what Excel writes. People and places are invented.
"""
import datetime, io, pathlib, zipfile
import openpyxl, xlsxwriter
from msoffcrypto.format.ooxml import OOXMLFile

here = pathlib.Path(__file__).parent / "wild"


def excel(name, since1904=False):
    b = xlsxwriter.Workbook(here / name, {"date_1904": since1904})
    b.set_properties({"created": datetime.datetime(2026, 11, 28)})
    cover = b.add_worksheet("Deckblatt")
    cover.write("A1", "Kanzlei Morgenstern")
    cover.write("A2", "Liste der Kontakte, Stand November")
    s = b.add_worksheet("Kontakte")
    bold, place = b.add_format({"bold": True}), b.add_format({"num_format": "00000"})
    day, short = b.add_format({"num_format": "dd.mm.yyyy"}), b.add_format({"num_format": "dd.mm."})
    english = b.add_format({"num_format": "m/d/yy"})
    dial = b.add_format({"num_format": "0000\\ 0000000"})
    s.merge_range("A1:H1", "Unsere Kontakte", bold)
    s.write_row("A3", ["Nachname", "Vorname", "Firma", "Telefon", "PLZ", "Ort", "Geburtstag", "E-Mail"], bold)
    s.write_rich_string("A4", "Be", bold, "rg")
    s.write_row("B4", ["Anna"])
    s.merge_range("C4:C5", "Haas & Söhne GmbH")
    s.write_number("D4", 2219876543, dial)
    s.write_number("E4", 1067, place)
    s.write("F4", "Dresden")
    s.write_datetime("G4", datetime.datetime(1984, 5, 4), day)
    s.write_formula("H4", '=LOWER(A4)&"@example.com"', None, "berg@example.com")
    s.write_row("A5", ["Weiß", "Jürgen"])
    s.write_string("D5", "0221 1234567")
    s.write_string("E5", "01069")
    s.write_formula("F5", "=Alt!Z99", None, "#REF!")
    s.write_datetime("G5", datetime.datetime(2026, 4, 12), short)
    s.write_row("A6", ["Kuhn", "Eva\nMaria"])
    s.write_number("D6", 4917112345678)
    s.write_number("E6", 50667)
    s.write("F6", "Köln")
    s.write_datetime("G6", datetime.datetime(1979, 12, 3), english)
    s.write_boolean("H6", True)
    old = b.add_worksheet("Alt")
    old.hide()
    old.write_row("A1", ["Nachname", "Vorname"])
    old.write_row("A2", ["Geheim", "Otto"])
    prices = b.add_worksheet("Preise")
    prices.write_row("A1", ["Leistung", "Betrag"])
    prices.write_row("A2", ["Beratung", 190.5])
    prices.write_row("A3", ["Schreiben", 90])
    b.add_worksheet("Tabelle5")
    b.close()


def openpyxl_book(name):
    b = openpyxl.Workbook()
    s = b.active
    s.append(["Name", "PLZ/Ort", "Handy", "Geb."])
    s.append(["Dr. Anna Berg", "50667 Köln", "0171 1234567", datetime.date(1984, 5, 17)])
    s.append(["Müller, Otto", None, 1711234568, None])
    s["C3"].number_format = '"0"0'
    b.save(here / name)


def packed(name, files):
    with zipfile.ZipFile(here / name, "w", zipfile.ZIP_DEFLATED) as z:
        for path, content in files:
            z.writestr(zipfile.ZipInfo(path, (2026, 11, 28, 9, 0, 0)), content)


excel("x01-excel.xlsx")
excel("x02-1904.xlsx", True)
openpyxl_book("x03-openpyxl.xlsx")
whole = (here / "x01-excel.xlsx").read_bytes()
(here / "x06-cut.xlsx").write_bytes(whole[: len(whole) // 2])
sealed = io.BytesIO()
OOXMLFile(io.BytesIO((here / "x03-openpyxl.xlsx").read_bytes())).encrypt("geheim", sealed)
(here / "x07-encrypted.xlsx").write_bytes(sealed.getvalue())
card = "BEGIN:VCARD\r\nVERSION:3.0\r\nN:%s;%s;;;\r\nFN:%s %s\r\nTEL;TYPE=CELL:%s\r\nEND:VCARD\r\n"
inner = io.BytesIO()
with zipfile.ZipFile(inner, "w") as z:
    z.writestr("c.vcf", card % ("Innen", "Ida", "Ida", "Innen", "0171 1"))
packed("z01-cards.zip", [
    ("Kontakte/", ""), ("Kontakte/Anna Berg.vcf", card % ("Berg", "Anna", "Anna", "Berg", "0171 1111111")),
    ("__MACOSX/Kontakte/._Anna Berg.vcf", "\0\0"), ("Kontakte/.DS_Store", "\0"),
    ("Kontakte/Jürgen Weiß.vcf", (card % ("Weiß", "Jürgen", "Jürgen", "Weiß", "0171 2222222")).encode("latin-1")),
    ("Kontakte/zwei.vcf", card % ("Kuhn", "Otto", "Otto", "Kuhn", "0171 4444444") + card % ("Haas", "Eva", "Eva", "Haas", "0171 3333333")),
    ("Kontakte/leer.vcf", "nichts"), ("Foto.jpg", "\xff\xd8\xff"), ("mehr.zip", inner.getvalue()), ("Liste.csv", "Nachname;Vorname\nBerg;Anna\n"),
])
packed("z02-tables.zip", [("Liesmich.txt", "Bitte lesen"), ("Kontakte.xlsx", (here / "x03-openpyxl.xlsx").read_bytes()), ("Liste.csv", "Nachname;Vorname\nBerg;Anna\n")])
packed("z03-nothing.zip", [("Brief.pdf", "%PDF-"), ("Foto.jpg", "\xff\xd8\xff")])
