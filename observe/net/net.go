//go:build linux

package net

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// maxInterfaces bounds the signals of machines with hundreds of virtual interfaces: those
// that come first in the kernel's list, among those that ever had traffic.
const maxInterfaces = 16

// Sink takes samples; a *recording.Writer is one.
type Sink interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
}

// Second writes the signals of the interfaces that process pid sees, in whose network
// namespace they are; nothing if it has ended. root is the folder of proc and sys, "" is "/".
func Second(root string, pid int, now float64, to Sink) {
	text, err := os.ReadFile(fmt.Sprintf("%s/proc/%d/net/dev", root, pid))
	if err != nil {
		return
	}
	taken := 0
	// "eth0: bytes packets errs drop fifo frame compressed multicast", the same sent
	for line := range strings.Lines(string(text)) {
		name, rest, found := strings.Cut(line, ":")
		v, ok := parseNumbers(strings.Fields(rest))
		if !found || !ok || len(v) < 16 || v[0]+v[8] == 0 || taken >= maxInterfaces {
			continue
		}
		taken++
		subject := "net/" + strings.TrimSpace(name)
		to.AddSample(recording.NetReceived, subject, now, v[0])
		to.AddSample(recording.NetSent, subject, now, v[8])
		to.AddSample(recording.NetDropped, subject, now, v[2]+v[3]+v[10]+v[11])
	}
	ports(root, func(subject, folder string) {
		in, ok := counter(folder + "/counters/port_rcv_data")
		out, also := counter(folder + "/counters/port_xmit_data")
		if ok && also && taken < maxInterfaces {
			taken++
			to.AddSample(recording.NetReceived, subject, now, 4*in) // counted in words of four bytes
			to.AddSample(recording.NetSent, subject, now, 4*out)
		}
	})
}

// Speeds returns the speed of each interface of this machine in bytes/s, by subject. Interfaces
// without a speed, such as virtual ones, are left out.
func Speeds(root string) map[string]float64 {
	speeds := map[string]float64{}
	files, _ := filepath.Glob(root + "/sys/class/net/*/speed") // no error but of the pattern
	for _, file := range files {
		if mbit, ok := counter(file); ok && mbit > 0 {
			speeds["net/"+filepath.Base(filepath.Dir(file))] = mbit * 1e6 / 8
		}
	}
	ports(root, func(subject, folder string) {
		text, _ := os.ReadFile(folder + "/rate") // "100 Gb/sec (4X EDR)"
		rate, _, _ := strings.Cut(string(text), " Gb/sec")
		if gbit, err := strconv.ParseFloat(rate, 64); err == nil && gbit > 0 {
			speeds[subject] = gbit * 1e9 / 8
		}
	})
	return speeds
}

// ports visits the ports of InfiniBand: "net/mlx5_0:1".
func ports(root string, visit func(subject, folder string)) {
	folders, _ := filepath.Glob(root + "/sys/class/infiniband/*/ports/*")
	for _, folder := range folders {
		device := filepath.Base(filepath.Dir(filepath.Dir(folder)))
		visit("net/"+device+":"+filepath.Base(folder), folder)
	}
}

func counter(file string) (float64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return float64(v), err == nil
}

func parseNumbers(fields []string) (all []float64, ok bool) {
	for _, field := range fields {
		v, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, false
		}
		all = append(all, float64(v))
	}
	return all, true
}
