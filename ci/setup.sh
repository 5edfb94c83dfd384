#!/usr/bin/env bash
# Installs programs that the tests need and this machine lacks: ci/setup.sh postgresql chromium
#
# It uses apt-get as root or with sudo without a password. Otherwise it prints what is missing
# and which tests are left out, or fails if CI=true.
set -euo pipefail

has() {
	case $1 in
	postgresql) command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
	pgbouncer) command -v pgbouncer || [ -x /usr/sbin/pgbouncer ] ;;
	clamd) command -v clamd || [ -x /usr/sbin/clamd ] ;;
	nginx) command -v nginx || [ -x /usr/sbin/nginx ] ;;
	chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
	venv) python3 -c 'import venv, ensurepip' ;;
	versitygw) command -v versitygw || [ -e "$versitygw" ] ;;
	standardwebhooks) [ -e "$standardwebhooks/ready" ] ;;
	axe) [ -e "$axe/ready" ] ;;
	postgresql-versions) [ -e "$versions/ready" ] ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

package() {
	case $1 in
	venv) echo python3-venv ;;
	javac) echo default-jdk-headless ;;
	mvn) echo maven ;;
	promtool) echo prometheus ;;
	nginx) echo nginx-light ;;
	systemd-analyze) echo systemd ;;
	clamd) echo clamav-daemon ;; # freshclam need not run, because the tests have their own signature
	*) echo "$1" ;;
	esac
}

loss() {
	case $1 in
	postgresql) echo "the tests run on SQLite only" ;;
	pgbouncer) echo "nothing is tried through a pooler" ;;
	clamd) echo "nothing is scanned for malware" ;;
	nginx) echo "no pages are tried through a proxy" ;;
	versitygw) echo "files are stored in folders only, not in a bucket" ;;
	standardwebhooks) echo "no other language than Go verifies deliveries" ;;
	debootstrap | lintian | systemd-analyze) echo "the package for Debian is not tried" ;;
	chromium) echo "the pages are not looked at in a browser" ;;
	axe) echo "the pages are not checked for accessibility" ;;
	postgresql-versions) echo "no other version of PostgreSQL than the installed one is tried" ;;
	*) echo "what needs it is left out" ;;
	esac
}

# These tools have no package in distributions and are put into .cache once. They are an S3
# server, the official libraries for verifying webhooks in Python and JavaScript, axe-core, and
# further versions of PostgreSQL.
house=$(cd "$(dirname "$0")/.." && pwd)
versitygw=$house/.cache/tools/versitygw
standardwebhooks=$house/.cache/standardwebhooks-1.1
axe=$house/.cache/axe-4.14.1
versions=$house/.cache/postgresql-16.14-17.10-18.4
build() {
	case $1 in
	versitygw)
		echo "installing $1 (some minutes, once)" >&2
		GOBIN=$house/.cache/tools GOFLAGS= go install "github.com/versity/versitygw/cmd/versitygw@v1.8.0" >&2
		;;
	standardwebhooks)
		has npm && has venv || return
		echo "installing $1" >&2
		rm -rf "$standardwebhooks"
		mkdir -p "$standardwebhooks"
		cp "$house"/ci/standardwebhooks/package*.json "$standardwebhooks/"
		npm ci --prefix "$standardwebhooks" --no-audit --no-fund --ignore-scripts --loglevel=error >&2 &&
			python3 -m venv "$standardwebhooks/python" &&
			"$standardwebhooks/python/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$house/ci/standardwebhooks/requirements.txt" >&2 &&
			touch "$standardwebhooks/ready"
		;;
	axe)
		has npm || return
		echo "installing $1" >&2
		rm -rf "$axe"
		mkdir -p "$axe"
		cp "$house"/ci/axe/package*.json "$axe/"
		npm ci --prefix "$axe" --no-audit --no-fund --ignore-scripts --loglevel=error >&2 && touch "$axe/ready"
		;;
	postgresql-versions)
		[ "$(uname -sm)" = "Linux x86_64" ] && has npm || return
		echo "installing $1" >&2
		rm -rf "$versions"
		mkdir -p "$versions"
		cp "$house"/ci/postgresql/package*.json "$versions/"
		# This script of the package creates the symbolic links to its libraries.
		npm ci --prefix "$versions" --no-audit --no-fund --ignore-scripts --loglevel=error >&2 &&
			for package in "$versions"/node_modules/postgresql-*; do
				(cd "$package" && node scripts/hydrate-symlinks.js) || return
			done &&
			touch "$versions/ready"
		;;
	*) return 1 ;;
	esac
}

missing=() packages=()
for what in "$@"; do
	if ! has "$what"; then
		if build "$what"; then
			continue
		fi
		missing+=("$what")
		case $what in versitygw | standardwebhooks | axe | postgresql-versions) ;; *) packages+=("$(package "$what")") ;; esac
	fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
[ "$(id -u)" -eq 0 ] || root=(sudo -n)
if [ ${#packages[@]} -gt 0 ] && command -v apt-get >/dev/null && { [ ${#root[@]} -eq 0 ] || sudo -n true 2>/dev/null; }; then
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
	if ! has "$what" && ! build "$what"; then # a build may have needed one of the packages
		echo "missing: $(package "$what"): $(loss "$what") (on Debian: apt-get install $(package "$what"))" >&2
		[ "${CI:-}" != true ] || status=1
	fi
done
exit $status
