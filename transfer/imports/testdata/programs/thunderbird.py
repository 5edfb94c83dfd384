"""Writes the address books of Thunderbird into ../wild, with Thunderbird 153 ESR itself:

    apt-get install thunderbird thunderbird-l10n-de; python3 thunderbird.py /usr/lib/thunderbird/thunderbird

c06-thunderbird.vcf, c07-thunderbird-english.csv and c08-thunderbird-german.csv are what the functions behind
"Export" return for an address book with the people. Marionette, the remote control of Thunderbird, calls them.
Each entry is built as the editor builds it, with the types that it offers.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from people import people

SCRIPT = """
const [people, format] = arguments;
const {AddrBookUtils} = ChromeUtils.importESModule("resource:///modules/AddrBookUtils.sys.mjs");
const {AddrBookCard} = ChromeUtils.importESModule("resource:///modules/AddrBookCard.sys.mjs");
const {VCardProperties, VCardPropertyEntry} = ChromeUtils.importESModule("resource:///modules/VCardUtils.sys.mjs");
const {MailServices} = ChromeUtils.importESModule("resource:///modules/MailServices.sys.mjs");
const id = MailServices.ab.newAddressBook("Kanzlei " + format, "", Ci.nsIAbManager.JS_DIRECTORY_TYPE);
const book = MailServices.ab.getDirectoryFromId(id);
for (const entries of people) {
    const properties = new VCardProperties("4.0");
    for (const [name, params, type, value] of entries.entries)
        properties.addEntry(new VCardPropertyEntry(name, params, type, value));
    const card = new AddrBookCard();
    card.UID = entries.uid;
    properties.addValue("uid", entries.uid);
    card.setProperty("_vCard", properties.toVCard());
    book.addCard(card);
}
return format == "vcf" ? AddrBookUtils.exportCardsToVCard(book.childCards)
    : AddrBookUtils.exportCardsToDelimitedText(book.childCards, ",");
"""


def entries(person):
    """Returns the properties of a person as the editor of Thunderbird makes them."""
    made = []

    def add(name, value, kind="text", **params):
        made.append([name, params, kind, value])

    if "last" in person:
        additional = " ".join(person.get("additional", []))
        add("n", [person["last"], person["first"], additional, person.get("prefix", ""), person.get("suffix", "")])
    add("fn", " ".join(filter(None, [person.get("first"), person.get("last")])) or person["company"])
    for part in "nickname", "title", "role", "note":
        if part in person:
            add(part, person[part])
    if "company" in person:
        add("org", [person["company"], person["department"]] if "department" in person else [person["company"]])
    for i, (kind, text) in enumerate(person["emails"]):
        typed = {"type": kind} if kind in ("work", "home") else {}
        add("email", text, **typed, **({"pref": "1"} if i == 0 else {}))
    for kind, text in person["phones"]:
        kind = kind.split(",")[-1]
        add("tel", text, **({"type": kind} if kind in ("work", "home", "cell", "fax", "pager") else {}))
    for a in person.get("addresses", []):
        lines = [line for line in (a["street"], a["extended"], a["box"] and "Postfach " + a["box"]) if line]
        typed = {"type": a["type"]} if a["type"] in ("work", "home") else {}
        street = lines if len(lines) > 1 else lines[0]
        add("adr", ["", "", street, a["city"], a["region"], a["code"], a["country"]], **typed)
    for kind, url in person.get("websites", []):
        add("url", url, "uri", type=kind)
    if "birthday" in person:
        add("bday", person["birthday"], "date")
    if "anniversary" in person:
        add("anniversary", person["anniversary"], "date")
        add("tz", "Europe/Berlin")
        add("impp", "xmpp:anni@jabber.example", "uri")
        add("x-custom1", "0123/24-5")
        add("x-custom2", "Rechnung per Post")
    return {"uid": person["uid"], "entries": made}


class Marionette:
    def __init__(self, port):
        for _ in range(600):
            try:
                self.stream = socket.create_connection(("127.0.0.1", port), 120).makefile("rwb")
                break
            except ConnectionRefusedError:
                time.sleep(0.2)
        self.receive()
        self.call("WebDriver:NewSession", {})
        self.call("Marionette:SetContext", {"value": "chrome"})

    def receive(self):
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1)
        return json.loads(self.stream.read(int(length[:-1])))

    def call(self, name, parameters):
        text = json.dumps([0, 1, name, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(text), text))
        self.stream.flush()
        _, _, error, result = self.receive()
        if error:
            sys.exit(f"{name}: {error}")
        return result

    def run(self, script, *args):
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": args})["value"]


def export(program, language, number, name, format):
    with tempfile.TemporaryDirectory() as profile:
        preferences = {"intl.locale.requested": language, "marionette.port": 28281, "extensions.autoDisableScopes": 0,
                       "extensions.startupScanScopes": 15}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in preferences.items()]
        pathlib.Path(profile, "user.js").write_text("".join(lines))
        thunderbird = subprocess.Popen([program, "--headless", "--marionette", "--remote-allow-system-access", "--profile", profile],
                                       env={**os.environ, "HOME": profile}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            remote = Marionette(28281)
            text = remote.run(SCRIPT, [entries(p) for p in people(number)], format)
            wild = pathlib.Path(__file__).parent.parent / "wild"
            (wild / name).write_bytes(text.encode())
        finally:
            thunderbird.kill()
            thunderbird.wait()


export(sys.argv[1], "en-US", 6, "c06-thunderbird.vcf", "vcf")
export(sys.argv[1], "en-US", 7, "c07-thunderbird-english.csv", "csv")
export(sys.argv[1], "de", 8, "c08-thunderbird-german.csv", "csv")
