#!/bin/sh
# Stops the service before the package is removed. An upgrade restarts it at its end instead.
set -e

case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		if command -v deb-systemd-invoke >/dev/null; then
			deb-systemd-invoke stop kartei.socket kartei.service >/dev/null || true
		else
			systemctl --no-reload disable --now kartei.socket kartei.service >/dev/null || true
		fi
	fi
	;;
esac
