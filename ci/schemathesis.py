"""Prepares a frozen document for Schemathesis: python3 ci/schemathesis.py IN OUT

Only two things change, and only in the copy that the generator reads:

- Accept-Language loses its bounds. "`de`, no header or any other language gives
  German": no value is wrong, so nonsense must not be held to be refused.
- If-Match and If-None-Match are given a few values in place of their pattern.
  For a header with this pattern Schemathesis 4.25 also sends 0, which does not
  match it, and holds us to accept that.
"""

import json
import sys

source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    document = json.load(file)
parameters = {p["name"]: p["schema"] for p in document["components"]["parameters"].values() if p["in"] == "header"}
for bound in ("pattern", "maxLength"):
    del parameters["Accept-Language"][bound]
for name in ("If-Match", "If-None-Match"):
    parameters[name].clear()
    parameters[name].update(type="string", enum=["*", '"r1"', '"r2"', 'W/"r1"', '"r1", "r2"'])
with open(target, "w", encoding="utf-8") as file:
    json.dump(document, file)
