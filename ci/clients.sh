#!/usr/bin/env bash
# Generates clients for the running demo, as a person does who knows only its URL and a key. The
# script fetches the OpenAPI document without a key. For each generator, it runs the commands in
# docs/guide.md, compiles, and runs the journey of this generator (ci/clients/NAME). With
# arguments, it tries only these generators. DOCUMENT=FILE uses this document instead, such as a
# draft, or ci/clients/before.json for the clients of before.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh
house=$PWD

all=(openapi-generator-python openapi-generator-java openapi-generator-typescript-fetch openapi-generator-go
	openapi-python-client hey-api openapi-fetch oapi-codegen)
for name in "$@"; do
	[[ " ${all[*]} " == *" $name "* ]] || { echo "no generator $name; there are: ${all[*]}"; exit 2; }
done
[ $# -gt 0 ] || set -- "${all[@]}"

# The tools are installed into .cache once, in the versions that ci/clients pins. Another run of this
# script waits meanwhile.
ci/setup.sh npm venv javac mvn
tools=$house/.cache/clients
mkdir -p "$tools"
exec {lock}>"$tools/lock"
flock "$lock"
install_python clients openapi-python-client --version
install_node clients --ignore-scripts
java=$tools/java-$(packages_hash ci/clients/openapi-generator-java/pom.xml)
go=$tools/go-$(packages_hash ci/clients/oapi-codegen/go.sum)
if [ ! -e "$java/ready" ]; then
	echo "installing what clients in Java need"
	mvn -q -B --color never -f ci/clients/openapi-generator-java/pom.xml \
		org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$java"
	touch "$java/ready"
fi
if [ ! -e "$go/oapi-codegen" ]; then
	echo "installing oapi-codegen"
	(cd ci/clients/oapi-codegen && GOFLAGS= CGO_ENABLED=0 go build -o "$go/" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen)
fi
exec {lock}>&-
export PATH=$python/bin:$node/node_modules/.bin:$go:$PATH

# The guide must name the versions that this script tries.
chapter=$(sed -n '/^## Generating a client/,/^## /p' docs/guide.md)
for pin in $(grep -oE '[a-z@][a-z0-9@./-]*(==|@v?)[0-9][0-9.]*' <<<"$chapter" | sort -u); do
	case $pin in
	*==*) grep -qxF "$pin \\" ci/clients/requirements.txt ;;
	*/cmd/*@v*) grep -qF "${pin%/cmd/*} ${pin##*@} " ci/clients/oapi-codegen/go.mod ;;
	*@v*) grep -qxF "	${pin/@/ }" ci/clients/oapi-codegen/go.mod ;;
	*) grep -qF "\"${pin%@*}\":\"${pin##*@}\"" ci/clients/package.json ;;
	esac || { echo "docs/guide.md names $pin, which is not the version below ci/clients"; exit 1; }
done

# block LANGUAGE NAME prints the blocks of the guide in this language that are marked for this
# client.
block() {
	awk -v mark="<!-- client $2 -->" -v fence="^\`\`\`$1\$" '
		$0 == mark { wanted = 1; next }
		wanted && /^```/ && $0 !~ fence && !inside { wanted = 0 }
		wanted && $0 ~ fence { inside = 1; next }
		inside && /^```$/ { inside = wanted = 0; next }
		inside { print }' docs/guide.md
}

# Clients reach the demo through a proxy. It adds members that later versions may bring, and loses
# the first response to each creation.
listen=127.0.0.1:$(free_port)
python3 ci/clients/proxy.py "http://$listen" >"$work/proxy" 2>"$work/proxy.log" &
proxy=$!
await "$work/proxy" $proxy
KARTEI_URL=http://127.0.0.1:$(cat "$work/proxy")
start_demo --data "$work/data" --listen "$listen" --base-url "$KARTEI_URL"
pids+=($proxy) # cleanup ends the proxy after the demo

# The response to a call without a key has a link to the OpenAPI document.
if [ -n "${DOCUMENT:-}" ]; then
	python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); d["servers"]=[{"url": sys.argv[2]}]; json.dump(d, sys.stdout)' \
		"$DOCUMENT" "$KARTEI_URL/v1" >"$work/openapi.json"
else
	curl -sS -o /dev/null -D "$work/head" "$KARTEI_URL/v1/me"
	link=$(tr -d '\r' <"$work/head" | sed -n 's/^link:.*<\([^>]*\)>; *rel="service-desc".*/\1/Ip')
	[ -n "$link" ] || { echo "no answer names the document"; cat "$work/head"; exit 1; }
	[[ $link != /* ]] || link=$KARTEI_URL$link
	curl -sS --fail-with-body "$link" -o "$work/openapi.json" || { cat "$work/openapi.json"; exit 1; }
fi

# Each client has a key of its own, so that no journey uses up the limits of another.
principal=$(curl -sS -H "Authorization: Bearer $(value 'd["keys"]["full"]')" "$KARTEI_URL/v1/me" | python3 -c 'import json,sys; print(json.load(sys.stdin)["principalId"])')
key() {
	bin/kartei key create --data-dir "$work/data" --org "$(value 'd["organizationId"]')" --principal "$principal" --env test --ip 127.0.0.1/32 \
		--scopes contacts:read,contacts:write,documents:read,documents:write --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["key"])'
}

# finish_KIND compiles the generated client, and runs the journey and the example of the guide.
finish_python() {
	for program in *.py; do PYTHONPATH=client "$python/bin/python" "$program"; done
}
finish_typescript() {
	cp "$house/ci/clients/tsconfig.json" .
	npx tsc
	for program in out/*.js; do node "$program"; done
}
finish_go() {
	GOFLAGS= CGO_ENABLED=0 go build -o journey .
	./journey
}
finish_java() {
	find client/src/main/java -name '*.java' >sources
	javac -nowarn -d out -cp "$java/*" @sources Journey.java
	java -cp "out:$java/*" Journey
}

try() { # try NAME
	local kind
	case $1 in
	*-java) kind=java ;;
	*-go | oapi-codegen) kind=go ;;
	*python*) kind=python ;;
	*) kind=typescript ;;
	esac
	mkdir "$work/$1"
	cp "ci/clients/$1"/* "$work/openapi.json" "$work/$1/"
	block python "$1" >"$work/$1/example.py"
	block ts "$1" >"$work/$1/example.ts"
	block java "$1" >"$work/$1/excerpt"
	block go "$1" >>"$work/$1/excerpt"
	block sh "$1" >"$work/$1/commands"
	cd "$work/$1"
	find . -maxdepth 1 -name 'example.*' -empty -delete
	grep -q . commands || { echo "docs/guide.md has no commands for $1"; return 1; }
	ln -s "$node/node_modules" .
	KARTEI_KEY=$(cd "$house" && key)
	export KARTEI_KEY KARTEI_URL
	# Each line of a program in the guide must occur in the journey.
	while IFS= read -r line; do
		grep -qF -- "$(sed 's/^[[:space:]]*//' <<<"$line")" Journey.java main.go 2>/dev/null || { echo "the guide shows a line that the journey lacks: $line"; return 1; }
	done <excerpt
	bash -euo pipefail commands
	"finish_$kind"
}

try_all "$@"

# Each journey reads and changes records with members that before.json lacks. The proxy has checked
# that these members stay.
survived=$(curl -sS "$KARTEI_URL/survived")
echo "checked for additional members: $survived"
for call in 'GET contacts' 'PATCH contacts' 'GET documents'; do
	python3 -c 'import json,sys; sys.exit(json.loads(sys.argv[1]).get(sys.argv[2], 0) < int(sys.argv[3]))' \
		"$survived" "$call" $(($# - ${#failed[@]})) || failed+=("additional members in $call")
done
if grep -q 'level=ERROR' "$work/log" || [ -s "$work/proxy.log" ]; then
	cat "$work/log" "$work/proxy.log"
	failed+=("the instance")
fi
end_tries
