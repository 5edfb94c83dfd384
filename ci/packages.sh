# Functions for scripts that use third-party libraries. The libraries are installed into .cache once,
# in the versions and with the checksums in the folder of the script below ci.
#
#   . ci/packages.sh
#   install_python applications python -c 'import authlib'   $python is the folder of the environment, which is
#                                                            complete if the command succeeds in it
#   install_node applications --ignore-scripts               $node is the folder of the modules

packages_hash() { cat "$@" | sha256sum | cut -c1-16; } # packages_hash FILES...

install_python() { # install_python NAME PROGRAM ARGUMENTS...
	local name=$1 program=$2
	shift 2
	python=$PWD/.cache/$name/python-$(packages_hash "ci/$name/requirements.txt")
	if ! "$python/bin/$program" "$@" >/dev/null 2>&1; then # missing, or broken because the clone was moved
		echo "installing the Python packages of ci/$name"
		rm -rf "$python"
		python3 -m venv "$python"
		"$python/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes -r "ci/$name/requirements.txt"
	fi
}

install_node() { # install_node NAME FLAGS...
	local name=$1
	shift
	node=$PWD/.cache/$name/node-$(packages_hash "ci/$name/package-lock.json")
	if [ ! -e "$node/ready" ]; then
		echo "installing the Node packages of ci/$name"
		rm -rf "$node"
		mkdir -p "$node"
		cp "ci/$name/package.json" "ci/$name/package-lock.json" "$node/"
		(cd "$node" && npm ci --silent --no-audit --no-fund "$@")
		touch "$node/ready"
	fi
}
