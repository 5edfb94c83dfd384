#!/bin/sh
# Fetches Redoc from npm and makes redoc.js.gz from it. Run it in this folder
# after changing the version and the checksum below.
set -eu
version=2.5.4
sha256=dcaf76612bc4a3fbcc923a8966dee2f6146a5f32e5ce1b6f02dd60cbbf89500b
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "redoc@$version" >/dev/null && tar xzf "redoc-$version.tgz")
bundles=$work/package/bundles
echo "$sha256  $bundles/redoc.standalone.js" | sha256sum --check --quiet

# Three changes. The maker's logo would be fetched from another host: its element
# becomes nothing, the maker's name and link stay. And the style elements that
# the bundle writes while it loads get the nonce of its own script element, as
# those that it writes later get the nonce option. And some fixed colours, which
# are made for a white ground and have no class of their own, follow the page's.
python3 - "$bundles/redoc.standalone.js" <<'PATCH'
import sys
path = sys.argv[1]
text = open(path, encoding="utf-8").read()
for old, new in [
    ('e?n.createElement("img",{alt:"redocly logo",onError:()=>t(!1),src:"https://cdn.redoc.ly/redoc/logo-mini.svg"}):null', "null"),
    ("r.nc=void 0;", "r.nc=document.currentScript?document.currentScript.nonce:void 0;"),
    ("color: #0e7c86;", "color: inherit;"),
    (r"`\n      color: white;\n      background-color: ${e.theme.colors.primary.main};\n", r"`\n      color: var(--ground);\n      background-color: ${e.theme.colors.primary.main};\n"),
    (r"\n        background-color: white;\n      `}", r"\n        background-color: transparent;\n      `}"),
    ("transparent,rgb(255 255 255));", "transparent,var(--ground));"),
]:
    if text.count(old) != 1:
        sys.exit("not where it was, look at the new bundle: " + old)
    text = text.replace(old, new)
open(path, "w", encoding="utf-8").write(text)
PATCH
gzip --best --no-name --stdout "$bundles/redoc.standalone.js" >redoc.js.gz
cp "$work/package/LICENSE" LICENSE
cat "$bundles/redoc.standalone.js.LICENSE.txt" "$bundles"/*.worker.js.LICENSE.txt >LICENSES.txt
