package export

import (
	"bufio"
	"io"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// Process numbers in the file. Host processes keep theirs; devices and causes get numbers that
// no operating system uses.
const (
	gapsPID   = 2_000_000_000 // + index into Analysis.Devices
	devicePID = 2_100_000_000 // + index into Timeline.Devices
	nobodyPID = 2_140_000_000 // a process whose number was not recorded
)

// hostPID returns the number of a host process in the file.
func hostPID(pid int) int {
	if pid < 0 || pid >= gapsPID {
		return nobodyPID
	}
	return pid
}

// Perfetto writes a run that has a Timeline. all is its analysis. It returns the error of w, if
// any.
func Perfetto(w io.Writer, run *recording.Run, all *idle.Analysis) error {
	e := &events{w: bufio.NewWriterSize(w, 1<<16), t: run.Timeline, tracks: map[track]*openRows{}}
	e.writeText(`{"displayTimeUnit":"ms","otherData":{"writer":"stoker trace --timeline"},"traceEvents":[`)
	e.gaps(run, all)
	e.devices(run)
	e.host()
	e.writeText("\n]}\n")
	if e.err != nil {
		return e.err
	}
	return e.w.Flush()
}

// gaps writes a track per device with the cause of each of its gaps.
func (e *events) gaps(run *recording.Run, all *idle.Analysis) {
	t := e.t
	for i := range all.Devices {
		d := &all.Devices[i]
		pid := gapsPID + i
		e.nameProcess(pid, "why "+deviceName(run, int(d.Index))+" is idle", i)
		e.nameThread(pid, 0, "cause of each gap")
		from, to := deviceSpan(t, d.Index)
		for s := range all.Slices(d, min(from, d.From), max(to, d.To)) {
			if e.err != nil {
				return
			}
			e.begin(pid, 0, s.Cause.String(), "idle", s.From, s.To)
			if name := all.Name(s); name >= 0 {
				e.arg("host", t.Names[name])
			}
			if s.Frame >= 0 {
				e.arg("python", t.Names[t.Frames.Name[s.Frame]])
			}
			if s.Next >= 0 {
				e.arg("ends with", t.Names[t.Device.Name[s.Next]])
			}
			e.end()
		}
	}
}

// deviceSpan returns the start of a device's first work and the end of its last.
func deviceSpan(t *recording.Timeline, device int32) (from, to int64) {
	w := &t.Device
	first := true
	for i := range w.Start {
		if w.Device[i] != device {
			continue
		}
		if first {
			from, first = w.Start[i], false
		}
		to = max(to, w.End[i])
	}
	return from, to
}

// devices writes the work of each stream.
func (e *events) devices(run *recording.Run) {
	t := e.t
	w := &t.Device
	for d := range t.Devices {
		e.nameProcess(devicePID+d, deviceName(run, d), 1000+d)
	}
	for i := range w.Start {
		if e.err != nil {
			return
		}
		pid := devicePID + int(w.Device[i])
		tid := e.findRow(pid, int64(w.Stream[i]), w.Start[i], w.End[i], func() string {
			return "stream " + integer(int64(w.Stream[i]))
		})
		e.begin(pid, tid, t.Names[w.Name[i]], w.Kind[i].String(), w.Start[i], w.End[i])
		e.writeNumber("bytes", w.Bytes[i], 0)
		e.writeNumber("blocks", int64(w.Blocks[i]), 1)
		e.writeNumber("threads per block", int64(w.Threads[i]), 1)
		if g := w.Group[i]; g >= 0 {
			e.arg("process group", t.Names[g])
		}
		if call := w.Call[i]; call >= 0 {
			e.arg("launched by", t.Names[t.Host.Name[call]])
		}
		e.end()
	}
}

var callWords = [...]string{"op", "annotation", "runtime", "gc", "profiler"}

// host writes the calls and Python frames of each thread in order of their start, so that they
// nest.
func (e *events) host() {
	t := e.t
	seen := map[int]bool{}
	for _, thread := range t.Threads {
		if !seen[thread.PID] {
			seen[thread.PID] = true
			e.nameProcess(hostPID(thread.PID), "host process "+integer(int64(thread.PID))+rankName(thread.Rank),
				2000+len(seen))
		}
	}
	h, f := &t.Host, &t.Frames
	for i, j := 0, 0; (i < len(h.Start) || j < len(f.Start)) && e.err == nil; {
		// A frame that starts together with a call encloses it, unless it ends earlier.
		frame := i == len(h.Start) || j < len(f.Start) && (f.Start[j] < h.Start[i] || f.Start[j] == h.Start[i] &&
			f.End[j] >= h.End[i])
		if frame {
			e.hostSlice(f.Thread[j], f.Name[j], "python", f.Start[j], f.End[j], -1)
			j++
			continue
		}
		word := callWords[0]
		if int(h.Kind[i]) < len(callWords) {
			word = callWords[h.Kind[i]]
		}
		e.hostSlice(h.Thread[i], h.Name[i], word, h.Start[i], h.End[i], h.Shapes[i])
		i++
	}
}

// hostSlice writes one call or frame.
func (e *events) hostSlice(thread, name int32, kind string, from, to int64, shapes int32) {
	t := e.t
	at := &t.Threads[thread]
	pid := hostPID(at.PID)
	tid := e.findRow(pid, at.ID, from, to, func() string {
		if at.Name != "" {
			return at.Name
		}
		return "thread " + integer(at.ID)
	})
	e.begin(pid, tid, t.Names[name], kind, from, to)
	if shapes >= 0 {
		e.arg("shapes", t.Names[shapes])
	}
	e.end()
}

// deviceName returns the name of a device with its rank and model.
func deviceName(run *recording.Run, device int) string {
	d := run.Timeline.Devices[device]
	name := "GPU " + integer(int64(d.Index)) + rankName(d.Rank)
	if d.GPU >= 0 && d.GPU < len(run.Facts.GPUs) {
		name += " (" + run.Facts.GPUs[d.GPU].Name + ")"
	}
	return name
}

// rankName returns ", rank N"; "" if unknown.
func rankName(rank int) string {
	if rank < 0 {
		return ""
	}
	return ", rank " + integer(int64(rank))
}
