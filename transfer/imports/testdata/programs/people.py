"""The people of the address books of other programs. They are invented.

    people.py NUMBER    prints them as JSON. Each book has a NUMBER, so that no two books have the same people.

The first person has everything that a contact of Kartei has. The second is a company. The third has a
birthday without a year, and texts with characters that files escape.
"""

import json
import sys

LAST_NAMES = ["Abendroth", "Blumenthal", "Czerny", "Dornbusch", "Eichendorff", "Falkenberg", "Großkopf", "Höhne", "Ißbrücker"]
FIRST_NAMES = ["Änne", "Bärbel", "Cäcilie", "Dörte", "Edith", "Friederike", "Gülsüm", "Hedwig", "Irmgard"]
OTHERS = ["Adebar", "Bönisch", "Cremer", "Düsterhöft", "Elßner", "Fröbel", "Grünewald", "Hübsch", "Illgner"]
NOTE = """Mandantin seit 2011, empfohlen von Frau Kühn; zahlt pünktlich, wünscht aber vor jedem Termin einen Rückruf, \
weil sie in der Regel zwischen Köln, Brüssel und Luxemburg unterwegs ist.
Ablage: C:\\Akten\\2011, Schrank 3

Parkplatz im Hof: „Tor 2“"""


def people(number):
    last, first, other = LAST_NAMES[number - 1], FIRST_NAMES[number - 1], OTHERS[number - 1]
    domain, n = f"c{number:02}.example", f"{number:02}"
    everything = {
        "prefix": "Dr.", "first": first, "additional": ["Maria", "Sophie"], "last": last, "suffix": "LL.M.", "nickname": "Anni",
        "birthday": "1984-05-17", "anniversary": "2014-09-06",
        "company": f"{last} & Söhne GmbH", "department": "Recht, Verträge", "title": "Syndikusrechtsanwältin",
        "role": "Leiterin der Rechtsabteilung",
        "emails": [["work", f"{last[0].lower()}.buero@{domain}"], ["home", f"privat@{domain}"], ["Sekretariat", f"sekretariat@{domain}"]],
        "phones": [["work", f"+49 221 91{n}01"], ["home", f"0228 91{n}02"], ["cell", f"0171 91{n}003"], ["work,cell", f"0160 91{n}004"],
                   ["work,fax", f"0221 91{n}05"], ["home,fax", f"0228 91{n}06"], ["pager", f"0168 91{n}07"], ["Sekretariat", f"0221 91{n}08"]],
        "addresses": [
            {"type": "work", "box": f"10 0{n} 0", "extended": "Hinterhaus, 2. OG", "street": f"Königsallee {number}", "code": "40212",
             "city": "Düsseldorf", "region": "Nordrhein-Westfalen", "country": "Deutschland"},
            {"type": "home", "box": "", "extended": "", "street": f"Am Römerlager {number}a", "code": "53117", "city": "Bonn",
             "region": "", "country": "Germany"},
            {"type": "Ferienhaus", "box": "", "extended": "", "street": f"Rue de l'Église {number}", "code": "L-1458", "city": "Luxembourg",
             "region": "", "country": "Luxemburg"}],
        "categories": ["Mandanten", "Erben, Köln"],
        "websites": [["work", f"https://www.{domain}/recht"], ["home", f"https://{last[0].lower()}.{domain}"]],
        "note": NOTE}
    company = {
        "company": f"{other} Immobilien KG", "emails": [["work", f"info@{other[0].lower()}.{domain}"]],
        "phones": [["work", f"0211 92{n}01"], ["work,fax", f"0211 92{n}02"]],
        "addresses": [{"type": "work", "box": "", "extended": "", "street": f"Rheinufer {number}-{number + 2}", "code": "40213",
                       "city": "Düsseldorf", "region": "", "country": "Deutschland"}],
        "websites": [["work", f"https://{other[0].lower()}.{domain}"]], "note": "Objekte: Rheinufer; Hafen, Medienhafen"}
    short = {
        "first": "Jörg", "last": f"{other}-O'Neill", "birthday": "--12-24", "emails": [["home", f"joerg@{domain}"]],
        "phones": [["cell", f"+43 664 91{n}009"]], "note": 'sagt "Grüß Gott"; wohnt in Wien, 1. Bezirk'}
    return [{"uid": f"5f1de6c0-00{n}-4000-8000-00000000000{i}", **person} for i, person in enumerate((everything, company, short), 1)]


if __name__ == "__main__":
    json.dump(people(int(sys.argv[1])), sys.stdout, ensure_ascii=False, indent=1)
