package feed

import (
	"os"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/feed/serve"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/recording"
)

// feedRecorder adds to a recording of the daemon what the daemon does not know: the
// machine, and what its own process takes of it. The trainer is somebody else.
func feedRecorder(path string, take func() serve.Snapshot) (stop func() error, err error) {
	r := serve.Recording{Version: cli.Version, Command: os.Args}
	job, err := cpu.Watch(cpu.Options{Root: os.Getpid()})
	if err != nil { // without /proc the loader's own side is all there is
		return r.StartRecorder(path, take)
	}
	r.Host = serve.HostView{
		Second: func(now float64, to *recording.Writer) { job.Second(now, to) },
		Facts: func(f *recording.Facts) {
			f.Machine = job.HostMachine()
			f.Absent = append(f.Absent, job.Absent()...)
		},
		Close: job.Close,
	}
	return r.StartRecorder(path, take)
}
