package source

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type sample struct {
	path  string
	label int64
}

// encoded is a list as a client sends it.
func encoded(samples ...sample) []byte {
	list := binary.LittleEndian.AppendUint64(nil, uint64(len(samples)))
	for _, s := range samples {
		list = binary.LittleEndian.AppendUint64(list, uint64(s.label))
	}
	for _, s := range samples {
		list = append(append(list, s.path...), 0)
	}
	return list
}

// given are samples of every kind that a client may have.
var given = []sample{
	{"cat/1.jpg", 0},
	{"cat/2.jpg", 0},
	{"cat/2.jpg", 7},
	{"cat/1.jpg", -3},
	{"dog/1.jpg", 1 << 62},
	{"top.jpg", 2},
	{"/elsewhere/a.jpg", 2},
	{"deep/er/still/a \xff.jpg", 2},
	{"cat/1.jpg", 0},
	{"cat//1.jpg", 0},
	{"../up.jpg", 0},
}

func TestParse(t *testing.T) {
	root := t.TempDir()
	f, err := Parse(root, encoded(given...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Len() != len(given) {
		t.Fatalf("%d samples, expected %d", f.Len(), len(given))
	}
	for i, want := range given {
		path := want.path
		if !strings.HasPrefix(path, "/") {
			path = root + "/" + path
		}
		if f.Path(i) != path || int64(f.Label(i)) != want.label {
			t.Errorf("sample %d is %q with label %d, expected %q with %d", i, f.Path(i), f.Label(i), path, want.label)
		}
	}
}

// TestParseReads: files below the root and elsewhere are read, by any form of path.
func TestParseReads(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	outside := filepath.Join(other, "b.jpg")
	for path, text := range map[string]string{filepath.Join(root, "a.jpg"): "inside", outside: "outside"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Parse(root, encoded(sample{outside, 1}, sample{"a.jpg", 0}, sample{outside, 2}, sample{"gone.jpg", 0}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, want := range []string{"outside", "inside", "outside"} {
		file, err := f.OpenFile(i)
		if err != nil {
			t.Fatal(err)
		}
		text, err := file.Read(nil)
		file.Close()
		if string(text) != want || err != nil {
			t.Errorf("sample %d reads %q, %v; expected %q", i, text, err, want)
		}
	}
	if _, err := f.OpenFile(3); err == nil {
		t.Error("a file that is gone was opened")
	}
}

// TestParseDigest: the digest is of paths, labels and their order, and of nothing else.
func TestParseDigest(t *testing.T) {
	digest := func(samples ...sample) [32]byte {
		f, err := Parse(t.TempDir(), encoded(samples...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Digest()
	}
	base := []sample{{"a/1", 0}, {"a/2", 0}, {"b/3", 1}}
	if first, again := digest(base...), digest(base...); first != again {
		t.Error("the same list under another root has another digest")
	}
	for _, other := range [][]sample{
		{{"a/1", 0}, {"a/2", 1}, {"b/3", 1}},
		{{"a/1", 1}, {"a/2", 1}, {"b/3", 1}},
		{{"a/2", 0}, {"a/1", 0}, {"b/3", 1}},
		{{"a/1", 0}, {"a/2", 0}},
		{{"a/1", 0}, {"a/2", 0}, {"b/3", 1}, {"b/3", 1}},
		{{"a/12", 0}, {"b/3", 1}},
		{{"a/1", 0}, {"a2", 0}, {"b/3", 1}},
		{},
	} {
		if digest(other...) == digest(base...) {
			t.Errorf("%v has the digest of %v", other, base)
		}
	}
	scanned := t.TempDir()
	for _, path := range []string{"a/1.jpg", "b/2.jpg"} {
		plant(t, "file", filepath.Join(scanned, path), "")
	}
	if list(t, scanned, Options{}).Digest() == digest(sample{"a/1.jpg", 0}, sample{"b/2.jpg", 1}) {
		t.Error("a list that a client gave has the digest of a folder that was listed: its labels may come from elsewhere tomorrow")
	}
}

func TestParseRefuses(t *testing.T) {
	whole := encoded(given...)
	for name, list := range map[string][]byte{
		"":                              nil,
		"not enough for the labels":     binary.LittleEndian.AppendUint64(nil, 1<<61),
		"ends after the paths of 10 of": whole[:len(whole)-1],
		"1 bytes follow":                append(slices.Clone(whole), 'x'),
		"is not the path of a file":     encoded(sample{"cat/", 0}),
		"sample 1: \"\"":                encoded(sample{"a", 0}, sample{"", 0}),
	} {
		if f, err := Parse(t.TempDir(), list, Options{}); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(name, "10 of", "10 samples of")) {
			t.Errorf("%s: %v %v", name, f, err)
		}
	}
	if _, err := Parse(filepath.Join(t.TempDir(), "nowhere"), whole, Options{}); err == nil {
		t.Error("a root that is not there")
	}
}

// FuzzParse: an accepted list has the declared number of samples, each with its path and label.
func FuzzParse(f *testing.F) {
	f.Add(encoded(given...))
	f.Add(encoded())
	f.Add(encoded(sample{"a", 1}, sample{"b/c", 1}, sample{"b/c", -1}))
	f.Add(encoded(sample{"b/c", 5})[:20])
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, list []byte) {
		folder, err := Parse(root, list, Options{})
		if err != nil {
			return
		}
		defer folder.Close()
		var again []sample
		for i := range folder.Len() {
			again = append(again, sample{folder.Below(i), int64(folder.Label(i))})
		}
		if !slices.Equal(encoded(again...), list) {
			t.Errorf("%q became %q", list, encoded(again...))
		}
		folder.Digest()
	})
}
