#!/usr/bin/env bash
# Observe each loop of loop.py on a machine with a GPU, and keep recordings, verdicts and interventions in OUT.
#
#     OUT=stoker-runs/gpu bench/gpu/situations.sh SECONDS [LANES]
#
# It ends after SECONDS, whatever it has by then. The loops have the first four cores. With LANES, so many exams of
# bench/accuracy/processes.py run on two cores each of the others meanwhile, from draw FIRST (default 2) on.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
until=$((SECONDS + $1)) lanes=${2:-0} python=${PYTHON:-python/.venv/bin/python}
export PYTHONPATH=python STOKER_BIN=$PWD/bin/stoker
mkdir -p "$OUT"

main() {
	for ((lane = 0; lane < lanes; lane++)); do exam "$lane" & done
	for name in few-workers main-thread-item all-cores ready vit-fp32 pageable pinned-blocking pinned-by-loader own-copies launches reads; do
		within 40 truth --only $name --truth "$OUT/truth.jsonl" >>"$OUT/truth.log" 2>&1
	done
	for name in few-workers main-thread-item all-cores vit-fp32 pageable pinned-blocking pinned-by-loader own-copies graph gpt2 inference; do
		observe $name $name --seconds 10
	done
	for name in ready launches reads; do observe $name $name --seconds 22; done # a trace is taken after ten steady seconds
	observe lightning lightning --seconds 20
	observe accelerate accelerate --seconds 20
	before="" compare alone
	before="bin/stoker feed --" compare fed
	before="" compare stoker --stoker host
	before="" compare stoker-cuda --stoker cuda
	observe augment-in-workers augment-in-workers --seconds 10
	echo "augment-on-device: $(within 40 augment-on-device --seconds 7 2>&1 | tail -1)"
	pkill -f bench/accuracy/processes.py
}

# within runs the loop for so long at most, and not at all where too little is left.
within() {
	local most=$1
	shift
	[ $((until - SECONDS)) -gt 25 ] || return 0
	# shellcheck disable=SC2086 # before is words
	timeout "$most" ${before:-} taskset -c 0-3 "$python" bench/gpu/loop.py "$@"
}

observe() { # NAME ARGUMENTS
	local recording=$OUT/$1.jsonl.gz
	before="bin/stoker observe -o $recording --" within 60 "${@:2}" >"$OUT/$1.log" 2>&1 || echo "$1: $?"
	echo "$1: $(grep -m 1 verdict "$OUT/$1.log")"
}

compare() { # NAME FLAGS
	echo "batches, $1: $(within 60 digest --seconds 6 "${@:2}" 2>&1 | tail -1)"
}

exam() { # LANE
	local first=$((4 + 2 * $1)) names n=0 only=()
	names=$(sed -n '/^SITUATIONS/,/^}/s/^    "\([a-z-]*\)".*/\1/p' bench/accuracy/processes.py)
	for name in $names; do
		[ $((n++ % lanes)) = "$1" ] && only+=(--only "$name")
	done
	CUDA_VISIBLE_DEVICES="" timeout $((until - SECONDS)) taskset -c "$first,$((first + 1))" "$python" bench/accuracy/processes.py \
		--first "${FIRST:-2}" --draws 8 "${only[@]}" --kept "$OUT/processes-$1.jsonl" >"$OUT/exam-$1.log" 2>&1
}

main
