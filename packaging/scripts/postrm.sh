#!/bin/sh
# Ends the settings of the service after a purge. The data and their user stay.
set -e

case "$1" in
remove | purge | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
	fi
	;;
esac
if [ "$1" = purge ]; then
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge kartei.socket kartei.service >/dev/null || true
	fi
fi
case "$1" in
purge | 0)
	if [ -d /var/lib/kartei ]; then
		echo "The data of Kartei are still in /var/lib/kartei, with their user kartei. Delete both if nobody needs them."
	fi
	;;
esac
