package trace

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packedFile is a file of an archive.
type packedFile struct {
	name string
	data []byte
}

func tarOf(t *testing.T, files []packedFile) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(f.data)
	}
	_ = w.Close()
	return b.Bytes()
}

func zipOf(t *testing.T, files []packedFile) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		m, err := w.Create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = m.Write(f.data)
	}
	_ = w.Close()
	return b.Bytes()
}

// An archive of ranks is read like their folder, with what macOS and people put beside them.
func TestArchives(t *testing.T) {
	files := []packedFile{
		{"run/README.md", []byte("four ranks")},
		{"run/rank0.json.gz", zipped(made(0, 2, 3))},
		{"run/._rank0.json.gz", []byte("\x00\x05\x16\x07")},
		{"run/rank1.json", made(1, 2, 3)},
	}
	for name, data := range map[string][]byte{
		"t.tar": tarOf(t, files), "t.tar.gz": zipped(tarOf(t, files)), "t.tgz": zipped(tarOf(t, files)),
		"t.tar.zst": packedZstd(t, tarOf(t, files)), "t.zip": zipOf(t, files), "download": zipOf(t, files),
	} {
		run := read(t, written(t, t.TempDir(), name, data))
		if n := len(run.Timeline.Devices); n != 2 || len(run.Steps) != 6 || run.Timeline.Devices[1].Rank != 1 {
			t.Errorf("%s: %d devices, %d steps", name, n, len(run.Steps))
		}
		if !slices.ContainsFunc(run.Warnings, func(w string) bool { return strings.Contains(w, "2 other files were left alone in") }) {
			t.Errorf("%s: %q", name, run.Warnings)
		}
	}
}

// What is not read from front to back is read from an archive all the same.
func TestArchivesOfDatabases(t *testing.T) {
	data, err := os.ReadFile("nsight/testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	plain := read(t, "nsight/testdata/made.sqlite")
	before, _ := filepath.Glob(filepath.Join(os.TempDir(), "stoker-trace-*"))
	run := read(t, written(t, t.TempDir(), "t.zip", zipOf(t, []packedFile{{"report1.sqlite", data}, {"report1.nsys-rep", []byte("\x00\x01")}})))
	if a, b := len(run.Timeline.Device.Start), len(plain.Timeline.Device.Start); a != b || a == 0 {
		t.Errorf("%d pieces of work in an archive, %d in the file", a, b)
	}
	if after, _ := filepath.Glob(filepath.Join(os.TempDir(), "stoker-trace-*")); len(after) > len(before) {
		t.Errorf("left behind: %q", after)
	}
}

// What is wrong with an archive is said with its name.
func TestBadArchives(t *testing.T) {
	good := tarOf(t, []packedFile{{"rank0.json", made(0, 1, 2)}})
	bomb := append([]byte("["), bytes.Repeat([]byte(" "), 300<<20)...)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut.zip":   {zipOf(t, []packedFile{{"rank0.json", made(0, 1, 2)}})[:200], "the zip archive is damaged or cut"},
		"cut.tar":   {good[:len(good)/2], "ends early, as an unfinished download does"},
		"none.zip":  {zipOf(t, []packedFile{{"a.txt", nil}}), "the archive holds no trace (1 other file)"},
		"none.tar":  {tarOf(t, []packedFile{{"a.txt", nil}, {"b", nil}}), "the archive holds no trace (2 other files)"},
		"two.zip":   {zipOf(t, []packedFile{{"a/rank0.json", made(0, 1, 2)}, {"b/rank0.json", made(0, 1, 2)}}), "are both of rank 0"},
		"other.zip": {zipOf(t, []packedFile{{"a.json", []byte(`{"a": 1}`)}}), "JSON without traceEvents"},
		"bomb.zip":  {zipOf(t, []packedFile{{"a.json", bomb}}), "unpacks to far more"},
	} {
		run, err := Read(context.Background(), []string{written(t, t.TempDir(), name, c.data)}, Options{})
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = strings.Join(run.Warnings, " ")
		}
		if !strings.Contains(said, c.want) || err != nil && !strings.Contains(said, name) {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
	}
}

// A folder for each rank, as launchers make them, is a folder of ranks.
func TestFoldersOfRanks(t *testing.T) {
	dir := t.TempDir()
	for rank := range 2 {
		inner := filepath.Join(dir, []string{"rank0", "rank_1"}[rank])
		if err := os.Mkdir(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		written(t, inner, "trace.json", bytes.Replace(made(rank, 2, 2), []byte(`"distributedInfo"`), []byte(`"unknown"`), 1))
	}
	run := read(t, dir)
	if n := len(run.Timeline.Devices); n != 2 || len(run.Warnings) != 0 {
		t.Errorf("%d devices, %q", n, run.Warnings)
	}
}

// A folder of another program's files says how to export them.
func TestFoldersOfOthers(t *testing.T) {
	for name, want := range map[string]string{"a.nsys-rep": "nsys export", "a.parquet": "nsys export", "1_kernel_trace.csv": "--output-format json"} {
		dir := t.TempDir()
		written(t, dir, name, []byte("\x00"))
		_, err := Read(context.Background(), []string{dir}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
