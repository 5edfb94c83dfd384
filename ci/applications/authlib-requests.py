"""A web application with a secret, by Authlib and Requests: once with the secret in the header, once
in the form. Authlib has no function that registers, and leaves the errors of the browser and iss to
the application."""

import time

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2 import rfc9207
from authlib.oauth2.rfc6749.errors import MismatchingStateException
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

from helpers import account, browser, check, equal, fails, is_me, issuer, metadata_address, parameters, refused, resource, service_id, service_secret, works

redirect = "https://app.example/callback"
scopes = "contacts:read contacts:write"


def fetch(address):
    answer = requests.get(address, timeout=30)
    equal(address, answer.status_code, 200)
    return answer.json()


metadata = fetch(metadata_address())
equal("resource", metadata["resource"], resource)
server = AuthorizationServerMetadata(fetch(get_well_known_url(metadata["authorization_servers"][0], external=True)))
server.validate(metadata_classes=[rfc9207.AuthorizationServerMetadata])
equal("issuer", server["issuer"], issuer)
check("the server announces iss", server["authorization_response_iss_parameter_supported"])

foreign = None  # a token of another client
for method in ("client_secret_basic", "client_secret_post"):
    about = {"client_name": "Fristenkalender", "redirect_uris": [redirect], "token_endpoint_auth_method": method}
    answer = requests.post(server["registration_endpoint"], json=about, timeout=30)
    equal("the registration", answer.status_code, 201)
    client = answer.json()
    equal("token_endpoint_auth_method", client["token_endpoint_auth_method"], method)

    def session(**more):
        settings = {
            "client_secret": client["client_secret"], "token_endpoint_auth_method": method, "revocation_endpoint_auth_method": method,
            "scope": scopes, "redirect_uri": redirect, "code_challenge_method": "S256", "token_endpoint": server["token_endpoint"],
        }
        return OAuth2Session(client["client_id"], **{**settings, **more})

    app = session()
    verifier = generate_token(48)
    address, state = app.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier, resource=resource)

    denied = parameters(browser("deny", address))
    equal("the error of a denied request", (denied["error"], denied["state"], denied["iss"]), ("access_denied", state, issuer))

    back = browser("allow", address)
    equal("where the browser ends", back.split("?")[0], redirect)
    equal("iss", parameters(back)["iss"], issuer)

    def exchange(by, verifier, state=state):
        return by.fetch_token(authorization_response=back, state=state, code_verifier=verifier, resource=resource)

    fails("the answer to another request", MismatchingStateException, lambda: exchange(app, verifier, "another"))
    wrong = fails("a wrong secret", OAuthError, lambda: exchange(session(client_secret="wrong"), verifier))
    equal("the error of a wrong secret", wrong.error, "invalid_client")
    wrong = fails("a wrong verifier", OAuthError, lambda: exchange(app, generate_token(48)))
    equal("the error of a wrong verifier", wrong.error, "invalid_grant")
    token = exchange(app, verifier)
    equal("token_type", token["token_type"], "Bearer")
    equal("expires_in", token["expires_in"], 3600)
    equal("scope", token["scope"], scopes)
    check("the library takes the token for a live one", not app.token.is_expired())
    me = works(token["access_token"], client["client_id"], scopes)
    is_me(app.get(resource + "/me").json(), client["client_id"], scopes)

    def introspect(text):
        answer = app.introspect_token(server["introspection_endpoint"], token=text)
        equal("the introspection", answer.status_code, 200)
        return answer.json()

    found = introspect(token["access_token"])
    expected = {
        "active": True, "client_id": client["client_id"], "scope": scopes, "sub": me["principalId"], "aud": resource, "iss": issuer,
        "token_type": "Bearer", "iat": found.get("iat"), "exp": found.get("iat", 0) + 3600,
    }
    equal("what is known of the token", found, expected)
    if foreign:
        equal("what is known of a token of another client", introspect(foreign), {"active": False})
    foreign = token["access_token"]

    # An hour later, the library refreshes the token before the call by itself.
    app.token = {**token, "expires_at": int(time.time()) - 1}
    is_me(app.get(resource + "/me").json(), client["client_id"], scopes)
    fresh = app.token
    check("a new access token", fresh["access_token"] != token["access_token"])
    check("a new refresh token", fresh["refresh_token"] != token["refresh_token"])
    works(token["access_token"], client["client_id"], scopes)  # a refresh does not end it
    narrow = app.refresh_token(scope="contacts:read", resource=resource)
    works(narrow["access_token"], client["client_id"], "contacts:read")
    wider = fails("a wider scope", OAuthError, lambda: app.refresh_token(scope=scopes + " tasks:read"))
    equal("the error of a wider scope", wider.error, "invalid_scope")

    def revoke(text, hint):
        equal("the revocation", app.revoke_token(server["revocation_endpoint"], token=text, token_type_hint=hint).status_code, 200)

    revoke(token["access_token"], "access_token")
    refused(token["access_token"])
    works(narrow["access_token"], client["client_id"], "contacts:read")
    revoke(app.token["refresh_token"], "refresh_token")
    refused(narrow["access_token"])
    equal("what is known of an ended token", introspect(narrow["access_token"]), {"active": False})
    ended = fails("an ended grant", OAuthError, app.refresh_token)
    equal("the error of an ended grant", ended.error, "invalid_grant")

for method in ("client_secret_basic", "client_secret_post"):

    def own(secret):
        return OAuth2Session(service_id, secret, token_endpoint_auth_method=method, scope="contacts:read", token_endpoint=server["token_endpoint"])

    app = own(service_secret)
    token = app.fetch_token(resource=resource)
    check("no refresh token of a service account", "refresh_token" not in token)
    equal("principalId", works(token["access_token"], service_id, "contacts:read")["principalId"], account)
    app.token = {**token, "expires_at": int(time.time()) - 1}
    equal("the call an hour later", app.get(resource + "/me").status_code, 200)
    check("a new access token", app.token["access_token"] != token["access_token"])
    wrong = fails("a wrong secret", OAuthError, own("wrong").fetch_token)
    equal("the error of a wrong secret", wrong.error, "invalid_client")
