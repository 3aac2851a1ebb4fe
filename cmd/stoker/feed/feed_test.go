//go:build linux

package feed

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

func TestFeedUsage(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	private := privatetest.MakeFolder(t)
	for _, c := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"feed"}, cli.ExitUsage, "a command to run"},
		{[]string{"feed", "data"}, cli.ExitUsage, "behind --"},
		{[]string{"feed", "data", "--", "true"}, cli.ExitUsage, "behind --"},
		{[]string{"feed", "--check", "x", "--", "true"}, cli.ExitUsage, "exclude each other"},
		{[]string{"feed", "--verify", "0", "--", "true"}, cli.ExitUsage, "--verify 0"},
		{[]string{"feed", "--verify", "3", "--check", "x"}, cli.ExitUsage, "--verify 3"},
		{[]string{"feed", "--", "/absent/program"}, cli.ExitNotFound, "/absent/program"},
		{[]string{"feed", "--", open}, cli.ExitCannotRun, "is a directory"},
		{[]string{"feed", "--fd", "3", "--check", "x"}, cli.ExitUsage, "exclude each other"},
		{[]string{"feed", "--check", "x", "--size", "0"}, cli.ExitUsage, "--size 0"},
		{[]string{"feed", "--check", "x", "--nice", "20"}, cli.ExitUsage, "--nice 20"},
		{[]string{"feed", "--check", "x", "--threads", "-1"}, cli.ExitUsage, "--threads -1"},
		{[]string{"feed", "--ray", "auto", "--check", "x"}, cli.ExitUsage, "--ray"},
		{[]string{"feed", "--ray", "", "--", "true"}, cli.ExitUsage, "--ray"},
		{[]string{"feed", "--ray", "host", "--", "true"}, cli.ExitUsage, "HOST:PORT"},
		{[]string{"feed", "--ray", "ray://host:10001", "--", "true"}, cli.ExitUsage, "HOST:PORT"},
		{[]string{"feed", "--ray-labels", "zone=a", "--", "true"}, cli.ExitUsage, "--ray ADDRESS"},
		{[]string{"feed", "--ray", "auto", "--ray-labels", "zone", "--", "true"}, cli.ExitUsage, "NAME=VALUE"},
		{[]string{"feed", "--ray", "auto", "--ray-resources", "CPU=x", "--", "true"}, cli.ExitUsage, "NAME=AMOUNT"},
		{[]string{"feed", "--workers", "8", "--", "true"}, cli.ExitUsage, "--workers 8"},
		{[]string{"feed", "--socket", "x", "--ranks", "0"}, cli.ExitUsage, "--ranks 0"},
		{[]string{"feed", "--socket", ""}, cli.ExitUsage, "--socket is empty"},
		{[]string{"feed", "--socket", filepath.Join(private, strings.Repeat("s", 200))}, cli.ExitError, "too long a name"},
		{[]string{"feed", "--check", filepath.Join(open, "absent")}, cli.ExitError, "absent"},
		{[]string{"feed", "--fd", "1"}, cli.ExitError, "descriptor 1"},
		{[]string{"feed", "--fd", "999"}, cli.ExitError, "descriptor 999"},
		{[]string{"feed", "--socket", filepath.Join(open, "s")}, cli.ExitError, "may be written by others"},
	} {
		code, _, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
	signal.Reset(os.Interrupt)
}

func TestFeedCheck(t *testing.T) {
	root := clitest.WritePictures(t)
	code, out, errs := call(t, "feed", "--check", root, "--size", "8")
	if code != cli.ExitFine || !strings.Contains(out, "10 samples in 2 classes") || !strings.Contains(out, "\nformats: 10 png\n") || !strings.Contains(out, "\n0 bad files\n") {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}
	bad := filepath.Join(root, "dog", "3.png")
	if err := os.Truncate(bad, 40); err != nil {
		t.Fatal(err)
	}
	code, out, _ = call(t, "feed", "--check", root, "--size", "8")
	if code != cli.ExitError || !strings.Contains(out, "\n1 bad file\n  "+bad+": ") {
		t.Errorf("code %d:\n%s", code, out)
	}
	_, out, _ = call(t, "feed", "--check", root, "--json")
	var r struct {
		Samples, Classes int
		Bad              []struct{ Path, Kind, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Samples != 10 || r.Classes != 2 || len(r.Bad) != 1 || r.Bad[0].Path != bad {
		t.Errorf("%v: %s", err, out)
	}
}

// A bucket must not be taken for a folder below the current one.
func TestFeedCheckOfAStore(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "nowhere")
	if code, _, errs := call(t, "feed", "--check", "s3://pictures/train"); code != cli.ExitError || !strings.Contains(errs, "AWS_ENDPOINT_URL names no store") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// TestFeedServes opens a session as a client does, and compares a pixel.
func TestFeedServes(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		code, out, errs := call(t, "feed", "--fd", fmt.Sprint(fds[1]), "--threads", "1")
		ended <- fmt.Sprintf("%d%s%s", code, out, errs)
	}()
	defer signal.Reset(os.Interrupt)
	open := fmt.Sprintf(`{"type":"open","protocol":1,"rank":0,"spec":{"name":"train","root":%q,"ops":[{"op":"resize","size":[2,2]},{"op":"pil_to_tensor"}],
		"output":{"dtype":"uint8","layout":"nchw"},"batch":4,"world":1,"seed":1,"shuffle":true,"tail":"short","on_error":"fail"}}`, clitest.WritePictures(t))
	buffer, control := make([]byte, 1<<16), make([]byte, 64)
	exchange := func(packet string) (answer struct {
		Type, Text string
		Slot       int
		Classes    []string
		Ring       struct {
			Bytes     int
			SlotBytes int `json:"slot_bytes"`
		}
	},
	) {
		if _, err := unix.Write(fds[0], []byte(packet)); err != nil {
			t.Fatal(err)
		}
		n, controlled, _, _, err := unix.Recvmsg(fds[0], buffer, control[:cap(control)], 0)
		if err != nil {
			t.Fatal(err)
		}
		control = control[:controlled]
		if err := json.Unmarshal(buffer[:n], &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	opened := exchange(open)
	if opened.Type != "opened" || len(opened.Classes) != 2 {
		t.Fatalf("%+v", opened)
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		t.Fatal(err)
	}
	passed, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	ring, err := unix.Mmap(passed[0], 0, opened.Ring.Bytes, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	batch := exchange(`{"type":"start","run":1}`)
	pixel := ring[batch.Slot*opened.Ring.SlotBytes:]
	if batch.Type != "batch" || pixel[0] != 200 || pixel[4] != 10 || pixel[8] != 20 {
		t.Errorf("%+v, pixel %v", batch, pixel[:12])
	}
	for _, err := range []error{unix.Munmap(ring), unix.Close(passed[0]), unix.Close(fds[0])} {
		if err != nil {
			t.Error(err)
		}
	}
	if said := leash.Receive(t, "the daemon's end with its client", ended); said != "0" {
		t.Errorf("the daemon ended with %s", said)
	}
}
