package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/closed"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/web"
)

func (a *app) web() *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "web [FOLDER]",
		Short: "Serve the pages of all recordings here to a browser on this machine",
		Long: `Serve a list of the recordings in FOLDER (default: stoker-runs) and the page of each to a browser on this
machine. The page of a run that goes on asks for itself again. It listens on loopback alone, and answers only who
has the address that it prints: that has a token in it.`,
		Example: `  stoker web
  stoker web --port 8765 stoker-runs
  ssh -L 8765:127.0.0.1:8765 node stoker web --port 8765     from a node without a browser`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.began = true
			folder := runsFolder
			if len(args) > 0 {
				folder = args[0]
			}
			return a.runWeb(cmd.Context(), folder, port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "port of loopback (default: one that is free)")
	return cmd
}

func (a *app) runWeb(ctx context.Context, folder string, port int) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return hintedError{fmt.Errorf("serve %s: there is no such folder", folder), "stoker web FOLDER, where the recordings are; stoker observe makes stoker-runs"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("serve %s: %w", folder, err)
	}
	handler := web.New(&shelf{folder: folder, judged: map[string]shelved{}, grows: map[string]*growing{}}, listener.Addr())
	server := closed.Server(handler)
	if _, err := fmt.Fprintln(a.stdout, handler.Address()); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.say("serving %s until Ctrl-C", folder)
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shelf is a folder of recordings. What was judged is kept while a file stays as it is.
type shelf struct {
	folder string
	mutex  sync.Mutex
	judged map[string]shelved
	grows  map[string]*growing
}

// growing is a recording that is being written, as far as it was read.
type growing struct {
	in  *recording.Follower
	run *recording.Run
}

// open reads a recording, one that is being written from where it was left.
func (s *shelf) open(file string) (*recording.Run, error) {
	g := s.grows[file]
	if !beingWritten(file) {
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
	if run != nil {
		g.run = run
	}
	return g.run, err
}

// shelved is a row and what it was made of.
type shelved struct {
	size int64
	when time.Time
	row  web.Row
}

// mostRows bounds the list.
const mostRows = 200

// List judges what is new.
func (s *shelf) List() ([]web.Row, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var rows []web.Row
	for _, file := range s.files() {
		info, err := os.Stat(file)
		if err != nil {
			continue // it has gone
		}
		known, seen := s.judged[file]
		if !seen || known.size != info.Size() || !known.when.Equal(info.ModTime()) {
			known = shelved{info.Size(), info.ModTime(), s.row(file)}
			s.judged[file] = known
		}
		rows = append(rows, known.row)
	}
	return rows, nil
}

// files are the newest recordings of the folder, newest first.
func (s *shelf) files() []string {
	files := recordings(s.folder)
	return files[:min(len(files), mostRows)]
}

// escapedGlob is a folder's name that stands for itself in a pattern.
func escapedGlob(folder string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(folder)
}

func (s *shelf) row(file string) web.Row {
	row := web.Row{Name: filepath.Base(file), Class: "cannot be read", Tone: "todo"}
	run, err := s.open(file)
	if err != nil {
		return row
	}
	j := judgeRun(file, run)
	row.Class, row.Tone, row.Stall = string(j.verdict.Class), report.Tone(j.verdict), stoker.Percent(j.verdict.Stall)
	if started := j.run.Facts.Started; started > 0 {
		row.When = time.Unix(int64(started), 0).UTC().Format("2006-01-02 15:04 UTC")
	}
	if r := j.verdict.Costs.Rate(); r > 0 {
		row.Rate = stoker.AboutSamples(r)
	}
	if len(j.plan.Fixes) > 0 {
		row.Fix = j.plan.Fixes[0].Title + ": " + j.plan.Fixes[0].Worth()
	}
	return row
}

// Page reads and judges a recording of the list.
func (s *shelf) Page(name string) (report.Subject, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	file := filepath.Join(s.folder, name)
	if !slices.Contains(s.files(), file) { // a name with a folder in it is none of these
		return report.Subject{}, fs.ErrNotExist
	}
	run, err := s.open(file)
	if err != nil {
		return report.Subject{}, err
	}
	j := judgeRun(file, run)
	return report.Subject{Name: j.path, Version: version, Run: j.run, Verdict: j.verdict, Plan: j.plan}, nil
}
