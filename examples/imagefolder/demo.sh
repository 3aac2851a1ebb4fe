#!/usr/bin/env bash
# The whole loop on one training script: observe it unchanged, read the advice, run
# it again with the advised settings, hold the promise against what came; then
# change the one line that names the loader, and observe again. Called by
# `make demo`, which builds and installs what it needs.
#
# Without a GPU the device is emulated and says so; loading is real. SECONDS_EACH
# is how long each of the three runs trains (default 40: a final verdict wants 30
# steady seconds), or longer on a busy machine: verify wants 20 steady steps.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly python=python/.venv/bin/python stoker=bin/stoker
readonly data=data/imagefolder
readonly before=stoker-runs/demo-before.jsonl.gz after=stoker-runs/demo-after.jsonl.gz
readonly each="${SECONDS_EACH:-40}"
readonly fed=stoker-runs/demo-fed.jsonl.gz fed_script=stoker-runs/train_fed.py
readonly script=examples/imagefolder/train.py
readonly arguments=(--data "$data" --batch 32 --seconds "$each" --least-steps 40 --print-every 50)
export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}" STOKER_BIN="$PWD/$stoker"

main() {
	trap 'echo; echo "demo: stopped"; exit 130' INT TERM
	check
	rm -f "$before" "$after" "$fed"

	heading "1/7  sample images (made once)"
	"$python" examples/imagefolder/make_images.py --data "$data"
	cat "$data"/*/*.jpg >/dev/null # all runs find them in the page cache, so that only settings differ

	heading "2/7  observe: the script as it is, num_workers=0"
	observe "$before" "$script" --workers 0

	heading "3/7  advise: what would help, and by how much"
	"$stoker" advise "$before"
	local flags
	if flags="$(advised_flags)"; then
		heading "4/7  observe: the same script with the first advised settings:$flags"
		# shellcheck disable=SC2086 # flags are words
		observe "$after" "$script" $flags

		heading "5/7  verify: promised beside achieved"
		compare "$before" "$after"
	fi

	heading "6/7  feed: the first script with one line changed"
	mkdir -p "$(dirname "$fed_script")"
	sed 's/^from torch.utils.data import DataLoader$/from stoker import DataLoader/' "$script" >"$fed_script"
	diff "$script" "$fed_script" || [ $? = 1 ]
	observe "$fed" "$fed_script" --workers 0

	heading "7/7  verify: before beside fed"
	compare "$before" "$fed"
	[ -z "${undecided:-}" ] || fail "a run was too short to be compared: is the machine busy?" "SECONDS_EACH=$((each * 3)) make demo"
}

# compare goes on where verify has no answer: on a busy machine a run may have too few steps for one.
compare() {
	"$stoker" verify "$1" "$2" || undecided=1
}

# check sees to it that what make builds is there, and settles whether the device
# is emulated: train.py trains on CUDA where there is one.
check() {
	local file
	for file in "$stoker" "$python"; do
		[ -x "$file" ] || fail "$file is missing" "make demo builds and installs it"
	done
	if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then return; fi
	[ -e bin/libnvidia-ml.so.1 ] || fail "bin/libnvidia-ml.so.1, the stand-in for a GPU, is missing" "make emulate"
	export STOKER_EMULATE=1
}

observe() {
	local recording="$1" command=("$python" "$2" "${arguments[@]}" "${@:3}")
	echo "\$ ${STOKER_EMULATE:+STOKER_EMULATE=1 }stoker observe -o $recording -- ${command[*]}"
	"$stoker" observe -o "$recording" -- "${command[@]}"
}

# advised_flags turns the changes of the first fix that is a setting of the script
# into flags of train.py; the fix that names the loader comes in 6/7. It fails, in a
# sentence, where there is none.
advised_flags() {
	local advice
	advice="$("$stoker" advise --json "$before")"
	"$python" -c '
import json, sys

FLAGS = {"num_workers": "--workers", "prefetch_factor": "--prefetch-factor", "batch_size": "--batch"}
SWITCHES = {"persistent_workers": "--persistent-workers", "pin_memory": "--pin-memory", "non_blocking": "--non-blocking"}

for fix in json.load(sys.stdin)["plan"]:
    changes = {change["setting"]: change["to"] for change in fix["changes"]}
    if fix["effort"] not in ("flag", "code") or not changes.keys() <= FLAGS.keys() | SWITCHES.keys():
        continue
    words = [word for name, value in changes.items() if name in FLAGS for word in (FLAGS[name], str(value))]
    words += [SWITCHES[name] for name, value in changes.items() if name in SWITCHES and value]
    if words:
        print("", *words)
        sys.exit()
sys.exit("demo: no advised change is a setting of the script: on to the loader")
' <<<"$advice"
}

heading() { printf '\n\033[1m=== %s\033[0m\n\n' "$1"; }

fail() {
	echo "demo: error: $1" >&2
	echo "demo: hint: $2" >&2
	exit 1
}

[ -t 1 ] || heading() { printf '\n=== %s\n\n' "$1"; } # no colours in a file
main "$@"
