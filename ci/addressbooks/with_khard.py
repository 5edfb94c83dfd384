"""Reads cards with khard: with_khard.py FOLDER

FOLDER has records.json with the records, and cards-VERSION.vcf with their cards.
"""

import json
import pathlib
import sys

import vobject
from khard.contacts import VCardWrapper

import cards


def labelled(by_kind, default):
    """Returns the values with their labels, without the preference."""
    for kinds, values in by_kind.items():
        label = ", ".join(k for k in kinds.split(", ") if not k.startswith("pref"))
        for value in values:
            yield value, "" if label in ("", default) else label


def first(values):
    return values[0] if values else ""


def joined(value):
    return value if isinstance(value, str) else ", ".join(value)


def found(card):
    c = VCardWrapper(card)
    organization = first(c.organisations) or [""]
    tags = c.categories
    company = c.kind == "org" or hasattr(card, "x_abshowas")
    n = None if company else card.n.value
    return {
        "name": [joined(part) for part in (n.family, n.given, n.prefix, n.suffix)] if n else "",
        "organization": organization[0], "department": ", ".join(organization[1:]),
        "jobTitle": first(c.titles), "birthday": c.birthday.strftime("%Y-%m-%d") if c.birthday else "",
        "website": first(c.webpages), "note": first(c.notes), "tags": sorted(tags),
        "emails": sorted(labelled(c.emails, "internet")),
        "phones": sorted((cards.digits(number), label) for number, label in labelled(c.phone_numbers, "voice")),
        "addresses": sorted(((joined(a["street"]), joined(a["code"]), joined(a["city"]), joined(a["region"])), label)
                            for a, label in labelled(c.post_addresses, None)),
    }


folder, wrong = pathlib.Path(sys.argv[1]), []
records = json.loads((folder / "records.json").read_text())
for version in "3.0", "4.0":
    text = (folder / f"cards-{version}.vcf").read_text(encoding="utf-8")
    read = {card.uid.value: found(card) for card in vobject.readComponents(text)}
    wrong += cards.compare("khard", version, records, read)
    print(f"khard reads {len(read)} cards of version {version}")
if wrong:
    sys.exit("\n".join(wrong))
