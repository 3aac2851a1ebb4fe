package trace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// xspace is a profile of one host with one kernel and its launch.
func xspace(host string) []byte {
	number := func(field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
	}
	message := func(field protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), slices.Concat(parts...))
	}
	name := func(field protowire.Number, text string) []byte {
		return message(field, number(1, 1), message(2, number(1, 1), message(2, []byte(text))))
	}
	event := message(4, number(1, 1), number(2, 1e6), number(3, 50e6), message(4, number(1, 1), number(3, 9)))
	plane := func(of, line, call string) []byte {
		return message(1, message(2, []byte(of)), message(3, number(1, 7), message(2, []byte(line)), number(3, 1000), event), name(4, call), name(5, "correlation_id"))
	}
	return slices.Concat(plane("/host:CPU", "main", "cuLaunchKernel"), plane("/device:GPU:0", "Stream #1(Compute)", "kernel"), message(4, []byte(host)))
}

// TestXPlaneByContent recognises a profile whatever its name is, packed or not.
func TestXPlaneByContent(t *testing.T) {
	b := xspace("a")
	for name, data := range map[string][]byte{
		"a.xplane.pb": b, "a.bin": b, "a.xplane.pb.gz": zipped(b), "a.xplane.pb.zst": packedZstd(t, b), "renamed.json": b,
	} {
		run, err := Read(context.Background(), []string{written(t, t.TempDir(), name, data)}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check(t, run)
		if len(run.Timeline.Device.Start) != 1 || run.Timeline.Device.Call[0] != 0 || run.Facts.Software.Framework == "" {
			t.Errorf("%s: %+v", name, run.Timeline.Device)
		}
	}
}

// TestXPlaneDamaged: a cut packed file is read as far as it goes; rubbish under the
// name is refused with the byte.
func TestXPlaneDamaged(t *testing.T) {
	b := xspace("a")
	run, err := Read(context.Background(), []string{written(t, t.TempDir(), "a.xplane.pb", b[:len(b)-20])}, Options{})
	if err != nil || !strings.Contains(strings.Join(run.Warnings, " "), "ends within a message, at byte") {
		t.Errorf("cut: %v", err)
	}
	for _, data := range [][]byte{{0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd}, zipped([]byte{0xff, 0xff}), b[:30]} {
		_, err = Read(context.Background(), []string{written(t, t.TempDir(), "b.xplane.pb", data)}, Options{})
		var malformed *malformedError
		if !errors.As(err, &malformed) || malformed.Offset < 0 || malformed.Hint == "" {
			t.Errorf("%x: %v", data, err)
		}
	}
}

// TestTensorBoardFolder reads the newest run of a folder that TensorBoard is given:
// one profile per host, and not the JSON beside them.
func TestTensorBoardFolder(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"2026_11_20_10_00_00", "2026_11_21_10_00_00"} {
		folder := filepath.Join(dir, "plugins", "profile", run)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a", "b"} {
			written(t, folder, host+".xplane.pb", xspace(host))
			written(t, folder, host+".trace.json.gz", zipped([]byte(`{"traceEvents": []}`)))
		}
	}
	run, err := Read(context.Background(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, run)
	if len(run.Timeline.Devices) != 2 || run.Timeline.Devices[0].Rank == run.Timeline.Devices[1].Rank {
		t.Errorf("devices %+v, want one of each of two ranks", run.Timeline.Devices)
	}
	text := strings.Join(run.Warnings, "\n")
	if !strings.Contains(text, "2 profiles: the newest was read, 2026_11_21_10_00_00") || !strings.Contains(text, "2 other files") {
		t.Errorf("warnings %q", text)
	}
}
