// Verifies deliveries with the official library for JavaScript: a JSON array of
// {secret, headers, body} on standard input, one of "" or an error on output.
// The first argument is the folder in which the library is installed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const { Webhook, WebhookVerificationError } = createRequire(resolve(process.argv[2]) + "/")("standardwebhooks");

const verify = ({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return "";
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return error.message;
  }
};

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(verify)));
