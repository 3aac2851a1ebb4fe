package kineto

import (
	"context"
	"io"
	"strings"
	"testing"
)

// broken is a source with a fault.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		panic("a fault")
	}
	return n, err
}

// A fault in a goroutine of ours would end the program, which may be one that waits
// for a job: it is an error, or the reader's own.
func TestFaultsStayWithTheReader(t *testing.T) {
	trace := `{"traceEvents":[` + strings.Repeat(`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2},`, 20)
	got, err := Read(context.Background(), broken{strings.NewReader(trace)}, Options{})
	if err == nil && !strings.Contains(strings.Join(got.Warnings, " "), "a fault while reading") {
		t.Errorf("warnings %q", got.Warnings)
	}
	if _, err := Read(context.Background(), broken{strings.NewReader("")}, Options{}); err == nil || !strings.Contains(err.Error(), "a fault while reading") {
		t.Error(err)
	}
	s := newScanner()
	if r, faulty := s.scanChunk([]byte(trace), nil, 3); !faulty || r.by != -1 || r.out != nil {
		t.Errorf("%+v, %t", r, faulty)
	}
	if r, faulty := newScanner().scanChunk([]byte(trace[len(`{"traceEvents":[`):]), &batch{}, 3); faulty || r.by != 3 || r.used == 0 {
		t.Errorf("%+v, %t", r, faulty)
	}
}
