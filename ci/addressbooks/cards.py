"""What an address book must find in a card of Kartei, by the record in the API."""

import re

LABELS = {"mobile": "cell", "other": "_$!<Other>!$_", None: ""}


def digits(number):
    """Returns the last digits of a number, which are the same in all notations."""
    return re.sub(r"\D", "", number)[-6:]


def of_record(record):
    """Returns the values of a record in the form of the function `found` of an address book."""

    def label(name):
        return LABELS.get(name, name)

    def parts(a):
        return a["street"] or "", a["postalCode"] or "", a["city"] or "", a["region"] or ""

    emails = [(record["email"], "")] + [(e["email"], label(e["label"])) for e in record["additionalEmails"]]
    phones = [(record.get("mobile"), "cell"), (record["phone"], "work")]
    phones += [(p["phone"], label(p["label"])) for p in record["additionalPhones"]]
    addresses = [(parts(record["address"]), "work")] if record["address"] else []
    addresses += [(parts(a), label(a["label"])) for a in record["additionalAddresses"]]
    company = record["object"] == "company"
    return {
        "name": "" if company else [record[part] or "" for part in ("lastName", "firstName", "title", "nameSuffix")],
        "organization": record["name"] if company else record["companyName"],
        "department": record.get("department") or "",
        "jobTitle": record.get("jobTitle") or "",
        "birthday": record.get("birthday") or "",
        "website": (record["website"] or "").replace(",", "%2C").replace(";", "%3B"),
        "note": record["note"] or "",
        "tags": sorted(record["tags"]),
        "emails": sorted((text, kind) for text, kind in emails if text),
        "phones": sorted((digits(text), kind) for text, kind in phones if text),
        "addresses": sorted(addresses),
    }


def compare(program, version, records, found):
    """Returns a message for each value that the address book has not found, or found otherwise."""
    wrong = []
    for record in records:
        want, got = of_record(record), found.get(record["id"], {})
        for name, value in want.items():
            if got.get(name) != value:
                wrong.append(f"{program}, version {version}, {record['id']}: {name} is {got.get(name)!r}, want {value!r}")
    return wrong
