package trace

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"sync/atomic"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// fromBytes reads what a file would hold.
func fromBytes(data []byte) (*recording.Run, error) {
	raw := &countingReader{Reader: bytes.NewReader(data), m: &meter{total: int64(len(data))}}
	t, err := readStream(context.Background(), "fuzz.json", raw, Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	return combine([]part{{file: "fuzz.json", Trace: t}})
}

// deep counts inputs from which events were read, so that a fuzz run which only
// ever meets the front door is noticed.
var deep atomic.Int64

// FuzzRead: whatever a file holds, it is read or refused with a sentence; what is
// read holds together, is judged without a panic and can be written.
func FuzzRead(f *testing.F) {
	small := made(0, 2, 1)
	f.Add(small)
	f.Add(zipped(small))
	f.Add(zipped(small)[:300])
	f.Add(small[:900])
	f.Add([]byte(`[{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":16,"dur":2,"args":{"stream":7,"correlation":3}},{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":"9","ts":15,"dur":1,"args":{"correlation":3}}`))
	f.Add([]byte("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\x01\\n\\u00e9\",\"pid\":1,\"tid\":-1,\"ts\":1e3,\"dur\":-5,\"args\":{\"Input Dims\":[N/A, NaN]}}],\"distributedInfo\":{\"rank\":1}}"))
	f.Add([]byte(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1700000000000000000,"dur":5000,"args":{"correlation":18446744073709551615}}}`))
	f.Add([]byte(`{"rocprofiler-sdk-tool": [{"strings": {"buffer_records": [{"operations": ["a"]}]}, "buffer_records": {"kernel_dispatch": [{"start_timestamp": 5, "end_timestamp": 9}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := fromBytes(data)
		if err != nil {
			var malformed *malformedError
			var unsupported *unsupportedError
			if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		deep.Add(1)
		check(t, run)
		judge.Judge(run)
		if len(data) < 1<<16 {
			if err := recording.Write(&bytes.Buffer{}, run); err != nil {
				t.Fatalf("a run that was read cannot be written: %v", err)
			}
		}
	})
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // then other processes count
	if !fuzzing && deep.Load() == 0 {
		f.Error("no event of any input was read")
	}
}
