package feed

import (
	"os"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/feed/serve"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/recording"
)

// feedRecorder records the daemon. To the daemon's own figures it adds the machine, and what the
// daemon's process uses of it. It does not observe the trainer.
func feedRecorder(path string, take func() serve.Snapshot) (stop func() error, err error) {
	r := serve.Recording{Version: cli.Version, Command: os.Args}
	job, err := cpu.Watch(cpu.Options{Root: os.Getpid()})
	if err != nil { // without /proc there are only the daemon's own figures
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
