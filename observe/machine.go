//go:build linux

package observe

import (
	"github.com/stoker-dev/stoker/observe/disk"
	"github.com/stoker-dev/stoker/observe/net"
)

// surroundings are the things around the job: disks, file systems, network.
type surroundings struct {
	root   string // where proc and sys lie, "" is "/"
	disks  *disk.Probe
	mounts disk.Mounts
}

func (r *recorder) openAround() {
	var err error
	if r.around.disks, err = disk.Open(r.around.root); err != nil {
		r.noteAbsence("disks", err.Error())
		r.around.disks = nil
	}
	r.around.mounts.Root = r.around.root
}

// lookAround is done once a second, as a reader of the job sees it.
func (r *recorder) lookAround(now float64) {
	a := &r.around
	if a.disks != nil {
		why := ""
		if err := a.disks.Second(now, r.out); err != nil {
			why = err.Error()
		}
		r.noteAbsence("disks", why)
	}
	if r.job == nil {
		return
	}
	readers := r.job.Readers()
	if len(readers) == 0 {
		return
	}
	a.mounts.Look(readers)
	r.facts.Mounts = a.mounts.List()
	disk.NFS(a.root, readers[0], now, r.out)
	net.Second(a.root, readers[0], now, r.out)
}
