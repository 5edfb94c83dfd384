"""Reads cards with the contacts library of Evolution, by hand: with_evolution.py FOLDER

    apt-get install gir1.2-ebookcontacts-1.2 python3-gi; /usr/bin/python3 with_evolution.py FOLDER

FOLDER is what prepare.py has written.
"""

import json
import pathlib
import re
import sys

import gi

gi.require_version("EBookContacts", "1.2")
from gi.repository import EBookContacts  # noqa: E402

import cards  # noqa: E402


def attributes(contact, name):
    """Returns the attributes of a name, with the label from their group or their type."""
    labels = {a.get_group(): a.get_value() for a in EBookContacts.VCard.get_attributes(contact) if a.get_name().upper() == "X-ABLABEL"}
    for a in EBookContacts.VCard.get_attributes(contact):
        if a.get_name().upper() == name:
            kinds = [k for k in a.get_param("TYPE") or [] if k.lower() != "pref"]
            yield a, labels.get(a.get_group()) or ", ".join(kinds)


def found(contact):
    n = contact.get_property("name")
    org = next((a.get_values() for a, _ in attributes(contact, "ORG")), [""])
    company = any(a.get_value() == "org" for a, _ in attributes(contact, "KIND")) or any(attributes(contact, "X-ABSHOWAS"))
    date = contact.get_property("birth-date")
    addresses = []
    for a, label in attributes(contact, "ADR"):
        _, _, street, city, region, code, _ = a.get_values()
        addresses.append(((street, code, city, region), label))
    return {
        "name": "" if company else [n.family, n.given, n.prefixes, n.suffixes],
        "organization": org[0], "department": ", ".join(org[1:]), "jobTitle": contact.get_property("title") or "",
        "birthday": f"{date.year:04}-{date.month:02}-{date.day:02}" if date else "",
        "website": contact.get_property("homepage-url") or "", "note": contact.get_property("note") or "",
        "tags": sorted(v for a, _ in attributes(contact, "CATEGORIES") for v in a.get_values()),
        "emails": sorted((a.get_value(), label) for a, label in attributes(contact, "EMAIL")),
        "phones": sorted((cards.digits(a.get_value()), label) for a, label in attributes(contact, "TEL")),
        "addresses": sorted(addresses),
    }


folder, wrong = pathlib.Path(sys.argv[1]), []
records = json.loads((folder / "records.json").read_text())
for version in "3.0", "4.0":
    text = (folder / f"cards-{version}.vcf").read_bytes().decode()
    read = {}
    for card in re.findall(r"BEGIN:VCARD\r\n.*?END:VCARD\r\n", text, re.S):
        contact = EBookContacts.Contact.new_from_vcard(card)
        read[contact.get_property("id")] = found(contact)
    wrong += cards.compare("Evolution", version, records, read)
    print(f"Evolution reads {len(read)} cards of version {version}")
if wrong:
    sys.exit("\n".join(wrong))
