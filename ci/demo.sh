# Sourced by the scripts that try something on a running demo:
#
#   . ci/demo.sh
#   start_demo FLAGS...      builds it, starts it, and returns when it is ready
#   value 'd["baseUrl"]'     a value of the line that it printed, in Python
#   try_all NAMES...         calls the script's function `try` with each name, in a subshell,
#                            says how it ended, and adds those that failed to the array failed
#   no_errors                fails if it has logged an error
#   end_tries                fails if something failed, and names it
#
# $work is a folder for what the script needs, $work/line what the demo printed
# and $work/log its log. When the script ends, so do the demo and everything whose
# process id is in pids, and the folder goes. If the script failed, the end of
# the demo's log is shown.

work=$(mktemp -d)
pids=()

cleanup() {
	local status=$? pid
	for pid in "${pids[@]}"; do
		kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
	done
	if [ "$status" -ne 0 ] && [ -s "$work/log" ]; then
		echo "the end of the demo's log:"
		tail -n 40 "$work/log"
	fi
	rm -rf "$work"
}
trap cleanup EXIT

# await FILE PID: until something is in the file, for as long as the process lives.
await() {
	local _
	for _ in $(seq 2400); do
		[ ! -s "$1" ] || return 0
		kill -0 "$2" 2>/dev/null || break
		read -rt 0.1 <> <(:) || true
	done
	echo "nothing came into $1"
	return 1
}

start_demo() {
	make -s build
	bin/kartei demo --json "$@" >"$work/line" 2>"$work/log" &
	pids+=($!)
	await "$work/line" $!
}

value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2], {"d": d}))' "$work/line" "$1"; }

failed=()
try_all() {
	local name begun status
	for name in "$@"; do
		begun=$SECONDS
		set +e
		(set -e; try "$name") >"$work/$name.log" 2>&1
		status=$?
		set -e
		if [ $status -eq 0 ]; then
			echo "ok $name ($((SECONDS - begun)) s)"
		else
			echo "FAIL $name ($((SECONDS - begun)) s); the end of its log:"
			tail -n 60 "$work/$name.log" | sed 's/^/    /'
			failed+=("$name")
		fi
	done
}

end_tries() {
	[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
}

no_errors() {
	if grep 'level=ERROR' "$work/log"; then
		echo "the instance logged errors"
		return 1
	fi
}

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
