package diagnose

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// pressed is whether tasks of the job wait for memory.
func (l live) pressed() quantity {
	waits := l.run.Find(recording.PressureMemory, "machine").Rate(l.From, l.To)
	q := shareOr(unlikely, "Do tasks wait for memory?", waits, 0.05, 0.15, "")
	if q.Score < 0.5 {
		return q
	}
	faults := l.total(recording.ProcessFaults)
	left := l.run.Find(recording.MachineMemory, "machine").Mean(l.From, l.To)
	return q.saw(waits, "ratio", string(recording.PressureMemory), "some task waits for memory %s of the time", stoker.Percent(waits)).
		saw(left, "bytes", string(recording.MachineMemory), "%s of memory are left", stoker.AboutBytes(left)).
		saw(faults, "pages/s", string(recording.ProcessFaults), "%s pages a second are fetched again from storage (major faults)", stoker.About(faults))
}

// far is whether what loading waits for comes over a network or from a program.
func (l live) far() quantity {
	k := l.Costs
	disk, net := k.OnDisk, k.Remote
	if k.Split != nil {
		disk, net = k.Split.Storage, k.Split.Network
	}
	part, m := net/(disk+net), l.readsFrom()
	if m != nil && m.Remote && !(l.Costs.DiskRate > predict.NetworkRate) {
		part = 1 // a kernel's client may wait as for a disk
	}
	q := shareOr(unlikely, "Does what it waits for come over a network or from a program?", part, 0.3, 0.6, "")
	if q.Score < 0.5 {
		return q
	}
	if m != nil && m.Remote {
		q = q.saw(float64(m.Seen), "files", "mounts", "files are read from %s (%s)", m.Point, m.Kind)
		reads := l.run.Find(recording.MountReads, "mount/"+m.Point).Rate(l.From, l.To)
		wait := l.run.Find(recording.MountWait, "mount/"+m.Point).Rate(l.From, l.To) / reads
		q = q.saw(wait, "seconds", string(recording.MountWait), "a read there takes %s, and there are %s a second", stoker.AboutSeconds(wait), stoker.About(reads))
	}
	if k.Received >= predict.NetworkRate {
		q = q.saw(k.Received, "bytes/s", string(recording.NetReceived), "%s are received over %s", stoker.AboutRate(k.Received), k.ReceivedBy)
	}
	return q
}

// readsFrom is the file system of which most files were seen open; nil where none was.
func (l live) readsFrom() *recording.Mount {
	var best *recording.Mount
	for i := range l.run.Facts.Mounts {
		if m := &l.run.Facts.Mounts[i]; best == nil || m.Seen > best.Seen {
			best = m
		}
	}
	return best
}

// total is the rate of a counter over all processes; NaN where none has it.
func (l live) total(signal recording.Signal) float64 {
	sum := math.NaN()
	for _, p := range l.run.Facts.Processes {
		if r := l.run.Find(signal, fmt.Sprintf("process/%d", p.PID)).Rate(l.From, l.To); !math.IsNaN(r) {
			sum = stat.Or(sum, 0) + r
		}
	}
	return sum
}

// smallRequest is the mean size of a read below which requests and not bytes take a
// disk's time: the kernel's own readahead asks for as much.
const smallRequest = 128 << 10

// disk is what the disk of the data set does. NaN is unknown.
type disk struct {
	Name                       string
	Busy, Rate, Size, InFlight float64
}

// disk finds the disk that holds what the job reads, else the one that reads most.
func (l live) disk() disk {
	d, m := disk{Rate: math.NaN()}, l.readsFrom()
	rate := func(signal recording.Signal, subject string) float64 {
		return l.run.Find(signal, subject).Rate(l.From, l.To)
	}
	subject := ""
	for _, s := range l.run.All(recording.DiskRead) {
		r := s.Rate(l.From, l.To)
		if m != nil && m.Disk == s.Subject || !math.IsNaN(r) && !(r <= d.Rate) {
			subject, d.Rate = s.Subject, r
		}
		if m != nil && m.Disk == s.Subject {
			break
		}
	}
	d.Name = strings.TrimPrefix(subject, "disk/")
	d.Busy, d.InFlight = rate(recording.DiskBusy, subject), rate(recording.DiskFlight, subject)
	d.Size = math.NaN()
	if reads := rate(recording.DiskReads, subject); reads > 0 {
		d.Size = d.Rate / reads
	}
	return d
}

func (d disk) seen() []Evidence {
	list := seen(nil, d.Busy, "ratio", string(recording.DiskBusy), "%s is at work %s of the time and gives %s", d.Name, stoker.Percent(min(1, d.Busy)), stoker.AboutRate(d.Rate))
	return seen(list, d.Size, "bytes", string(recording.DiskReads), "a read is %s on average, %.1f requests are in flight", stoker.AboutBytes(d.Size), stat.Or(d.InFlight, 0))
}

// exhausted is whether the disk, or what the control group may read from it, is used up.
func (l live) exhausted(d disk) quantity {
	part := l.Costs.DiskRate / l.run.Facts.Machine.DiskLimit
	if l.run.Facts.Machine.DiskLimit > 0 && part >= 0.8 { // [J] the kernel's bursts leave some
		text := fmt.Sprintf("%s come from disks, and the job's control group may read %s", stoker.AboutRate(l.Costs.DiskRate), stoker.AboutRate(l.run.Facts.Machine.DiskLimit))
		return fact("Is the disk at its limit?", true, "its limit is reached").saw(part, "ratio", "machine.disk_limit", "%s", text)
	}
	q := shareOr(unlikely, "Is the disk at its limit?", d.Busy, 0.8, 0.95, "")
	q.Score *= 1 - small(d)
	q.Seen = d.seen()
	return q
}

// small is how much of a yes it is that reads are small.
func small(d disk) float64 { return stat.Ramp(d.Size, 1.5*smallRequest, smallRequest) }

// small is whether what loading waits for are requests and not bytes.
func (l live) small(d disk) quantity {
	k := l.Costs
	const text = "Are requests waited for, more than bytes?"
	if read := math.Max(stat.Or(k.ReadRate, 0), stat.Or(k.DiskRate, 0)); !math.IsNaN(k.DiskRate) && read < predict.NetworkRate {
		return fact(text, true, "hardly any bytes are read")
	}
	q := quantity{Question: Question{Text: text, Answer: "unknown", Score: unlikely}, Seen: d.seen()}
	if limit := l.run.Facts.Machine.ReadsLimit; limit > 0 {
		q = q.saw(limit, "requests/s", "machine.reads_limit", "the job's control group may make %s reads a second", stoker.About(limit))
	}
	if !math.IsNaN(d.Size) {
		q.Score = small(d)
		q.Answer = yesNo(q.Score) + ", a read is " + stoker.AboutBytes(d.Size)
	}
	return q
}

// files takes what rules ask about waiting for storage.
func (l live) files() {
	d := l.disk()
	l.Pressed, l.Far, l.Exhausted, l.Small = l.pressed(), l.far(), l.exhausted(d), l.small(d)
}
