package diagnose_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// profile writes what PyTorch's profiler writes, from the host's side: one thread that
// goes on, and a device whose work follows. Times are microseconds.
type profile struct {
	events []string
	more   string // members beside traceEvents, each with a comma behind it
	device int
	at     float64 // where the thread is
	free   float64 // when the device is done
	corr   int
}

func newProfile() *profile { return &profile{at: 1000, free: 1000} }

func (p *profile) put(format string, args ...any) {
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

// span adds a host event of a category without moving the thread.
func (p *profile) span(cat, name string, from, to float64) {
	p.put(`{"ph":"X","cat":%q,"name":%q,"pid":100,"tid":100,"ts":%.3f,"dur":%.3f,"args":{}}`, cat, name, from, to-from)
}

// during writes what body does inside of a host event.
func (p *profile) during(cat, name string, body func()) {
	from := p.at
	body()
	p.span(cat, name, from, p.at)
}

// rests is time in which the thread records nothing.
func (p *profile) rests(us float64) { p.at += us }

// call is a call of the runtime.
func (p *profile) call(name string, us float64) {
	p.corr++
	p.put(`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":100,"tid":100,"ts":%.3f,"dur":%.3f,"args":{"correlation":%d}}`, name, p.at, us, p.corr)
	p.at += us
}

// works launches work of a category: call, name, how long it runs, more arguments.
func (p *profile) works(call, cat, name string, us float64, args string) {
	from := max(p.free, p.at+8)
	p.call(call, 4)
	p.free = from + us
	p.put(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"device":%[3]d,"stream":7,"correlation":%[6]d%s}}`, cat, name, p.device, from, us, p.corr, args)
	p.at++
}

func (p *profile) kernel(name string, us float64) {
	p.works("cudaLaunchKernel", "kernel", name, us, "")
}

func (p *profile) copies(way string, us float64, bytes int) {
	p.works("cudaMemcpyAsync", "gpu_memcpy", "Memcpy "+way, us, fmt.Sprintf(`,"bytes":%d`, bytes))
}

// waits is a wait for the device.
func (p *profile) waits() {
	until := max(p.at+5, p.free+5)
	p.call("cudaDeviceSynchronize", until-p.at)
}

func (p *profile) json() string {
	return "{" + p.more + "\"traceEvents\":[\n" + strings.Join(p.events, ",\n") + "\n]}"
}

// files writes profiles as files of one folder and returns their names.
func files(t *testing.T, profiles ...*profile) []string {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i, p := range profiles {
		name := filepath.Join(dir, fmt.Sprintf("trace%d.json", i))
		if keep := os.Getenv("STOKER_KEEP_PROFILES"); keep != "" {
			name = filepath.Join(keep, fmt.Sprintf("%s%d.json", strings.ReplaceAll(t.Name(), "/", "-"), i))
		}
		if err := os.WriteFile(name, []byte(p.json()), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func (p *profile) run(t *testing.T) *recording.Run {
	t.Helper()
	run, err := trace.Read(context.Background(), files(t, p), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}
