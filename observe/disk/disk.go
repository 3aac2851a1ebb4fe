//go:build linux

package disk

import (
	"fmt"
	"strings"

	"github.com/prometheus/procfs/blockdevice"

	"github.com/stoker-dev/stoker/recording"
)

// maxDisks bounds the signals on machines with hundreds of volumes.
const maxDisks = 32

// sector is the unit of /proc/diskstats, for all disks.
const sector = 512

// Sink takes samples; a *recording.Writer is one.
type Sink interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
}

// Probe reads the disks of this machine.
type Probe struct {
	files blockdevice.FS
	whole map[string]bool // disks that are not partitions
	taken map[string]bool // that are recorded, at most maxDisks
}

// Open finds the disks. root is where proc and sys lie, "" is "/".
func Open(root string) (*Probe, error) {
	files, err := blockdevice.NewFS(root+"/proc", root+"/sys")
	if err != nil {
		return nil, fmt.Errorf("read disks: %w", err)
	}
	p := &Probe{files: files, taken: map[string]bool{}}
	return p, p.find()
}

// find lists whole disks: partitions would count the same bytes twice.
func (p *Probe) find() error {
	names, err := p.files.SysBlockDevices()
	if err != nil {
		return fmt.Errorf("read disks: %w", err)
	}
	p.whole = make(map[string]bool, len(names))
	for _, name := range names {
		p.whole[name] = !artificial(name)
	}
	return nil
}

// artificial reports whether a block device stores no data itself.
func artificial(name string) bool {
	for _, kind := range []string{"loop", "ram", "zram", "fd", "sr"} {
		if rest, found := strings.CutPrefix(name, kind); found && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}

// Second writes the signals of all disks that were ever read from or written to.
func (p *Probe) Second(now float64, to Sink) error {
	stats, err := p.files.ProcDiskstats()
	if err != nil {
		return fmt.Errorf("read disks: %w", err)
	}
	for _, s := range stats {
		name := s.DeviceName
		if !p.whole[name] || s.ReadIOs+s.WriteIOs == 0 {
			continue
		}
		if !p.taken[name] {
			if len(p.taken) >= maxDisks {
				continue
			}
			p.taken[name] = true
		}
		subject := "disk/" + name
		to.AddSample(recording.DiskBusy, subject, now, float64(s.IOsTotalTicks)/1000)
		to.AddSample(recording.DiskRead, subject, now, float64(s.ReadSectors)*sector)
		to.AddSample(recording.DiskReads, subject, now, float64(s.ReadIOs))
		to.AddSample(recording.DiskWritten, subject, now, float64(s.WriteSectors)*sector)
		to.AddSample(recording.DiskFlight, subject, now, float64(s.WeightedIOTicks)/1000)
	}
	return nil
}
