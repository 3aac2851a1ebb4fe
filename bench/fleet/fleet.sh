#!/bin/bash
# 500 emulated agents and ten true processes of stoker agent, scraped by one real Prometheus.
#     make build emulate && bench/fleet/fleet.sh [NODES] [SECONDS]
# Emulated are the nodes' GPUs (numbers) and that 500 agents share a process; their handler, the
# scrapes and Prometheus are the real ones. The ten true processes have the stand-in for NVML.
set -euo pipefail
nodes=${1:-500} seconds=${2:-300} each=15
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT
cd "$work"
(cd "$root" && go build -o "$work/fleet" ./bench/fleet)

export STOKER_EMULATE=1 STOKER_EMULATED_PAGE=$work/page
mkdir figures
PYTHONPATH=$root/python python3 -c '
import os, time
from stoker.emulated import Device
all = [Device(index=i, chip="h100-sxm") for i in range(8)]
end, labels = 0, "{rank=\"0\",gpu=\"0\",UUID=\"GPU-emulated-0\"}"
while True:
    for d in all: d.launch(0.02)
    if time.time() > end + 10: # as stoker observe --prometheus of a job on GPU 0 writes it
        end = time.time()
        with open("figures/.job", "w") as file:
            for name, value in ("stall_ratio", 0.4), ("step_seconds", 0.25), ("run_end_timestamp_seconds", end):
                file.write(f"# TYPE stoker_{name} gauge\nstoker_{name}{labels} {value}\n")
        os.rename("figures/.job", "figures/job.prom")
    time.sleep(0.1)' & pids+=($!)
ports=()
for n in $(seq 10); do
    port=$((29800 + n)); ports+=("$port")
    "$root/bin/stoker" agent --listen "127.0.0.1:$port" --figures figures 2>agent.log & pids+=($!)
done
true_pids=("${pids[@]:1}")
./fleet -nodes "$nodes" -list targets.json & fleet=$!; pids+=($fleet)
until [ -s targets.json ]; do sleep 0.2; done

cat >prometheus.yml <<Y
global: {scrape_interval: ${each}s, evaluation_interval: ${each}s}
rule_files: [$root/examples/fleet/rules.yml]
scrape_configs:
  - job_name: emulated
    file_sd_configs: [{files: [$work/targets.json]}]
  - job_name: true
    static_configs: [{targets: [$(printf "'127.0.0.1:%s'," "${ports[@]}" | sed 's/,$//')]}]
  - job_name: prometheus
    static_configs: [{targets: ['127.0.0.1:29790']}]
Y
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:29790 --log.level=warn & pids+=($!)

ask() { curl -s --data-urlencode "query=$1" http://127.0.0.1:29790/api/v1/query | python3 -c 'import json,sys; r=json.load(sys.stdin)["data"]["result"]; print(r[0]["value"][1] if r else "nothing")'; }
cpu() { awk -v hz="$(getconf CLK_TCK)" '{print ($14+$15)/hz}' "/proc/$1/stat"; }
sum() { for p in "${true_pids[@]}"; do cpu "$p"; done | awk '{s+=$1} END{print s}'; }
sleep 60
before=$(cpu $fleet) before_true=$(sum) prometheus_before=$(cpu "${pids[-1]}") began=$(date +%s)
sleep "$seconds"
took=$(($(date +%s) - began))
say() { printf '%-58s %s\n' "$1" "$2"; }
say "machine, date, load" "$(nproc) cores, $(date -u +%F), $(cut -d' ' -f1-3 /proc/loadavg)"
say "emulated agents, GPUs" "$nodes, $((8 * nodes)); ${took} s, a scrape every $each s"
say "agents up" "$(ask 'count(up{job=~"emulated|true"} == 1)')"
say "series of a scrape (8 GPUs)" "$(ask 'max(scrape_samples_scraped{job="emulated"})')"
say "bytes of a scrape" "$(curl -s "http://$(python3 -c 'import json; print(json.load(open("targets.json"))[0]["targets"][0])')/metrics" | wc -c)"
say "seconds of a scrape: mean, largest" "$(ask 'avg(scrape_duration_seconds{job="emulated"})') $(ask 'max(scrape_duration_seconds{job="emulated"})')"
say "core seconds per emulated agent and second" "$(awk "BEGIN{print ($(cpu $fleet)-$before)/$took/$nodes}")"
say "core seconds per true agent and second" "$(awk "BEGIN{print ($(sum)-$before_true)/$took/10}")"
say "memory of a true agent, bytes: mean of ten" "$(ask 'avg(process_resident_memory_bytes{job="true"})')"
say "memory of the process with all emulated agents, bytes" "$(($(awk '/VmRSS/{print $2}' /proc/$fleet/status) * 1024))"
say "Prometheus: series in its head" "$(ask 'prometheus_tsdb_head_series')"
say "Prometheus: samples per second" "$(ask 'rate(prometheus_tsdb_head_samples_appended_total[3m])')"
say "Prometheus: memory, bytes" "$(ask 'process_resident_memory_bytes{job="prometheus"}')"
say "Prometheus: core seconds per second" "$(awk "BEGIN{print ($(cpu "${pids[-1]}")-$prometheus_before)/$took}")"
say "Prometheus: seconds of a round of all rules" "$(ask 'sum(prometheus_rule_group_last_duration_seconds)')"
python3 "$root/bench/fleet/dashboard.py" "$root/examples/fleet/dashboard.json" http://127.0.0.1:29790
