#!/usr/bin/env bash
# Builds a release into dist/, or into DIST. TARGETS names parts: bin:, tar:, zip:, deb:, rpm: or oci:
# with a platform. VERSION names another version than that of the tag. SIGNING_KEY names the file of
# an SSH key, which signs the checksums.
set -euo pipefail
cd "$(dirname "$0")/.."

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0
cyclonedx=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
all="tar:linux/amd64 tar:linux/arm64 tar:darwin/amd64 tar:darwin/arm64 zip:windows/amd64
	deb:linux/amd64 deb:linux/arm64 rpm:linux/amd64 rpm:linux/arm64 oci:linux/amd64 oci:linux/arm64 sbom:linux/amd64"

# The version is that of the tag. Without a tag, it precedes the version in version.go.
version() {
	local tag next
	if tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null); then
		echo "${tag#v}"
		return
	fi
	next=$(sed -n 's/^\trelease  *= "\(.*\)"$/\1/p' cmd/kartei/server/version.go)
	echo "$next-dev.$(git rev-list --count HEAD).g$(git rev-parse --short=9 HEAD)"
}

export VERSION=${VERSION:-$(version)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export MAINTAINER=${MAINTAINER:-$(git log -1 --format="%an <%ae>")}
export TZ=UTC LC_ALL=C CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0
umask 022
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain --untracked-files=no)" ] || commit=$commit-changed
dist=$(realpath -m "${DIST:-dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# archive FOLDER: writes a tar of a folder in which nothing depends on the machine.
archive() {
	tar --create --directory "$1" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner "${@:2}" .
}

# debian_changelog writes the one entry that the policy of Debian requires. A version with a hyphen
# precedes the version before the hyphen, which a tilde means there.
debian_changelog() {
	printf 'kartei (%s-1) stable; urgency=medium\n\n  * See changelog.gz for the changes.\n\n -- %s  %s\n' \
		"${VERSION/-/\~}" "$MAINTAINER" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

# program OS/ARCH: sets STAGE to the folder with the program for a platform.
program() {
	export STAGE=$work/${1/\//-} ARCH=${1#*/}
	[ ! -e "$STAGE/kartei" ] || return 0
	mkdir -p "$STAGE"
	echo "building kartei $VERSION for $1" >&2
	GOOS=${1%/*} GOARCH=$ARCH go build -trimpath -buildvcs=false -o "$STAGE/kartei" \
		-ldflags "-s -w -buildid= -X kartei/cmd/kartei/server.release=$VERSION -X kartei/cmd/kartei/server.revision=$commit" ./cmd/kartei
	gzip -9n <CHANGELOG.md >"$STAGE/changelog.gz"
	debian_changelog | gzip -9n >"$STAGE/changelog.Debian.gz"
	touch -d "@$SOURCE_DATE_EPOCH" "$STAGE"/*
}

tarball() { # tarball OS/ARCH
	local name=kartei_${VERSION}_${1/\//_}
	mkdir -p "$work/tar/$name"
	install -m 0755 "$STAGE/kartei" "$work/tar/$name/kartei"
	install -m 0644 LICENSE CHANGELOG.md packaging/kartei.toml packaging/kartei.service packaging/kartei.socket "$work/tar/$name/"
	archive "$work/tar" | gzip -9n >"$dist/$name.tar.gz"
	rm -r "$work/tar"
}

zipped() { # zipped OS/ARCH
	local name=kartei_${VERSION}_${1/\//_}
	mkdir -p "$work/zip/$name"
	install -m 0755 "$STAGE/kartei" "$work/zip/$name/kartei.exe"
	install -m 0644 LICENSE CHANGELOG.md packaging/kartei.toml "$work/zip/$name/"
	find "$work/zip" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	rm -f "$dist/$name.zip"
	(cd "$work/zip" && find "$name" -type f | LC_ALL=C sort | zip -q -X -9 -@ "$dist/$name.zip")
	rm -r "$work/zip"
}

package() { # package deb|rpm
	go run "$nfpm" package --config packaging/nfpm.yaml --packager "$1" --target "$dist/" >&2
}

image() { # image OS/ARCH
	local root=$work/image
	mkdir -p "$root"/{data,tmp,etc/ssl/certs,usr/bin}
	install -m 0755 "$STAGE/kartei" "$root/usr/bin/kartei"
	install -m 0644 "${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
	echo 'kartei:x:10001:10001:Kartei:/data:/' >"$root/etc/passwd"
	echo 'kartei:x:10001:' >"$root/etc/group"
	chmod 0700 "$root/data"
	chmod 1777 "$root/tmp"
	archive "$root" --exclude=./data >"$work/layer.tar"
	# The folder of the data belongs to the user of the image.
	tar --append --file "$work/layer.tar" --directory "$root" --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
		--owner=10001 --group=10001 --numeric-owner ./data
	packaging/image.sh "$work/layer.tar" "$ARCH" "$VERSION" "$commit" "$work/layout"
	archive "$work/layout" >"$dist/kartei_${VERSION}_$ARCH.oci.tar"
	rm -r "$root" "$work/layout" "$work/layer.tar"
}

# The list of modules comes from the program itself.
sbom() {
	go run "$cyclonedx" bin -json -std -noserial -notimestamp -version "v$VERSION" \
		-output "$dist/kartei_$VERSION.cdx.json" "$STAGE/kartei" >&2
}

[ -n "${DIST:-}" ] || rm -rf "$dist"
mkdir -p "$dist"
for target in ${TARGETS:-$all}; do
	platform=${target#*:}
	program "$platform"
	case ${target%%:*} in
	tar) tarball "$platform" ;;
	zip) zipped "$platform" ;;
	deb | rpm) package "${target%%:*}" ;;
	oci) image ;;
	sbom) sbom ;;
	bin) install -m 0755 "$STAGE/kartei" "$dist/kartei" ;;
	*)
		echo "no target $target" >&2
		exit 2
		;;
	esac
done
rm -f "$dist"/SHA256SUMS*
(cd "$dist" && sha256sum -- * >"$work/sums" && install -m 0644 "$work/sums" SHA256SUMS)
if [ -n "${SIGNING_KEY:-}" ]; then
	ssh-keygen -q -Y sign -n kartei-release -f "$SIGNING_KEY" "$dist/SHA256SUMS"
fi
