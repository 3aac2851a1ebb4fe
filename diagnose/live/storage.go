package live

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// fillStorage takes what rules ask about waiting for storage.
func (l filler) fillStorage() {
	d := l.findDisk()
	l.MemoryShort, l.StorageRemote, l.DiskExhausted, l.RequestsSmall = l.askMemoryShort(), l.askStorageRemote(),
		l.askDiskExhausted(d), l.askRequestsSmall(d)
}

// askMemoryShort is whether tasks of the job wait for memory.
func (l filler) askMemoryShort() diagnose.Quantity {
	waits := l.run.Find(recording.PressureMemory, "machine").Rate(l.From, l.To)
	q := diagnose.AskShareOr(diagnose.Unlikely, "Do tasks wait for memory?", waits, diagnose.MemoryWait, "")
	if !q.IsLikely() {
		return q
	}
	faults := l.sumRates(recording.ProcessFaults)
	left := l.run.Find(recording.MachineMemory, "machine").Mean(l.From, l.To)
	return q.WithEvidence(waits, "ratio", string(recording.PressureMemory),
		"some task waits for memory %s of the time", quantity.Percent(waits)).
		WithEvidence(left, "bytes", string(recording.MachineMemory), "%s of memory are left",
			quantity.AboutBytes(left)).
		WithEvidence(faults, "pages/s", string(recording.ProcessFaults),
			"%s pages a second are fetched again from storage (major faults)", quantity.About(faults))
}

// askStorageRemote is whether loading is waiting for a network or for a program.
func (l filler) askStorageRemote() diagnose.Quantity {
	k := l.Costs
	disk, net := k.OnDisk, k.Remote
	if k.Split != nil {
		disk, net = k.Split.Storage, k.Split.Network
	}
	part, m := net/(disk+net), l.findMount()
	if m != nil && m.Remote && !(l.Costs.DiskRate > measure.NetworkRate) {
		part = 1 // a kernel's client may wait as for a disk
	}
	q := diagnose.AskShareOr(diagnose.Unlikely, "Does what it waits for come over a network or from a program?", part,
		diagnose.RemoteWait, "")
	if !q.IsLikely() {
		return q
	}
	if m != nil && m.Remote {
		q = q.WithEvidence(float64(m.Seen), "files", "mounts", "files are read from %s (%s)", m.Point, m.Kind)
		reads := l.run.Find(recording.MountReads, "mount/"+m.Point).Rate(l.From, l.To)
		wait := l.run.Find(recording.MountWait, "mount/"+m.Point).Rate(l.From, l.To) / reads
		q = q.WithEvidence(wait, "seconds", string(recording.MountWait),
			"a read there takes %s, and there are %s a second", quantity.AboutSeconds(wait), quantity.About(reads))
	}
	if k.Received >= measure.NetworkRate {
		q = q.WithEvidence(k.Received, "bytes/s", string(recording.NetReceived), "%s are received over %s",
			quantity.AboutRate(k.Received), k.ReceivedBy)
	}
	return q
}

// diskLoad is what the disk of the data set does. NaN is unknown.
type diskLoad struct {
	Name                       string
	Busy, Rate, Size, InFlight float64
}

// findDisk finds the disk that holds what the job reads, else the one that reads most.
func (l filler) findDisk() diskLoad {
	d, m := diskLoad{Rate: math.NaN()}, l.findMount()
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

func (d diskLoad) describe() []diagnose.Evidence {
	list := diagnose.AddEvidence(nil, d.Busy, "ratio", string(recording.DiskBusy),
		"%s is at work %s of the time and gives %s", d.Name, quantity.Percent(min(1, d.Busy)), quantity.AboutRate(d.Rate))
	return diagnose.AddEvidence(list, d.Size, "bytes", string(recording.DiskReads),
		"a read is %s on average, %.1f requests are in flight", quantity.AboutBytes(d.Size), stat.Or(d.InFlight, 0))
}

// askDiskExhausted is whether the disk, or what the control group may read from it, is used up.
func (l filler) askDiskExhausted(d diskLoad) diagnose.Quantity {
	part := l.Costs.DiskRate / l.run.Facts.Machine.DiskLimit
	if l.run.Facts.Machine.DiskLimit > 0 && part >= diagnose.DiskLimitUsed {
		text := fmt.Sprintf("%s come from disks, and the job's control group may read %s",
			quantity.AboutRate(l.Costs.DiskRate), quantity.AboutRate(l.run.Facts.Machine.DiskLimit))
		return diagnose.AskFact("Is the disk at its limit?", true, "its limit is reached").WithEvidence(part, "ratio",
			"machine.disk_limit", "%s", text)
	}
	q := diagnose.AskShareOr(diagnose.Unlikely, "Is the disk at its limit?", d.Busy, diagnose.DiskAtWork, "")
	q.Score *= 1 - scoreSmall(d)
	q.Evidence = d.describe()
	return q
}

// scoreSmall is how much of a yes it is that reads are small.
func scoreSmall(d diskLoad) float64 { return diagnose.SmallReads.Score(d.Size) }

// askRequestsSmall is whether loading is waiting for requests and not for bytes.
func (l filler) askRequestsSmall(d diskLoad) diagnose.Quantity {
	k := l.Costs
	const text = "Are requests waited for, more than bytes?"
	if read := math.Max(stat.Or(k.ReadRate, 0), stat.Or(k.DiskRate, 0)); !math.IsNaN(k.DiskRate) &&
		read < measure.NetworkRate {
		return diagnose.AskFact(text, true, "hardly any bytes are read")
	}
	q := diagnose.Quantity{
		Question: diagnose.Question{Text: text, Answer: "unknown", Score: diagnose.Unlikely},
		Evidence: d.describe(),
	}
	if limit := l.run.Facts.Machine.ReadsLimit; limit > 0 {
		q = q.WithEvidence(limit, "requests/s", "machine.reads_limit",
			"the job's control group may make %s reads a second", quantity.About(limit))
	}
	if !math.IsNaN(d.Size) {
		q.Score = scoreSmall(d)
		q.Answer = diagnose.YesNo(q.Score) + ", a read is " + quantity.AboutBytes(d.Size)
	}
	return q
}

// askStorage is the share of fetching time in which the fetching threads waited
// for storage or a network file system.
func (l filler) askStorage() diagnose.Quantity {
	k := l.Costs
	waits := l.shareOnStorage()
	q := diagnose.AskShareOr(diagnose.Unlikely, "Is loading waiting for storage?", waits, diagnose.StorageWait, "")
	if k.Feed != nil {
		q = q.WithEvidence(waits, "ratio", "feed.read", "the loader's threads read files %s of their time",
			quantity.Percent(waits))
	} else {
		q = q.WithEvidence(waits, "ratio", "thread.state", "loading waits for storage %s of its time",
			quantity.Percent(waits))
	}
	q = q.WithEvidence(k.DiskRate, "bytes/s", "process.disk", "%s", k.FromStorage())
	return q
}

// waitsByItself reports whether what comes over a network is no data set: passes without a loader wait for their next
// job, and the lines of a loop that is not seen in steps tell what it asks for.
func (l filler) waitsByItself() bool {
	passes := l.HasUnfedSteps && l.Grounds.Program == diagnose.Inference
	unseen := !l.HasSteps && !l.HasUnfedSteps && len(l.run.Facts.Loaders) == 0
	return passes || unseen && l.LoopLines.Looks >= diagnose.FewLooks
}

func (l filler) shareOnStorage() float64 {
	k := l.Costs
	if k.Split != nil {
		return k.Split.Storage + k.Split.Network
	}
	fetching := k.WorkersBusy
	if k.Workers == 0 && l.HasSteps {
		fetching = k.Fetch / k.HostStep
	}
	if !(fetching > diagnose.LeastFetching) {
		return math.NaN()
	}
	remote := k.Remote
	if m := l.findMount(); l.waitsByItself() && (m == nil || !m.Remote) {
		remote = 0
	}
	return min(1, (k.OnDisk+remote)/fetching)
}
