"""Verifies deliveries with the official library for Python: a JSON array of
{secret, headers, body} on standard input, one of "" or an error on output."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def verify(delivery):
    try:
        Webhook(delivery["secret"]).verify(delivery["body"].encode(), delivery["headers"])
        return ""
    except WebhookVerificationError as error:
        return str(error)


json.dump([verify(delivery) for delivery in json.load(sys.stdin)], sys.stdout)
