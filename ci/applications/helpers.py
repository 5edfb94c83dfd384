"""Functions for the programs in Python: the browser, calls of the API or of MCP, and checks."""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

# A program knows only the URL of the API or of the MCP endpoint.
resource = os.environ["KARTEI_RESOURCE"]
issuer = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(resource))

# The operator has created this client for a service account.
service_id, service_secret, account = (os.environ[n] for n in ("KARTEI_CLIENT_ID", "KARTEI_CLIENT_SECRET", "KARTEI_ACCOUNT"))

# A program that requests all ten scopes gets these, because the person ticks all but the scopes for webhooks.
proposed = "companies:read companies:write contacts:read contacts:write documents:read documents:write tasks:read tasks:write"

callback = "http://127.0.0.1:53076/callback"


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, got {got!r}")


def check(what, holds):
    if not holds:
        raise AssertionError(f"expected: {what}")


def fails(what, kind, attempt):
    """Checks that an attempt fails with this kind of error, and returns the error."""
    try:
        result = attempt()
    except kind as error:
        return error
    raise AssertionError(f"{what}: expected {kind.__name__}, got {result!r}")


def browser(decision, address, *scopes):
    """Lets the person allow or deny, and returns the last URL of the browser."""
    program = pathlib.Path(__file__).with_name("browser.py")
    return subprocess.run([sys.executable, program, decision, address, *scopes], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def parameters(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))


# A call is a path of the API and the MCP tool that does the same.
ME = "/me", {"name": "me_get"}
CONTACTS = "/contacts?limit=1", {"name": "contacts_list", "arguments": {"limit": 1}}


def request(call):
    """Returns the method, the URL, the headers and the body of a call."""
    path, tool = call
    if not resource.endswith("/mcp"):
        return "GET", resource + path, {}, None
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}).encode()
    return "POST", resource, {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}, body


def content(answer):
    """Returns the result of a tool, or the body of another response."""
    return answer["result"]["structuredContent"] if "result" in answer else answer


def send(call, token=None):
    method, address, headers, body = request(call)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, headers, method=method), timeout=30) as answer:
            return answer.status, answer.headers, content(json.load(answer))
    except urllib.error.HTTPError as e:
        return e.code, e.headers, json.load(e)


def metadata_address():
    """Returns the URL of the metadata, from the challenge for a call without a token."""
    status, headers, _ = send(ME)
    equal("a call without a token", status, 401)
    found = re.match('Bearer .*resource_metadata="([^"]+)"', headers["WWW-Authenticate"])
    check(f"a challenge with resource_metadata, got {headers['WWW-Authenticate']}", found)
    return found[1]


def is_me(me, client, scopes):
    equal("authMethod", me["authMethod"], "oauth")
    equal("grant.clientId", me["grant"]["clientId"], client)
    equal("scopes", " ".join(sorted(me["scopes"])), scopes)


def works(token, client, scopes):
    """Checks that calls with a token succeed, and returns the response about the caller."""
    status, _, me = send(ME, token)
    equal("a call about oneself", status, 200)
    is_me(me, client, scopes)
    status, _, page = send(CONTACTS, token)
    equal("a list of contacts", status, 200)
    equal("the number of contacts", len(page["data"]), 1)
    return me


def refused(token):
    """Checks that a call with the token gets a 401 with invalid_token."""
    status, headers, _ = send(ME, token)
    equal("a call with a dead token", status, 401)
    check("the challenge says invalid_token", 'error="invalid_token"' in headers["WWW-Authenticate"])
