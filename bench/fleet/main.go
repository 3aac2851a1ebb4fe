//go:build linux

// Command fleet is a fleet of emulated nodes for a real Prometheus: as many agents as
// wanted in one process, each with eight GPUs, its own port and the handler of
// stoker agent. Their GPUs are numbers, no driver: no NVML is asked. What a true process
// costs is measured too (fleet.sh).
//
// It writes the list of addresses for Prometheus' file_sd and serves until it is ended.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/stoker-dev/stoker/agent"
	"github.com/stoker-dev/stoker/internal/closed"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/gpu"
)

const gpus = 8

// numbers are the GPUs of a node.
type numbers struct {
	node int
	dice *rand.Rand
}

func (n numbers) Facts() gpu.Facts {
	f := gpu.Facts{Source: "emulated"}
	for i := range gpus {
		f.Devices = append(f.Devices, gpu.Device{
			Index: i, Name: "NVIDIA H100 80GB HBM3 (emulated)",
			UUID: fmt.Sprintf("GPU-emulated-%04d-4000-8000-%012d", n.node, i), Emulated: true,
		})
	}
	return f
}

// Read gives a busy share that wanders, as real ones do: samples that never change would
// pack too well.
func (n numbers) Read(now time.Time) (all []gpu.Reading) {
	for i := range gpus {
		r := gpu.Reading{
			Index: i, Active: n.dice.Float64(), Kernels: n.dice.Float64(), SlowedKnown: true,
			Processes: []uint32{uint32(os.Getpid())},
		}
		for k := range 6 {
			r.Utilisation = append(r.Utilisation, gpu.UtilSample{
				At:    now.Add(time.Duration(k-5) * time.Second / 6),
				Ratio: n.dice.Float64(),
			})
		}
		all = append(all, r)
	}
	return all
}

func (numbers) Absent() []string { return nil }
func (numbers) Close() error     { return nil }

func main() {
	nodes := flag.Int("nodes", 500, "emulated nodes")
	list := flag.String("list", "targets.json", "file for Prometheus' file_sd_configs")
	flag.Parse()
	if err := serve(*nodes, *list); err != nil {
		fmt.Fprintln(os.Stderr, "fleet: error:", err)
		os.Exit(1)
	}
}

func serve(nodes int, list string) error {
	var addresses []string
	failed := make(chan error, nodes)
	for node := range nodes {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, listener.Addr().String())
		watcher := agent.New(agent.Options{
			OpenGPU: func() (observe.GPU, error) { return numbers{node, rand.New(rand.NewPCG(1, uint64(node)))}, nil },
			Proc:    "/proc", Most: 1000, Version: "bench", Warn: func(text string) { log.Print(text) },
		})
		go watcher.Run(context.Background())
		go func() {
			failed <- closed.NewServer(watcher.Handler(agent.Door{Hosts: []string{listener.Addr().String()}})).Serve(
				listener)
		}()
	}
	text, err := json.Marshal([]map[string]any{{"targets": addresses, "labels": map[string]string{"kind": "emulated"}}})
	if err == nil {
		err = os.WriteFile(list, text, 0o600)
	}
	if err != nil {
		return err
	}
	return <-failed
}
