#!/usr/bin/env bash
# Builds the package for Debian twice and compares the bytes. Then installs it in a fresh Debian, starts the server
# there as its user, upgrades it from an earlier version and purges it. Needs root, for the chroot.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || exec sudo -n "$0" "$@"
ci/setup.sh debootstrap lintian systemd-analyze

arch=$(dpkg --print-architecture)
release=bookworm
work=$(mktemp -d)
root=$work/root
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	! mountpoint -q "$root/proc" || umount --lazy "$root/proc"
	rm -rf "$work"
}
trap finish EXIT

build() { # build VERSION FOLDER: sets deb
	VERSION=$1 DIST=$work/$2 TARGETS="deb:linux/$arch" packaging/build.sh 2>"$work/log" || { cat "$work/log"; exit 1; }
	deb=("$work/$2"/*.deb)
}

inside=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C)
as_user=("${inside[@]}" setpriv --reuid kartei --regid kartei --clear-groups)

# start: starts the server as its user with the packaged file, and waits until it is ready.
start() {
	"${as_user[@]}" kartei serve --listen 127.0.0.1:0 --operator-listen "127.0.0.1:$port" >"$work/serve" 2>&1 &
	server=$!
	local waited
	for ((waited = 0; waited < 300; waited++)); do
		! curl -fsS --noproxy '*' -o "$work/ready" "http://127.0.0.1:$port/readyz" 2>/dev/null || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$work/serve"
	exit 1
}
stop() {
	kill -TERM "$server"
	wait "$server"
	server=
}

echo "building the package twice"
build 0.0.2 second
after=${deb[0]}
build 0.0.2 again
cmp "$after" "${deb[0]}"
build 0.0.1 first
before=${deb[0]}
(cd "$work/second" && sha256sum --check --quiet SHA256SUMS)

echo "checking it with lintian and systemd-analyze"
# The address of the author of a commit may have a host that does not exist.
lintian --suppress-tags bogus-mail-host --fail-on error --tag-display-limit 0 --allow-root "$after"

base=$PWD/.cache/debian-$release-$arch.tar
if [ ! -e "$base" ]; then
	echo "making a Debian $release (some minutes, once)"
	debootstrap --variant=minbase --include=ca-certificates,adduser "$release" "$root" >"$work/log" || { tail -n 20 "$work/log"; exit 1; }
	mkdir -p .cache
	tar --create --file "$base.new" --directory "$root" --exclude='./var/cache/apt/archives/*.deb' .
	mv "$base.new" "$base"
	rm -rf "$root"
fi
mkdir -p "$root"
tar --extract --file "$base" --directory "$root"
mount -t proc proc "$root/proc"
cp "$before" "$root/before.deb"
cp "$after" "$root/after.deb"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

echo "installing"
"${inside[@]}" dpkg --install /before.deb
[ "$("${inside[@]}" stat -c '%U %G %a' /var/lib/kartei)" = "kartei kartei 700" ]
[ "$("${inside[@]}" stat -c '%U %G %a' /etc/kartei/kartei.toml)" = "root kartei 640" ]
"${inside[@]}" kartei version | grep "^kartei 0.0.1 (commit $(git rev-parse HEAD)" >/dev/null
"${inside[@]}" kartei config | grep -E '^data-dir +/var/lib/kartei +/etc/kartei/kartei.toml$' >/dev/null
# The chroot has no other units, and this machine does not have the program.
sed 's|^ExecStart=/usr/bin/kartei|ExecStart=/bin/true|' packaging/kartei.service >"$work/kartei.service"
cp packaging/kartei.socket "$work/"
systemd-analyze verify --man=no "$work/kartei.service" "$work/kartei.socket"
systemd-analyze security --offline=true --root "$root" --threshold=20 kartei.service >"$work/log" || { cat "$work/log"; exit 1; }
tail -n 1 "$work/log"
start
"${as_user[@]}" kartei org create 'Kanzlei Beispiel' --country DE --json >"$work/org"
stop

echo "upgrading"
echo '# changed by the operator' >>"$root/etc/kartei/kartei.toml"
"${inside[@]}" dpkg --install /after.deb
"${inside[@]}" kartei version | grep '^kartei 0.0.2 ' >/dev/null
tail -n 1 "$root/etc/kartei/kartei.toml" | grep -q 'changed by the operator'
start
"${as_user[@]}" kartei org list --json | grep 'Kanzlei Beispiel' >/dev/null
stop

echo "purging"
"${inside[@]}" dpkg --purge kartei >"$work/log" 2>&1
cat "$work/log"
grep -q 'still in /var/lib/kartei' "$work/log"
[ -s "$root/var/lib/kartei/kartei.db" ]
[ "$("${inside[@]}" stat -c '%U %a' /var/lib/kartei/master.key)" = "kartei 600" ]
[ ! -e "$root/etc/kartei/kartei.toml" ] && [ ! -e "$root/usr/bin/kartei" ]
echo "the package is installed, upgraded and purged; its data are still there"
