//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// pictures is a folder of two classes with five red images each, 4 x 4.
func pictures(t *testing.T) string {
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
			if err := os.WriteFile(filepath.Join(root, class, fmt.Sprintf("%d.png", i)), file.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

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
		{[]string{"feed"}, exitUsage, "a command to run"},
		{[]string{"feed", "data"}, exitUsage, "behind --"},
		{[]string{"feed", "data", "--", "true"}, exitUsage, "behind --"},
		{[]string{"feed", "--check", "x", "--", "true"}, exitUsage, "exclude each other"},
		{[]string{"feed", "--verify", "0", "--", "true"}, exitUsage, "--verify 0"},
		{[]string{"feed", "--verify", "3", "--check", "x"}, exitUsage, "--verify 3"},
		{[]string{"feed", "--", "/absent/program"}, exitNotFound, "/absent/program"},
		{[]string{"feed", "--", open}, exitCannotRun, "is a directory"},
		{[]string{"feed", "--fd", "3", "--check", "x"}, exitUsage, "exclude each other"},
		{[]string{"feed", "--check", "x", "--size", "0"}, exitUsage, "--size 0"},
		{[]string{"feed", "--check", "x", "--nice", "20"}, exitUsage, "--nice 20"},
		{[]string{"feed", "--check", "x", "--threads", "-1"}, exitUsage, "--threads -1"},
		{[]string{"feed", "--socket", "x", "--ranks", "0"}, exitUsage, "--ranks 0"},
		{[]string{"feed", "--socket", ""}, exitUsage, "--socket is empty"},
		{[]string{"feed", "--socket", filepath.Join(private, strings.Repeat("s", 200))}, exitError, "too long a name"},
		{[]string{"feed", "--check", filepath.Join(open, "absent")}, exitError, "absent"},
		{[]string{"feed", "--fd", "1"}, exitError, "descriptor 1"},
		{[]string{"feed", "--fd", "999"}, exitError, "descriptor 999"},
		{[]string{"feed", "--socket", filepath.Join(open, "s")}, exitError, "may be written by others"},
	} {
		code, _, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
	signal.Reset(os.Interrupt)
}

func TestFeedCheck(t *testing.T) {
	root := pictures(t)
	code, out, errs := call(t, "feed", "--check", root, "--size", "8")
	if code != exitFine || !strings.Contains(out, "10 samples in 2 classes") || !strings.Contains(out, "\nformats: 10 png\n") || !strings.Contains(out, "\n0 bad files\n") {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}
	bad := filepath.Join(root, "dog", "3.png")
	if err := os.Truncate(bad, 40); err != nil {
		t.Fatal(err)
	}
	code, out, _ = call(t, "feed", "--check", root, "--size", "8")
	if code != exitError || !strings.Contains(out, "\n1 bad file\n  "+bad+": ") {
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

// A store is no folder below this one.
func TestFeedCheckOfAStore(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "nowhere")
	if code, _, errs := call(t, "feed", "--check", "s3://pictures/train"); code != exitError || !strings.Contains(errs, "AWS_ENDPOINT_URL names no store") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// TestFeedServes opens a session as a client does, and looks at a pixel.
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
		"output":{"dtype":"uint8","layout":"nchw"},"batch":4,"world":1,"seed":1,"shuffle":true,"tail":"short","on_error":"fail"}}`, pictures(t))
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
