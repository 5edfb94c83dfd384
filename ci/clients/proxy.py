"""A proxy between a generated client and the instance, which adds what later versions may bring.

Each object in a response gets a member that the OpenAPI document lacks. The
first response to each creation is lost: the call is executed, and the client
gets 503. A robust client copes with both.

    proxy.py UPSTREAM    prints its own port
"""

import http.client
import json
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

upstream = urllib.parse.urlsplit(sys.argv[1])
lost = set()
hop = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding"}


def grown(value):
    """Returns the value with an additional member in each object, except in maps of texts."""
    if isinstance(value, list):
        return [grown(item) for item in value]
    if isinstance(value, dict):
        return {"addedLater": {"x": [1]}, **{k: v if k in ("headers", "attributes") else grown(v) for k, v in value.items()}}
    return value


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
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
            content = json.dumps(grown(json.loads(content))).encode()

        self.send_response_only(status, reason)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204 and status != 304:
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
