"""Writes ../wild/c05-evolution.vcf with the contacts library of Evolution (evolution-data-server 3.46).

    apt-get install gir1.2-ebook-1.2 python3-gi; /usr/bin/python3 evolution.py

A person becomes an EContact with the fields that Evolution's editor sets, and is written in version 3.0, as
Evolution does for "Save as vCard". The editor marks the order of its rows by X-EVOLUTION-UI-SLOT.
"""

import pathlib

import gi

gi.require_version("EBook", "1.2")
gi.require_version("EBookContacts", "1.2")
from gi.repository import EBook, EBookContacts  # noqa: E402

from people import people  # noqa: E402

PHONES = {"work": "business-phone", "home": "home-phone", "cell": "mobile-phone", "work,fax": "business-fax", "home,fax": "home-fax",
          "pager": "pager", "Sekretariat": "assistant-phone", "work,cell": "other-phone"}
SLOT = "X-EVOLUTION-UI-SLOT"


def address(contact, place, a):
    """Sets an address as the editor does: the parts, and the label on an envelope."""
    parts = EBookContacts.ContactAddress.new()
    for field, part in {"po": "box", "ext": "extended", "street": "street", "locality": "city", "region": "region", "code": "code",
                        "country": "country"}.items():
        setattr(parts, field, a[part])
    contact.set_property("address-" + place, parts)
    lines = [a["street"], a["extended"], a["box"], f'{a["code"]} {a["city"]}', a["region"], a["country"]]
    contact.set_property("address-label-" + place, "\n".join(filter(None, lines)))


def add(contact, name, kind, value, slot):
    attribute = EBookContacts.VCardAttribute.new(None, name)
    attribute.add_value(value)
    for parameter, text in (("TYPE", kind), (SLOT, str(slot))):
        attribute.add_param_with_value(EBookContacts.VCardAttributeParam.new(parameter), text)
    contact.append_attribute(attribute)


def day(text):
    date = EBookContacts.ContactDate.new()
    date.year, date.month, date.day = map(int, text.split("-"))
    return date


def card(person):
    contact = EBookContacts.Contact()
    contact.set_property("id", "pas-id-" + person["uid"].upper())
    name = EBookContacts.ContactName.new()
    for field, part in {"family": "last", "given": "first", "prefixes": "prefix", "suffixes": "suffix"}.items():
        setattr(name, field, person.get(part, ""))
    name.additional = " ".join(person.get("additional", []))
    if "last" in person:
        contact.set_property("name", name)
        contact.set_property("full-name", name.to_string())
        contact.set_property("file-as", f'{person["last"]}, {person["first"]}')
    else:
        contact.set_property("full-name", person["company"])
        contact.set_property("file-as", person["company"])
    texts = {"nickname": "nickname", "company": "org", "department": "org-unit", "title": "title", "role": "role", "note": "note"}
    for part, field in texts.items():
        if part in person:
            contact.set_property(field, person[part])
    for slot, (kind, text) in enumerate(person["emails"], 1):
        add(contact, "EMAIL", {"work": "WORK", "home": "HOME"}.get(kind, "OTHER"), text, slot)
    for kind, text in person["phones"]:
        contact.set_property(PHONES[kind], text)
    for a in person.get("addresses", []):
        address(contact, a["type"] if a["type"] in ("work", "home") else "other", a)
    for (_, url), field in zip(person.get("websites", []), ("homepage-url", "blog-url")):
        contact.set_property(field, url)
    if "categories" in person:
        contact.set_property("categories", ",".join(c for c in person["categories"] if "," not in c))
        contact.set_property("office", "Zimmer 12")
        contact.set_property("manager", "Frau Oehl")
        contact.set_property("assistant", "Herr Kurz")
        contact.set_property("spouse", "Jan")
        contact.set_property("caluri", "https://kalender.example/anni")
        contact.set_property("im-jabber-work-1", "anni@jabber.example")
        contact.set_property("im-skype-home-1", "live:anni")
        contact.set_property("birth-date", day(person["birthday"]))
        contact.set_property("anniversary", day(person["anniversary"]))
        contact.set_property("wants-html", True)
    return contact.to_string(EBookContacts.VCardFormat(1))


def contact_list(name, people):
    """Returns a list of contacts, as the editor of lists makes it."""
    contact = EBookContacts.Contact()
    contact.set_property("id", "pas-id-5F1DE6C0-0005-4000-8000-00000000000F")
    contact.set_property("full-name", name)
    contact.set_property("file-as", name)
    contact.set_property("list", True)
    contact.set_property("list-show-addresses", False)
    for text in people:
        destination = EBook.Destination.new()
        if text.startswith("BEGIN"):
            destination.set_contact(EBookContacts.Contact.new_from_vcard(text), 0)
        else:
            destination.set_raw(text)
        attribute = EBookContacts.VCardAttribute.new(None, "EMAIL")
        destination.export_to_vcard_attribute(attribute)
        contact.append_attribute(attribute)
    return contact.to_string(EBookContacts.VCardFormat(1))


wild = pathlib.Path(__file__).parent.parent / "wild"
cards = [card(person) for person in people(5)]
cards.append(contact_list("Rundschreiben", [*cards[:2], "Nur Hier <nur.hier@c05.example>"]))
(wild / "c05-evolution.vcf").write_bytes("\r\n\r\n".join(cards).encode() + b"\r\n")
