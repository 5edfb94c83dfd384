#!/usr/bin/env bash
# Writes an image in the layout of OCI: image.sh LAYER.tar ARCH VERSION COMMIT FOLDER
set -euo pipefail
layer=$1 arch=$2 version=$3 commit=$4 layout=$5
blobs=$layout/blobs/sha256
mkdir -p "$blobs"

# add FILE: moves a file to the blobs, and sets digest and size.
add() {
	digest=$(sha256sum <"$1" | cut -d' ' -f1)
	size=$(wc -c <"$1")
	mv "$1" "$blobs/$digest"
}

created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
content=$(sha256sum <"$layer" | cut -d' ' -f1)
gzip -9n <"$layer" >"$layout/new"
add "$layout/new"
layers='[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:'$digest'","size":'$size'}]'

cat >"$layout/new" <<END
{"created":"$created","architecture":"$arch","os":"linux","config":{"User":"10001:10001","Env":["KARTEI_DATA_DIR=/data","KARTEI_LISTEN=0.0.0.0:8080"],"ExposedPorts":{"8080/tcp":{}},"Volumes":{"/data":{}},"WorkingDir":"/data","Entrypoint":["/usr/bin/kartei"],"Cmd":["serve"],"Labels":{"org.opencontainers.image.title":"Kartei","org.opencontainers.image.version":"$version","org.opencontainers.image.revision":"$commit","org.opencontainers.image.licenses":"Apache-2.0"}},"rootfs":{"type":"layers","diff_ids":["sha256:$content"]},"history":[{"created":"$created","created_by":"packaging/image.sh"}]}
END
add "$layout/new"
config='{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:'$digest'","size":'$size'}'

printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":%s}\n' "$config" "$layers" >"$layout/new"
add "$layout/new"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s,"platform":{"architecture":"%s","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}\n' \
	"$digest" "$size" "$arch" "$version" >"$layout/index.json"
printf '{"imageLayoutVersion":"1.0.0"}\n' >"$layout/oci-layout"
