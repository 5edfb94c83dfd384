"""A proxy between a generated client and the instance, which adds what later versions may bring.

Each object in a response gets a member that the OpenAPI document lacks. The
first response to each creation is lost: the call is executed, and the client
gets 503. A robust client copes with both.

Each new contact and document also gets members that `before.json` lacks, as if
another program had set them. The proxy checks that they are in all responses
with the record, so that no client of before removes them. A missing member is an
error in the log. /survived tells how many responses were checked.

    proxy.py UPSTREAM    prints its own port
"""

import collections
import http.client
import json
import re
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

upstream = urllib.parse.urlsplit(sys.argv[1])
lost = set()
MORE = {
    "/v1/contacts": {
        "nameSuffix": "LL.M.",
        "department": "Notariat",
        "website": "https://sommer.example",
        "additionalEmails": [{"email": "privat@sommer.example", "label": "home"}],
        "additionalPhones": [{"phone": "0221 700005", "label": "fax"}, {"phone": "0221 700006", "label": "Sekretariat"}],
        "additionalAddresses": [{"street": "Heimweg 2", "postalCode": "53111", "city": "Bonn", "region": None, "country": "DE", "label": "home"}],
        "attributes": {"crmStage": "won"},
    },
    "/v1/documents": {"reference": "0123/24-5", "attributes": {"origin": "scanner"}},
}
RECORD = re.compile(r"/v1/(contacts|documents|operations)/(\w+)$")
kept = {}  # the additional members by the id of the record, and of the operation that creates it
survived = collections.Counter()
hop = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding"}


def grown(value):
    """Returns the value with an additional member in each object, except in maps of texts."""
    if isinstance(value, list):
        return [grown(item) for item in value]
    if isinstance(value, dict):
        return {"addedLater": {"x": [1]}, **{k: v if k in ("headers", "attributes") else grown(v) for k, v in value.items()}}
    return value


def check(method, path, body):
    """Checks that a record in a response has its additional members."""
    if method == "POST" and path in MORE:
        kept[body["id"]] = MORE[path]
    found = RECORD.match(path)
    if not found or found[2] not in kept:
        return
    if found[1] == "operations":
        if body.get("result"):
            kept[body["result"]["id"]] = kept[found[2]]
        return
    for name, value in kept[found[2]].items():
        if body[name] != value:
            raise AssertionError(f"after {method} {path}, {name} is {body[name]} and was {value}")
    survived[f"{method} {found[1]}"] += 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        if self.path == "/survived":
            return self.tell(json.dumps(survived).encode())
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command == "POST" and self.path in MORE:
            body = json.dumps({**json.loads(body), **MORE[self.path]}).encode()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in hop}
        connection = http.client.HTTPConnection(upstream.hostname, upstream.port)
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        status, reason = answer.status, answer.reason
        headers = [(k, v) for k, v in answer.getheaders() if k.lower() not in hop]
        connection.close()

        key = self.headers.get("Idempotency-Key")
        if key and status < 300 and key not in lost:
            lost.add(key)
            status, reason, content = 503, "Service Unavailable", b"no answer"
            headers = [("Content-Type", "text/plain"), ("Retry-After", "0")]
        kind = answer.getheader("Content-Type", "")
        if self.path.startswith("/v1/") and "json" in kind and status != 503:
            told = json.loads(content)
            if status < 300:
                check(self.command, self.path, told)
            content = json.dumps(grown(told)).encode()

        self.send_response_only(status, reason)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204 and status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def tell(self, content):
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = forward

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
