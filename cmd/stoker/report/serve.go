package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/closed"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/web"
)

// checkServed rejects flags and arguments that need --serve, or that do not go with it.
func checkServed(serve bool, args []string, given func(flag string) bool) error {
	switch {
	case !serve && given("port"):
		return cli.AsUsage(errors.New(
			"--port without --serve: it is the port that pages are served at: report --serve --port N"))
	case serve && given("output"):
		return cli.AsUsage(errors.New("--serve with -o: pages are served or written to a file: leave out one of them"))
	case serve && len(args) > 1:
		return cli.AsUsage(fmt.Errorf("report --serve takes one folder, got %d arguments", len(args)))
	}
	return nil
}

func serveReports(ctx context.Context, a *cli.App, folder string, port int) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return hint.Attach(
			fmt.Errorf("serve %s: there is no such folder", folder),
			"stoker report --serve FOLDER, with recordings in it (stoker observe makes stoker-runs)",
		)
	}
	ctx, stop := signal.NotifyContext(ctx, cli.HeededSignals(os.Interrupt)...)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("serve %s: %w", folder, err)
	}
	handler := web.New(&shelf{folder: folder, judged: map[string]shelved{}, grows: map[string]*growing{}},
		listener.Addr())
	server := closed.NewServer(handler)
	if _, err := fmt.Fprintln(a.Stdout, handler.Address()); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.Say("serving %s until Ctrl-C", folder)
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shelf is a folder of recordings. It keeps verdicts until the file changes.
type shelf struct {
	folder string
	mutex  sync.Mutex
	judged map[string]shelved
	grows  map[string]*growing
}

// growing is a recording that is being written, read so far.
type growing struct {
	in  *recording.Follower
	run *recording.Run
}

// open reads a recording; if it is being written, only what was added since the last call.
func (s *shelf) open(file string) (*recording.Run, error) {
	g := s.grows[file]
	if !judged.IsGrowing(file) {
		if g != nil {
			_ = g.in.Close()
			delete(s.grows, file)
		}
		return recording.Open(file)
	}
	if g == nil {
		in, err := recording.Follow(file)
		if err != nil {
			return nil, err
		}
		g = &growing{in: in}
		s.grows[file] = g
	}
	run, err := g.in.Next()
	if err != nil { // a second call would return that nothing is new
		_ = g.in.Close()
		delete(s.grows, file)
		return nil, err
	}
	if run != nil {
		g.run = run
	}
	return g.run, nil
}

// shelved is a row, with the size and time of the file it was made from.
type shelved struct {
	size int64
	when time.Time
	row  web.Row
}

// mostRows bounds the list.
const mostRows = 200

// List returns a row for each recording, and judges those that are new or have changed.
func (s *shelf) List() ([]web.Row, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var rows []web.Row
	for _, file := range s.files() {
		info, err := os.Stat(file)
		if err != nil {
			continue // it was removed meanwhile
		}
		known, seen := s.judged[file]
		if !seen || known.size != info.Size() || !known.when.Equal(info.ModTime()) {
			known = shelved{info.Size(), info.ModTime(), s.listRow(file)}
			s.judged[file] = known
		}
		rows = append(rows, known.row)
	}
	l, _ := judged.ListTuned(s.folder)
	for _, name := range slices.Sorted(maps.Keys(l.Others)) {
		rows = append(rows, web.Row{Name: name, Class: "no file", Tone: "todo", Alone: true})
	}
	return rows, nil
}

// files returns the newest recordings of the folder, the newest first.
func (s *shelf) files() []string {
	files := judged.ListNewest(s.folder)
	return files[:min(len(files), mostRows)]
}

// name returns the path of a recording relative to the folder.
func (s *shelf) name(file string) string {
	name, _ := filepath.Rel(s.folder, file) // no error, as the file is in the folder
	return name
}

func (s *shelf) listRow(file string) web.Row {
	row := web.Row{Name: s.name(file), Class: "cannot be read", Tone: "todo"}
	run, err := s.open(file)
	if err != nil {
		return row
	}
	j := judged.Judge(file, run)
	row.Class, row.Tone = string(j.Verdict.Class), page.PickTone(j.Verdict)
	row.Stall = quantity.Percent(j.Verdict.Stall)
	if started := j.Run.Facts.Started; started > 0 {
		row.When = time.Unix(int64(started), 0).UTC().Format("2006-01-02 15:04 UTC")
	}
	if r := j.Verdict.Costs.Rate(); r > 0 {
		row.Rate = quantity.AboutSamples(r)
	}
	if j.Verdict.Ending.Failed() {
		row.Fix = "ended with " + j.Verdict.Ending.Short()
	}
	if len(j.Plan.Fixes) > 0 {
		row.Fix = j.Plan.Fixes[0].Title + ": " + j.Plan.Fixes[0].Worth()
	}
	return row
}

// JudgePage reads and judges a recording of the list.
func (s *shelf) JudgePage(name string) (page.Subject, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	file := filepath.Join(s.folder, name)
	if !slices.Contains(judged.ListNewest(s.folder), file) { // such as a name with .. in it
		return page.Subject{}, fs.ErrNotExist
	}
	run, err := s.open(file)
	if err != nil {
		return page.Subject{}, err
	}
	j := judged.Judge(file, run)
	return page.Subject{Name: j.Path, Version: cli.Version, Run: j.Run, Verdict: j.Verdict, Plan: j.Plan}, nil
}
