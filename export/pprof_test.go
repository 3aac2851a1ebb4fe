package export

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/recording"
)

// stacked is a run whose loader was looked at.
func stacked() *recording.Run {
	own := recording.Place{File: "/home/me/train.py", Line: 41, Function: "Faces.__getitem__"}
	load := recording.Place{File: "PIL/ImageFile.py", Line: 300, Function: "ImageFile.load"}
	other := recording.Place{File: "/home/me/train.py", Line: 44, Function: "Faces.__getitem__"}
	run := &recording.Run{}
	for _, s := range []recording.Stack{
		{Loading: recording.Loading{PID: 7}, Places: []recording.Place{own, load}, Seconds: 3},
		{Loading: recording.Loading{PID: 7}, Places: []recording.Place{other}, Asleep: true, Seconds: 1},
		{Loading: recording.Loading{PID: 7}, Seconds: 0.5},
	} {
		run.Series = append(run.Series, recording.Series{Signal: recording.FetchStack, Subject: s.SeriesSubject(), T: []float64{0, 9}, V: []float64{0, s.Seconds}})
	}
	run.Series = append(run.Series, recording.Series{Signal: recording.FetchLooks, Subject: "process/7;main", T: []float64{0, 9}, V: []float64{0, 180}})
	return run
}

// read is what Go's own tool says of a profile.
func read(t *testing.T, b *bytes.Buffer) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fetch.pb")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "tool", "pprof", "-top", "-lines", file)
	c.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// TestPProf: Go's own tool reads the profile.
func TestPProf(t *testing.T) {
	var b bytes.Buffer
	if err := PProf(&b, stacked()); err != nil {
		t.Fatal(err)
	}
	const want = `            3000ms 66.67% 66.67%     3000ms 66.67%  ImageFile.load PIL/ImageFile.py:300
            1000ms 22.22% 88.89%     1000ms 22.22%  Faces.__getitem__ /home/me/train.py:44
             500ms 11.11%   100%      500ms 11.11%  (others)
                 0     0%   100%     3000ms 66.67%  Faces.__getitem__ /home/me/train.py:41
`
	if out := read(t, &b); !strings.Contains(out, strings.Join(strings.Fields(want), " ")) {
		t.Errorf("pprof says\n%s\nwant in it\n%s", out, want)
	}
	if err := PProf(&b, &recording.Run{}); !errors.Is(err, ErrNoStacks) {
		t.Errorf("of a run that was not looked at: %v", err)
	}
}

// Frames of a trace have their files and lines, and their time without that of their callees.
func TestHostPProf(t *testing.T) {
	root := &flame.Node{Name: "host threads", Time: 6e9, Children: []*flame.Node{{Name: "thread 7", Time: 6e9, Children: []*flame.Node{
		{Name: "train.py(41): forward", Time: 6e9, Children: []*flame.Node{{Name: "aten::mm", Time: 4e9}}},
	}}}}
	var b bytes.Buffer
	if err := HostPProf(&b, &recording.Run{}, root); err != nil {
		t.Fatal(err)
	}
	if out := read(t, &b); !strings.Contains(out, "4s 66.67% 66.67% 4s 66.67% aten::mm") || !strings.Contains(out, "2s 33.33% 100% 6s 100% forward train.py:41") {
		t.Error(out)
	}
}
