"""The browser of a person, without scripts.

    browser.py sign-in ORIGIN          signs in with KARTEI_EMAIL and KARTEI_PASSWORD
    browser.py allow ADDRESS [SCOPE]   opens the address of an authorization request, allows it,
                                       and prints the address at which the browser ends
    browser.py deny ADDRESS            the same, but denies it

Sign-ins are limited, so the cookies of one are kept in the file KARTEI_COOKIES. If that was long ago,
the person confirms it. With scopes they tick only these, otherwise all but those of webhooks: the page
ticks nothing of an application that nobody has checked. The requests have the headers with which a
browser says where they come from.
"""

import html.parser
import http.cookiejar
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


class Forms(html.parser.HTMLParser):
    """The forms of a page, each with its action, its fields and values, and its choices.
    The text of the page is for messages."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.text, self.main = [], None, [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "main":
            self.main = True
        if tag == "form":
            self.open = {"action": a.get("action"), "fields": [], "choices": []}
            self.found.append(self.open)
        elif tag == "input" and self.open is not None and a.get("name"):
            field = (a["name"], a.get("value") or "")
            if a.get("type") in ("checkbox", "radio"):
                self.open["choices"].append(field)
                if "checked" not in a:
                    return
            self.open["fields"].append(field)
        elif tag == "button" and self.open is not None and a.get("name"):
            self.open["choices"].append((a["name"], a.get("value") or ""))

    def handle_endtag(self, tag):
        if tag == "main":
            self.main = False
        if tag == "form":
            self.open = None

    def handle_data(self, data):
        if self.main and data.strip():
            self.text.append(data.strip())


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, because the last one leaves the server."""

    def redirect_request(self, *_):
        return None


cookies = http.cookiejar.LWPCookieJar(os.environ["KARTEI_COOKIES"])
opener = urllib.request.build_opener(Stay, urllib.request.HTTPCookieProcessor(cookies))


def origin(address):
    parts = urllib.parse.urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def send(address, form=None):
    """Sends a request, and returns the status, the headers and the page."""
    headers = {"Accept": "text/html", "Accept-Language": "en", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    headers["Sec-Fetch-Site"] = "cross-site" if form is None else "same-origin"  # a form is sent from its page
    body = None
    if form is not None:
        headers["Origin"] = origin(address)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(address, body, headers)
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read().decode()


def form_of(address, action):
    """Opens a page and returns its form with an action. If a redirect leaves the server, its URL
    is returned instead."""
    start = origin(address)
    for _ in range(5):
        status, headers, page = send(address)
        if status not in (302, 303, 307):
            break
        address = urllib.parse.urljoin(address, headers["Location"])
        if origin(address) != start:
            return None, address
    for form in Forms(page).found:
        if form["action"] == action:
            return form, None
    sys.exit(f"{status} {address}: the page has no form for {action}, but: {' '.join(Forms(page).text)[:500]}")


def sign_in(start):
    form, _ = form_of(start + "/signin", "/signin")
    fields = dict(form["fields"], email=os.environ["KARTEI_EMAIL"], password=os.environ["KARTEI_PASSWORD"])
    status, _, page = send(start + "/signin", fields)
    if status != 303:
        sys.exit(f"the sign-in is answered with {status}: {' '.join(Forms(page).text)[:500]}")
    cookies.save(ignore_discard=True)


def decide(decision, address, scopes):
    cookies.load(ignore_discard=True)
    form, elsewhere = form_of(address, "/oauth/authorize")
    if elsewhere:
        return elsewhere
    status, headers, page = answer(decision, address, form, scopes)
    if status == 403:
        form = confirm(address, page)
        status, headers, page = answer(decision, address, form, scopes)
    if status == 303:
        return headers["Location"]
    sys.exit(f"the answer {decision} is answered with {status}: {' '.join(Forms(page).text)[:500]}")


def answer(decision, address, form, scopes):
    fields = [f for f in form["fields"] if f[0] != "scopes"]
    offered = [value for name, value in form["choices"] if name == "scopes" and not value.startswith("webhook_endpoints:")]
    fields += [("scopes", s) for s in scopes or offered]
    missing = [f for f in [*fields, ("decision", decision)] if f[0] in ("scopes", "decision") and f not in form["choices"]]
    if missing:
        sys.exit(f"the page does not offer {missing}")
    return send(origin(address) + "/oauth/authorize", [*fields, ("decision", decision)])


def confirm(address, page):
    """Confirms the sign-in, and returns the form of the consent page that follows."""
    for form in Forms(page).found:
        if form["action"] == "/confirm":
            fields = [*form["fields"], ("password", os.environ["KARTEI_PASSWORD"])]
            status, _, page = send(origin(address) + "/confirm", fields)
            cookies.save(ignore_discard=True)
            for form in Forms(page).found:
                if form["action"] == "/oauth/authorize":
                    return form
    sys.exit(f"{address}: the sign-in cannot be confirmed: {' '.join(Forms(page).text)[:500]}")


match sys.argv[1:]:
    case ["sign-in", start]:
        sign_in(start)
    case ["allow" | "deny" as decision, address, *scopes]:
        print(decide(decision, address, scopes))
    case _:
        sys.exit(__doc__)
