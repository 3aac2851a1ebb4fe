#!/usr/bin/env bash
# Observe each loop of loop.py on a machine with a GPU, and keep recordings, verdicts and interventions in OUT.
#
#     OUT=stoker-runs/gpu bench/gpu/situations.sh SECONDS LANES PART...
#
# Parts are truth, verdicts, unhooked, frameworks, gains, repeated, feeds, crowding, fed and cost. It ends after SECONDS, whatever it has by then.
# LOOPS names the loops of verdicts, which are all otherwise.
# The loops have the first four cores. On two cores each of the others, LANES of bench/accuracy/processes.py
# run meanwhile: draws from FIRST (default 2) on, of what KEPT does not hold yet. The last lane makes interventions.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
until=$((SECONDS + $1)) lanes=$2 python=${PYTHON:-python/.venv/bin/python}
shift 2
export PYTHONPATH=python STOKER_BIN=$PWD/bin/stoker
mkdir -p "$OUT"

main() {
	for ((lane = 0; lane < lanes; lane++)); do exam "$lane" & done
	for part in "$@"; do
		echo "== $part, $((until - SECONDS)) s left"
		"$part"
	done
	pkill -f bench/accuracy/processes.py
	wait
}

truth() {
	for name in few-workers main-thread-item all-cores ready vit-fp32 pageable pinned-blocking pinned-by-loader own-copies launches reads; do
		within 40 truth --only $name --truth "$OUT/truth.jsonl" >>"$OUT/truth.log" 2>&1
	done
}

verdicts() {
	for name in ${LOOPS:-few-workers main-thread-item all-cores vit-fp32 pageable pinned-blocking pinned-by-loader own-copies graph gpt2 inference}; do
		observe "$name" "$name" --seconds 10
	done
	[ -z "${LOOPS:-}" ] || return 0
	for name in ready launches reads; do observe $name $name --seconds 22; done # a trace is taken after ten steady seconds
}

unhooked() {
	for name in few-workers main-thread-item pinned-blocking pageable vit-fp32 launches; do
		flags=--no-hook observe $name-unhooked $name --seconds 10
	done
}

frameworks() {
	for name in lightning transformers accelerate; do observe $name $name --seconds 16; done
}

# gains runs loops as their advice changes them, beside the recordings of verdicts.
gains() {
	observe few-workers-4 few-workers-4 --seconds 10
	observe main-thread-item-4 main-thread-item-4 --seconds 10
	before="bin/stoker feed --" alone all-cores --seconds 10
	for pair in "few-workers few-workers-4" "main-thread-item main-thread-item-4" "pageable pinned-by-loader"; do
		echo "verify $pair: $(bin/stoker verify "$OUT/${pair% *}.jsonl.gz" "$OUT/${pair#* }.jsonl.gz" 2>&1 | head -3 | tr '\n' ' ')"
	done
	observe shared gpt2 --seconds 12 beside vit-fp32
}

# repeated has the gains of workers several times over, before and after in turn.
repeated() {
	for round in 1 2 3; do
		for name in few-workers main-thread-item; do
			observe $name-$round $name --seconds 10
			observe $name-4-$round $name-4 --seconds 10
			echo "verify $name $round: $(bin/stoker verify "$OUT/$name-$round.jsonl.gz" "$OUT/$name-4-$round.jsonl.gz" 2>&1 | head -3 | tr '\n' ' ')"
		done
	done
}

# feeds has what a recording promises for the loader, and the same loop under it.
feeds() {
	for name in few-workers main-thread-item all-cores; do
		observe $name-unfed $name --seconds 10
		before="bin/stoker feed --" alone $name --seconds 10
		echo "$name: $(bin/stoker advise "$OUT/$name-unfed.jsonl.gz" 2>&1 | grep -m 1 -i -A 2 "stoker.DataLoader\|stoker feed" | tr '\n' ' ')"
	done
}

# crowding has what a core loses to its neighbours; it wants the machine for itself.
crowding() {
	for cores in 0-1 0,2 0-3 0-7 0-15; do
		echo "cores $cores: $(taskset -c $cores "$python" bench/crowding.py --rounds 3 --seconds 1 | tail -1)"
	done
}

fed() {
	before="" compare alone
	before="bin/stoker feed --" compare fed
	before="" compare stoker --stoker host
	before="" compare stoker-cuda --stoker cuda
	observe augment-in-workers augment-in-workers --seconds 10
	alone augment-on-device --seconds 7
}

# cost takes milliseconds of a step, alone and observed in turn.
cost() {
	for name in launches reads gpt2 few-workers; do
		within 90 cost --only $name --turns 30 --seconds 0.8
	done
}

# within runs the loop for so long at most, and not at all where too little is left.
within() {
	local most=$1
	shift
	[ $((until - SECONDS)) -gt 25 ] || return 0
	# shellcheck disable=SC2086 # before is words
	timeout "$most" ${before:-} taskset -c 0-3 "$python" bench/gpu/loop.py "$@"
}

alone() { # NAME ARGUMENTS
	echo "${before:+under $(set -- $before; echo "$1 $2" | cut -d/ -f2), }$1: $(within 40 "$@" 2>/dev/null | grep "ms a step")"
}

observe() { # NAME ARGUMENTS [beside NAME]
	local recording=$OUT/$1.jsonl.gz name=$1 beside="" arguments=("${@:2}")
	if [ "${arguments[-2]}" = beside ]; then
		before="" within 40 "${arguments[-1]}" --seconds 25 >"$OUT/beside.log" 2>&1 &
		beside=$! arguments=("${arguments[@]:0:${#arguments[@]}-2}")
		sleep 8
	fi
	before="bin/stoker observe ${flags:-} -o $recording --" within 60 "${arguments[@]}" >"$OUT/$name.log" 2>&1 || echo "$name: $?"
	[ -z "$beside" ] || wait "$beside"
	echo "$name: $(grep -m 1 verdict "$OUT/$name.log"; grep -m 1 "a step" "$OUT/$name.log")"
}

compare() { # NAME FLAGS
	echo "batches, $1: $(within 60 digest --seconds 6 "${@:2}" 2>/dev/null | grep digests)"
}

exam() { # LANE
	local first=$((4 + 2 * $1)) names n=0 only=() more="--draws 10"
	names=$(sed -n '/^SITUATIONS/,/^}/s/^    "\([a-z-]*\)".*/\1/p' bench/accuracy/processes.py)
	for name in $names; do
		[ $((n++ % (lanes - 1))) = "$1" ] && only+=(--only "$name")
	done
	[ "$1" != $((lanes - 1)) ] || more="--draws 0 --relieve --seconds 5"
	[ ! -f "${KEPT:-}" ] || cp "$KEPT" "$OUT/processes-$1.jsonl"
	# shellcheck disable=SC2086 # more is words
	CUDA_VISIBLE_DEVICES="" timeout $((until - SECONDS)) taskset -c "$first,$((first + 1))" "$python" bench/accuracy/processes.py \
		--first "${FIRST:-2}" $more --host quiet "${only[@]}" --kept "$OUT/processes-$1.jsonl" >"$OUT/exam-$1.log" 2>&1
}

main "$@"
