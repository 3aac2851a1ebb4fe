package export

import (
	"bufio"
	"io"
	"math"
	"strconv"

	"github.com/stoker-dev/stoker/recording"
)

// Live writes a run that was observed live as a Chrome trace: for each rank a row of steps,
// each with its wait for input inside, and a counter for each signal and subject.
func Live(w io.Writer, run *recording.Run) error {
	e := &events{w: bufio.NewWriterSize(w, 1<<16), tracks: map[track]*openRows{}}
	e.writeText(`{"displayTimeUnit":"ms","otherData":{"writer":"stoker export"},"traceEvents":[`)
	named := map[int]bool{}
	for _, s := range run.Steps {
		pid := hostPID(s.PID)
		if !named[pid] {
			named[pid] = true
			e.nameProcess(pid, "steps of process "+strconv.Itoa(s.PID)+rankName(s.Rank), len(named))
		}
		from := nanoseconds(s.Start)
		long := s.Period
		if math.IsNaN(long) {
			long = s.Wait
		}
		tid := e.findRow(pid, int64(s.Loader), from, nanoseconds(s.Start+long), func() string {
			return "loader " + strconv.Itoa(s.Loader)
		})
		e.begin(pid, tid, "step "+strconv.Itoa(s.N), string(s.Phase), from, nanoseconds(s.Start+long))
		if samples := s.Samples; samples > 0 {
			e.writeNumber("samples", int64(samples), 0)
		}
		e.end()
		e.begin(pid, tid, "waits for input", "input", from, nanoseconds(s.Start+min(s.Wait, long)))
		e.end()
	}
	e.nameProcess(nobodyPID, "signals", len(named)+1)
	for _, series := range run.Series {
		name := string(quote(nil, string(series.Signal)+" "+series.Subject))
		for i, t := range series.T {
			b := append(e.line[:0], e.separator()+`{"ph":"C","pid":`...)
			b = append(strconv.AppendInt(b, nobodyPID, 10), `,"ts":`...)
			b = append(microseconds(b, nanoseconds(t)), `,"name":`...)
			b = append(append(b, name...), `,"args":{"value":`...)
			e.line = append(strconv.AppendFloat(b, series.V[i], 'g', -1, 64), "}}"...)
			e.write(e.line)
		}
	}
	e.writeText("\n]}\n")
	if e.err != nil {
		return e.err
	}
	return e.w.Flush()
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(1e9 * seconds)) }
