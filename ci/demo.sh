# Functions for scripts that test a running demo:
#
#   . ci/demo.sh
#   start_demo FLAGS...      builds and starts the demo, and returns when it is ready
#   value 'd["baseUrl"]'     prints a value of the demo's first line. The argument is Python.
#   try_all NAMES...         calls the function `try` of the script with each name in a subshell,
#                            prints the outcome, and adds failed names to the array failed
#   no_errors                fails if the demo has logged an error
#   end_tries                fails if the array failed has names, and prints them
#
# $work is a temporary folder for the script. $work/line has the demo's first line, and $work/log
# its log. When the script ends, the demo and the processes in pids are ended, and the folder is
# removed. If the script fails, the end of the demo's log is printed.

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

# await FILE PID waits until the file is not empty, or until the process has ended.
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
