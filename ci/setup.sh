#!/usr/bin/env bash
# Installs what the tests need and this machine lacks: ci/setup.sh postgresql chromium
# As root (or with sudo that asks nothing) it uses apt-get. Otherwise it names
# what is missing and which tests that leaves out; with CI=true that fails.
set -euo pipefail

has() {
	case $1 in
	postgresql) command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
	pgbouncer) command -v pgbouncer || [ -x /usr/sbin/pgbouncer ] ;;
	clamd) command -v clamd || [ -x /usr/sbin/clamd ] ;;
	chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
	venv) python3 -c 'import venv, ensurepip' ;;
	versitygw) command -v versitygw || [ -e "$versitygw" ] ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

package() {
	case $1 in
	venv) echo python3-venv ;;
	clamd) echo clamav-daemon ;; # without freshclam's download: the tests bring the one signature that they need
	*) echo "$1" ;;
	esac
}

loss() {
	case $1 in
	postgresql) echo "the tests run on SQLite only" ;;
	pgbouncer) echo "nothing is tried through a pooler" ;;
	clamd) echo "nothing is scanned for malware" ;;
	versitygw) echo "files are stored in folders only, not in a bucket" ;;
	chromium) echo "the pages are not looked at in a browser" ;;
	*) echo "what needs it is left out" ;;
	esac
}

# An S3 server, which no distribution packs: built into .cache once.
versitygw=$(dirname "$0")/../.cache/tools/versitygw
build() {
	echo "installing $1 (some minutes, once)" >&2
	GOBIN=$(cd "$(dirname "$0")/.." && pwd)/.cache/tools GOFLAGS= go install "github.com/versity/versitygw/cmd/versitygw@v1.8.0" >&2
}

missing=() packages=()
for what in "$@"; do
	if ! has "$what"; then
		if [ "$what" = versitygw ] && build "$what"; then
			continue
		fi
		missing+=("$what")
		packages+=("$(package "$what")")
	fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
[ "$(id -u)" -eq 0 ] || root=(sudo -n)
if command -v apt-get >/dev/null && { [ ${#root[@]} -eq 0 ] || sudo -n true 2>/dev/null; }; then
	echo "installing ${packages[*]}" >&2
	log=$(mktemp)
	if ! { "${root[@]}" apt-get update -q && "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
	fi
	rm -f "$log"
fi

status=0
for what in "${missing[@]}"; do
	if ! has "$what"; then
		echo "missing: $(package "$what"): $(loss "$what") (on Debian: apt-get install $(package "$what"))" >&2
		[ "${CI:-}" != true ] || status=1
	fi
done
exit $status
