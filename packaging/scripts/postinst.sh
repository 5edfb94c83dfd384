#!/bin/sh
# Makes the user and the folders, and restarts a running service after an upgrade. Debian calls it
# with configure and the version before; rpm calls it with the number of installed versions.
set -e

case "$1" in
configure)
	upgrade=$2
	if ! getent passwd kartei >/dev/null; then
		adduser --quiet --system --group --home /var/lib/kartei --no-create-home --gecos Kartei kartei
	fi
	;;
[0-9]*)
	[ "$1" -lt 2 ] || upgrade=yes
	getent group kartei >/dev/null || groupadd --system kartei
	getent passwd kartei >/dev/null ||
		useradd --system --gid kartei --home-dir /var/lib/kartei --no-create-home --shell /usr/sbin/nologin --comment Kartei kartei
	;;
*) exit 0 ;;
esac

if [ ! -d /var/lib/kartei ]; then
	install -d -m 0700 -o kartei -g kartei /var/lib/kartei
fi
# The file may contain passwords.
chown root:kartei /etc/kartei/kartei.toml
chmod 0640 /etc/kartei/kartei.toml

if [ -n "$upgrade" ] && [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
	if command -v deb-systemd-invoke >/dev/null; then
		deb-systemd-invoke try-restart kartei.service >/dev/null || true
	else
		systemctl try-restart kartei.service >/dev/null || true
	fi
elif [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
if [ -z "$upgrade" ]; then
	echo "Kartei is installed. Look at /etc/kartei/kartei.toml, then start it: systemctl enable --now kartei"
fi
