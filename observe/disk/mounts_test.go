//go:build linux

package disk

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// plant makes a file below root, and the folders above it.
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

const mountinfo = `22 1 8:2 / / rw - ext4 /dev/sda2 rw
40 22 0:50 / /data rw shared:1 - nfs4 server:/export/data rw
41 22 0:51 / /my\040sets rw - fuse.sshfs host:/sets rw
42 40 8:17 / /data/local rw - xfs /dev/sdb1 rw
43 22 0:60 / /pool rw - btrfs /dev/sdc rw
not a line
44 22 0:61
`

func TestMounts(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "proc/7/mountinfo", mountinfo)
	for device, at := range map[string]string{"8:2": "sda/sda2", "8:17": "sdb/sdb1"} {
		plant(t, root, "sys/devices/block/"+at+"/partition", "1\n")
		if err := os.MkdirAll(root+"/sys/dev/block", 0o700); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(root+"/sys/devices/block/"+at, root+"/sys/dev/block/"+device)
	}
	plant(t, root, "sys/devices/block/sdc/size", "1\n")
	_ = os.MkdirAll(root+"/sys/class/block", 0o700)
	_ = os.Symlink(root+"/sys/devices/block/sdc", root+"/sys/class/block/sdc")
	_ = os.MkdirAll(root+"/proc/7/fd", 0o700)
	open := func(fd, target string) { _ = os.Symlink(target, root+"/proc/7/fd/"+fd) }
	for i, target := range []string{
		"/data/a.jpg", "/data/b.jpg", "/data/c.jpg", "/data/d.jpg", "/database", "/my sets/x", "/my sets/y", "/data/local/z", "/pool/p",
		"pipe:[5]", "/dev/null", "/tmp/gone (deleted)", "socket:[1]", "/proc/7/stat", "anon_inode:[eventpoll]",
	} {
		open(string(rune('a'+i)), target)
	}
	m := Mounts{Root: root}
	m.Look([]int{7, 999}) // one of them ended
	m.Look([]int{7, 999})
	m.Look(nil)
	want := []recording.Mount{
		{Point: "/data", Kind: "nfs4", Remote: true, Seen: 4},
		{Point: "/my sets", Kind: "fuse.sshfs", Remote: true, Seen: 2},
		{Point: "/data/local", Kind: "xfs", Disk: "disk/sdb", Seen: 1},
		{Point: "/pool", Kind: "btrfs", Disk: "disk/sdc", Seen: 1},
		{Point: "/", Kind: "ext4", Disk: "disk/sda", Seen: 1},
	}
	if got := m.List(); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	plant(t, root, "proc/7/fdinfo/i", "pos:\t4096\n")
	m.Look([]int{7})
	if got := m.List(); got[0].Seen != 4 || got[1].Point != "/pool" && got[2].Point != "/pool" || m.seen["/pool"] != 2 {
		t.Errorf("files that stay open count again: %+v", got)
	}
	_ = os.Remove(root + "/proc/7/mountinfo")
	m.Look([]int{7})
	if len(m.List()) != len(want) {
		t.Error("a process that ends takes what was seen with it")
	}
}

// What only writes is no source of data.
func TestMountsOfReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	seen := func() (n int) {
		m := Mounts{}
		m.Look([]int{os.Getpid()})
		for _, at := range m.List() {
			n += m.seen[at.Point]
		}
		return n
	}
	before := seen()
	reads, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reads.Close() }()
	if now := seen(); now != before+1 {
		t.Errorf("%d files, with one more that is read %d", before, now)
	}
}

func TestUnescape(t *testing.T) {
	for field, want := range map[string]string{`/a\040b\134c`: `/a b\c`, `\04`: `\04`, `\999`: `\999`, `x\`: `x\`, `\134040`: `\040`, "": ""} {
		if got := unescape(field); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
}

const mountstats = `device rootfs mounted on / with fstype rootfs
device server:/export/data mounted on /data with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2
	age:	100
	bytes:	1000 0 0 0 900 0 3 0
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 1
	per-op statistics
	        READ: 50 50 0 8000 905000 10 400 450 0
	       WRITE: 1 1 0 1 1 1 1 1 0
device torn mounted on /torn with fstype nfs4 statvers=1.1
	bytes:	1 2
	        READ: 7
	bytes: x x x x x x x
device
`

func TestNFS(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "proc/7/mountstats", mountstats)
	got := book{}
	NFS(root, 7, 1, got)
	NFS(root, 8, 1, got) // is gone
	want := book{"mount.read mount//data": 900, "mount.reads mount//data": 50, "mount.wait mount//data": 0.45}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}
