//go:build linux

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

type book map[string]float64

func (b book) AddSample(signal recording.Signal, subject string, _, v float64) {
	b[string(signal)+" "+subject] = v
}

func TestWholeDisksOnly(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"proc", "sys/block/vda", "sys/block/loop0", "sys/block/nvme0n1", "sys/block/sdb"} {
		_ = os.MkdirAll(filepath.Join(root, dir), 0o700)
	}
	stats := `   7       0 loop0 11 0 28 0 0 0 0 0 0 4 0
 254       0 vda 1000 0 2000 500 10 0 80 1 0 1500 501
 254       1 vda1 900 0 1900 500 10 0 80 1 0 1500 501
 259       0 nvme0n1 5 0 8 1 0 0 0 0 0 7 1 0 0 0 0 0 0
   8      32 sdc 1 2
   8      16 sdb 0 0 0 0 0 0 0 0 0 0 0
`
	_ = os.WriteFile(filepath.Join(root, "proc/diskstats"), []byte(stats), 0o600)
	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	got := book{}
	if err := p.Second(1, got); err != nil {
		t.Fatal(err)
	}
	want := book{
		"disk.busy disk/vda": 1.5, "disk.read disk/vda": 2000 * 512, "disk.busy disk/nvme0n1": 0.007, "disk.read disk/nvme0n1": 8 * 512,
		"disk.reads disk/vda": 1000, "disk.written disk/vda": 80 * 512, "disk.flight disk/vda": 0.501,
		"disk.reads disk/nvme0n1": 5, "disk.written disk/nvme0n1": 0, "disk.flight disk/nvme0n1": 0.001,
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}

func TestNoDisks(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a machine without /proc was accepted")
	}
}
