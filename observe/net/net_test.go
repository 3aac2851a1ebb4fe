//go:build linux

package net

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

type book map[string]float64

func (b book) AddSample(signal recording.Signal, subject string, _, v float64) {
	b[string(signal)+" "+subject] = v
}

func plant(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const devices = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0
 torn0: 1 2 3
  bad0: 1 2 3 x 5 6 7 8 9 10 11 12 13 14 15 16
`

func TestInterfaces(t *testing.T) {
	root := t.TempDir()
	many := devices
	for i := range 100 {
		many += fmt.Sprintf("  veth%d: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", i)
	}
	plant(t, root, "proc/7/net/dev", devices)
	plant(t, root, "proc/8/net/dev", many)
	plant(t, root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "100\n")
	plant(t, root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "50\n")
	plant(t, root, "sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n")
	plant(t, root, "sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data", "nonsense")
	plant(t, root, "sys/class/net/eth0/speed", "10000\n")
	plant(t, root, "sys/class/net/wlan0/speed", "-1\n")
	got := book{}
	Second(root, 7, 1, got)
	Second(root, 9, 1, got) // is gone
	want := book{
		"net.received net/eth0": 1000, "net.sent net/eth0": 2000, "net.dropped net/eth0": 10,
		"net.received net/mlx5_0:1": 400, "net.sent net/mlx5_0:1": 200,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if speeds := Speeds(root); !maps.Equal(speeds, map[string]float64{"net/eth0": 1.25e9, "net/mlx5_0:1": 12.5e9}) {
		t.Errorf("speeds: %v", speeds)
	}
	got = book{}
	Second(root, 8, 1, got)
	n := 0
	for name := range got {
		if strings.HasPrefix(name, "net.received ") {
			n++
		}
	}
	if n != maxInterfaces {
		t.Errorf("%d interfaces are recorded", n)
	}
}
