"""Prepares the cards of a running demo: prepare.py LINE FOLDER

LINE is what `kartei demo --json` printed. A contact and a company with everything that a record can have are
created. FOLDER then has all records as records.json, and their cards in both versions.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request
import uuid

demo = json.loads(pathlib.Path(sys.argv[1]).read_text())
folder = pathlib.Path(sys.argv[2])
EMAILS = [{"email": "privat@berg.example", "label": "home"}, {"email": "kanzlei@berg.example", "label": "Kanzlei, Köln"},
          {"email": "ohne@berg.example", "label": None}, {"email": "weitere@berg.example", "label": "other"}]
PHONES = [{"phone": "0221 700005", "label": "fax"}, {"phone": "+49 171 7000061", "label": "mobile"}, {"phone": "0228 700007", "label": "home"},
          {"phone": "0221 700008", "label": "Sekretariat; vormittags"}, {"phone": "0221 700009", "label": None}]
ADDRESSES = [{"street": "Am Römerlager 7a, Hinterhaus; 2. OG", "postalCode": "53117", "city": "Bonn", "country": "DE", "label": "home"},
             {"street": "Rue de l'Église 3", "postalCode": "1458", "city": "Luxembourg", "region": "Centre", "country": "LU", "label": "Ferienhaus"}]
LISTS = {"additionalEmails": EMAILS, "additionalPhones": PHONES, "additionalAddresses": ADDRESSES, "phone": "+49 221 7000010",
         "email": "berg@berg.example", "website": "https://www.berg.example/recht?a=1,2;b", "tags": ["Mandanten", "Erben, Köln"],
         "address": {"street": "Königsallee 1", "postalCode": "40212", "city": "Düsseldorf", "region": "Nordrhein-Westfalen", "country": "DE"},
         "note": "Ablage: C:\\Akten\\2011, Schrank 3; links\n\nzahlt „pünktlich“, " + "wünscht vor jedem Termin einen Rückruf, " * 8}
CONTACT = {"firstName": "Änne Maria", "lastName": "Berg, geb. Groß", "title": "Dr.", "nameSuffix": "LL.M.", "jobTitle": "Syndika; Notarin",
           "department": "Recht, Verträge", "birthday": "1984-05-17", "mobile": "0171 7000031", **LISTS}
COMPANY = {"name": "Haas; Söhne, KG", **LISTS}


def call(method, path, body=None):
    request = urllib.request.Request(demo["baseUrl"] + path, method=method, data=body and json.dumps(body).encode(), headers={
        "Authorization": "Bearer " + demo["keys"]["full"], "Content-Type": "application/json", "Svc-Preview": "true",
        "Idempotency-Key": str(uuid.uuid4())})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def all_of(path):
    cursor = ""
    while True:
        page = call("GET", f"{path}?limit=100{cursor}")
        yield from page["data"]
        if not page["hasMore"]:
            return
        cursor = "&cursor=" + page["nextCursor"]


company = call("POST", "/companies", COMPANY)
call("POST", "/contacts", {**CONTACT, "companyId": company["id"]})
companies = list(all_of("/companies"))
names = {c["id"]: c["name"] for c in companies}
contacts = [{**c, "companyName": names.get(c["companyId"], "")} for c in all_of("/contacts")]
(folder / "records.json").write_text(json.dumps(contacts + companies))
environment = {**os.environ, "KARTEI_KEY": demo["keys"]["full"]}
for version in "3.0", "4.0":
    made = [subprocess.run(["bin/kartei", "contact", "cards", "--url", demo["webUrl"], "--vcard", version, *more], env=environment,
                           check=True, stdout=subprocess.PIPE).stdout for more in ([], ["--companies"])]
    (folder / f"cards-{version}.vcf").write_bytes(b"".join(made))
