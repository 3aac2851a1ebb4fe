// Package clitest is shared by the tests of several verbs. It runs command lines, and has test files.
package clitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/leash"
)

// Verb makes the command of a verb.
type Verb = func(*cli.App) *cobra.Command

// Run runs a command line of a program with these verbs, and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, verbs ...Verb) int {
	return cli.Run(ctx, args, stdin, stdout, stderr, func(a *cli.App) *cobra.Command {
		root := a.NewRoot()
		for _, verb := range verbs {
			root.AddCommand(verb(a))
		}
		return root
	})
}

// Call runs a command line of a program with these verbs, and returns its exit code and output.
func Call(args []string, verbs ...Verb) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr, verbs...)
	return code, stdout.String(), stderr.String()
}

// AsCommand is an environment variable that makes the test binary behave as stoker.
const AsCommand = "STOKER_TEST_AS_COMMAND"

// Main is the TestMain of a package whose tests start programs, or their own binary as stoker.
func Main(m *testing.M, verbs ...Verb) {
	if os.Getenv(AsCommand) != "" {
		_ = os.Unsetenv(AsCommand)
		launch.EndTrial()
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, verbs...))
	}
	os.Exit(leash.Main(m))
}

// cases is the folder of test cases, relative to the tested package.
var cases = findCases()

func findCases() string {
	up := "."
	for range 6 {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			break
		}
		up = filepath.Join("..", up)
	}
	return filepath.Join(up, "testdata", "cases")
}

// CaseFile returns the path of a file of a case.
func CaseFile(name string) string { return filepath.Join(cases, name) }

// CaseFiles returns the files of all cases that match a pattern, such as all recordings.
func CaseFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cases, "*", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no such case (%v)", pattern, err)
	}
	return files
}

// WritePictures writes a folder of two classes with five red images each, 4 x 4.
func WritePictures(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	picture := image.NewRGBA(image.Rect(0, 0, 4, 4))
	for i := range 16 {
		picture.Set(i%4, i/4, color.RGBA{200, 10, 20, 255})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"cat", "dog"} {
		if err := os.Mkdir(filepath.Join(root, class), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			name := filepath.Join(root, class, fmt.Sprintf("%d.png", i))
			if err := os.WriteFile(name, file.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// LiveRun is a recording of a loader in the training loop.
var LiveRun = CaseFile("main-thread-live/run.jsonl")

// HideOwnRows hides the user's own rows of hardware from a test.
func HideOwnRows(t *testing.T) { t.Setenv("XDG_CONFIG_HOME", t.TempDir()) }

// Buffer is a buffer that two goroutines may use.
type Buffer struct {
	mutex sync.Mutex
	b     bytes.Buffer
}

func (s *Buffer) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.b.Write(p)
}

func (s *Buffer) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.b.String()
}

// MakeFolder makes a folder with recordings of cases. names has the case of each file.
func MakeFolder(t testing.TB, names map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range names {
		data, err := os.ReadFile(CaseFile(from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// StarvedRun and FedRun are recordings of one job, without and with stoker feed.
const (
	StarvedRun = "feed-before/run.jsonl.gz"
	FedRun     = "feed-after/run.jsonl.gz"
)

// HeedAgain stops ignoring signals that another test, which ran the daemon in this process, has
// ignored. Go's signal.Reset alone does not change an ignored signal.
func HeedAgain(signals ...os.Signal) {
	signal.Notify(make(chan os.Signal, 1), signals...)
	signal.Reset(signals...)
}

// WriteTrace writes a trace in PyTorch's format. Its steps take 10 ms, 6 ms of these in the
// loader.
func WriteTrace(t *testing.T, name string, rank, world int) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d}, "traceEvents": [`, rank, world)
	comma := ""
	put := func(format string, args ...any) {
		b.WriteString(comma + "\n")
		fmt.Fprintf(&b, format, args...)
		comma = ","
	}
	pid := 100 + rank
	for s := range 8 {
		at := 1000 + 10_000*s
		put(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":%d,"tid":%d,"ts":%d,"dur":9990}`, s, pid, pid, at)
		put(`{"ph":"X","cat":"user_annotation","name":"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__","pid":%d,"tid":%d,"ts":%d,"dur":6000}`, pid, pid, at+1)
		put(`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":%d,"tid":%d,"ts":%d,"dur":40,"args":{"Input Dims":[[64,64],[64,64]],"Input type":["float","float"]}}`, pid, pid, at+6010)
		for k := range 4 {
			put(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%d,"tid":%d,"ts":%d,"dur":5,"args":{"correlation":%d}}`, pid, pid, at+6012+6*k, 10*s+k+1)
			put(`{"ph":"X","cat":"kernel","name":"ampere_sgemm_64x64_nn","pid":0,"tid":7,"ts":%d,"dur":900,"args":{"device":0,"stream":7,"correlation":%d}}`, at+6040+901*k, 10*s+k+1)
		}
	}
	b.WriteString("]}")
	path := filepath.Join(t.TempDir(), name)
	data := b.Bytes()
	if strings.HasSuffix(name, ".gz") {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write(data)
		_ = w.Close()
		data = z.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// LoaderCase is a trace of a loader in the training loop.
var LoaderCase = CaseFile("trace-loader/trace.json.gz")
