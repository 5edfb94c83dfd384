"""What the programs in Python share: the browser, the calls of the API, and how to fail."""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

# The address of the API is all that a program knows.
resource = os.environ["KARTEI_RESOURCE"]
issuer = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(resource))

# A client of a service account, made by the operator.
service_id, service_secret, account = (os.environ[n] for n in ("KARTEI_CLIENT_ID", "KARTEI_CLIENT_SECRET", "KARTEI_ACCOUNT"))

# A program that asks for all ten scopes gets these: the consent page does not propose webhooks.
proposed = "companies:read companies:write contacts:read contacts:write documents:read documents:write tasks:read tasks:write"

callback = "http://127.0.0.1:53076/callback"


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, got {got!r}")


def check(what, holds):
    if not holds:
        raise AssertionError(f"expected: {what}")


def fails(what, kind, attempt):
    """Expects that something fails with a kind of error, and returns the error."""
    try:
        result = attempt()
    except kind as error:
        return error
    raise AssertionError(f"{what}: expected {kind.__name__}, got {result!r}")


def browser(decision, address, *scopes):
    """Lets the person allow or deny, and returns the address at which the browser ends."""
    program = pathlib.Path(__file__).with_name("browser.py")
    return subprocess.run([sys.executable, program, decision, address, *scopes], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def parameters(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))


def get(path, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(resource + path, headers=headers), timeout=30) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, e.headers, json.load(e)


def metadata_address():
    """Calls without a token: the challenge names the metadata."""
    status, headers, _ = get("/me")
    equal("a call without a token", status, 401)
    found = re.match('Bearer .*resource_metadata="([^"]+)"', headers["WWW-Authenticate"])
    check(f"a challenge with resource_metadata, got {headers['WWW-Authenticate']}", found)
    return found[1]


def is_me(me, client, scopes):
    equal("authMethod", me["authMethod"], "oauth")
    equal("grant.clientId", me["grant"]["clientId"], client)
    equal("scopes", " ".join(sorted(me["scopes"])), scopes)


def works(token, client, scopes):
    """Calls the API with a token, and returns what the API says of it."""
    status, _, me = get("/me", token)
    equal("GET /me", status, 200)
    is_me(me, client, scopes)
    status, _, page = get("/contacts?limit=1", token)
    equal("GET /contacts", status, 200)
    equal("the number of contacts", len(page["data"]), 1)
    return me


def refused(token):
    """Expects that the API refuses a token, and says why."""
    status, headers, _ = get("/me", token)
    equal("GET /me with a dead token", status, 401)
    check("the challenge says invalid_token", 'error="invalid_token"' in headers["WWW-Authenticate"])
