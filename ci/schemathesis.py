"""Prepares a frozen document for Schemathesis: python3 ci/schemathesis.py IN OUT ORGANIZATION

Only three things change, and only in the copy that the generator reads:

- Accept-Language loses its bounds. "`de`, no header or any other language gives
  German": no value is wrong, so nonsense must not be held to be refused.
- If-Match and If-None-Match are given a few values in place of their pattern.
  For a header with this pattern Schemathesis 4.25 also sends 0, which does not
  match it, and holds us to accept that.
- Svc-Organization is the caller's. "A header naming another organization than
  the key's gives 403", so with any other nothing else would be asked.
"""

import json
import sys

source, target, organization = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    document = json.load(file)
for parameter in document["components"]["parameters"].values():
    schema = parameter["schema"]
    if parameter["in"] != "header":
        continue
    match parameter["name"]:
        case "Accept-Language":
            del schema["pattern"], schema["maxLength"]
        case "If-Match" | "If-None-Match":
            schema.clear()
            schema.update(type="string", enum=["*", '"r1"', '"r2"', 'W/"r1"', '"r1", "r2"'])
        case "Svc-Organization":
            schema.clear()
            schema.update(type="string", enum=[organization])
            parameter["example"] = organization
with open(target, "w", encoding="utf-8") as file:
    json.dump(document, file)
