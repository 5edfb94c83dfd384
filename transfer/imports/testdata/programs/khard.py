"""Writes ../wild/c01-khard-3.vcf and c02-khard-4.vcf with khard 0.22.0 (vobject 0.9.9).

    pip install khard==0.22.0; python khard.py

A person is created with `khard new` from its template, as a user does. The file of a contact in the folder
of the address book is what khard gives to other programs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from people import people

here = pathlib.Path(__file__).parent
khard = pathlib.Path(sys.executable).parent / "khard"
CONFIG = """[addressbooks]
[[book]]
path = {book}
[general]
default_action = list
[vcard]
preferred_version = {version}
private_objects = Skype, Jabber
"""


def labelled(values):
    by_label = {}
    for label, value in values:
        by_label.setdefault(label.replace(",", ", "), []).append(value)
    return by_label


def template(person, version):
    """Returns the person as a template of khard. YAML includes JSON."""
    address = lambda a: {"Box": a["box"], "Extended": a["extended"], "Street": a["street"], "Code": a["code"],
                         "City": a["city"], "Region": a["region"], "Country": a["country"]}
    birthday = person.get("birthday", "")
    company = [[c for c in (person.get("company"), person.get("department")) if c]]
    name = [person.get(part, "") for part in ("prefix", "first", "last")]
    all_of = {
        "Formatted name": " ".join(filter(None, name)) or person["company"],
        "Kind": ("individual" if "last" in person else "org") if version == "4.0" else "",
        "Prefix": person.get("prefix"), "First name": person.get("first"), "Additional": person.get("additional"),
        "Last name": person.get("last"), "Suffix": person.get("suffix"), "Nickname": person.get("nickname"),
        "Anniversary": person.get("anniversary"),
        "Birthday": birthday if version == "4.0" or not birthday.startswith("--") else "",
        "Organisation": company if company[0] else "", "Title": person.get("title"), "Role": person.get("role"),
        "Phone": labelled(person["phones"]), "Email": labelled(person["emails"]),
        "Address": {a["type"]: address(a) for a in person.get("addresses", [])},
        "Categories": person.get("categories"), "Webpage": [url for _, url in person.get("websites", [])],
        "Private": {"Skype": "live:anni"} if "nickname" in person else {}, "Note": person.get("note")}
    return json.dumps({name: value for name, value in all_of.items() if value}, ensure_ascii=False)


for number, version in (1, "3.0"), (2, "4.0"):
    with tempfile.TemporaryDirectory() as folder:
        book = pathlib.Path(folder, "book")
        book.mkdir()
        config = pathlib.Path(folder, "khard.conf")
        config.write_text(CONFIG.format(book=book, version=version))
        cards = []
        for person in people(number):
            file = pathlib.Path(folder, "new.yaml")
            file.write_text(template(person, version))
            before = set(book.iterdir())
            subprocess.run([khard, "-c", config, "new", "-a", "book", "-i", file], check=True, env={**os.environ, "EDITOR": "true"})
            [made] = set(book.iterdir()) - before
            cards.append(made.read_bytes())
        (here.parent / "wild" / f"c{number:02}-khard-{version[0]}.vcf").write_bytes(b"".join(cards))
