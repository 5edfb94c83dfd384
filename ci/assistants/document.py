"""Publishes the document about an assistant, over https: document.py ADDRESS CERTIFICATE KEY

It says at what port it listens. The redirect address has no port, as a program on a computer finds a free one.
"""

import http.server
import json
import ssl
import sys

address, certificate, key = sys.argv[1:]
about = {
    "client_id": address,
    "client_name": "Fristenkalender",
    "redirect_uris": ["http://127.0.0.1/callback", "http://127.0.0.1/oauth/callback"],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
}


class Document(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(about).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Document)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
