package pack

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/feed/source"
)

// Reading a pack gives the same as the folder: names, order, labels, bytes, and digest.
func TestPackIsReadAsItsFolder(t *testing.T) {
	root, packed := t.TempDir(), t.TempDir()
	plant(t, root, append([]string{"cat/\"quoted\"\xfe\xff\".jpg", `cat/\udcff.jpg`}, odd...))
	want, seed := list(t, root), uint64(7)
	for _, shuffle := range []*uint64{nil, &seed} {
		o := options()
		o.Shuffle = shuffle
		folder := filepath.Join(packed, "straight")
		if shuffle != nil {
			folder = filepath.Join(packed, "shuffled")
		}
		if index := run(t, want, folder, o); len(index.Shards) < 3 {
			t.Fatalf("%d shards are too few for a test", len(index.Shards))
		}
		got := list(t, folder)
		if got.Len() != want.Len() || strings.Join(got.Classes(), "|") != strings.Join(want.Classes(), "|") {
			t.Fatalf("%d samples of %q, want %d of %q", got.Len(), got.Classes(), want.Len(), want.Classes())
		}
		if got.Digest() != want.Digest() {
			t.Error("a training on the folder could not go on with the pack")
		}
		for i := range want.Len() {
			a, err := want.Read(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := got.Read(i, nil)
			if err != nil || !bytes.Equal(a, b) || got.Below(i) != want.Below(i) || got.Label(i) != want.Label(i) {
				t.Errorf("sample %d: %q %d with %d bytes (%v), want %q %d with %d", i, got.Below(i), got.Label(i), len(b), err,
					want.Below(i), want.Label(i), len(a))
			}
		}
	}
}

// A list of samples, as a client has them, finds them in a pack.
func TestListOfSamplesOfPack(t *testing.T) {
	root, folder := t.TempDir(), t.TempDir()
	plant(t, root, odd)
	run(t, list(t, root), folder, options())
	given := append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16)...)
	given[8], given[16] = 9, 8
	from, err := source.Parse(folder, append(given, "cat/\xff.jpg\x00cat/a.png\x00"...), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	for i, name := range []string{"cat/\xff.jpg", "cat/a.png"} {
		data, err := from.Read(i, nil)
		if err != nil || !bytes.HasPrefix(data, []byte(name)) || from.Label(i) != 9-i {
			t.Errorf("%q: %.40q with label %d, %v", name, data, from.Label(i), err)
		}
	}
	if _, err := source.Parse(folder, append(given, "cat/\xff.jpg\x00cat/none.png\x00"...), source.Options{}); err == nil ||
		!strings.Contains(err.Error(), "the pack has no cat/none.png") {
		t.Errorf("a file that is not in the pack: %v", err)
	}
}

// A damaged pack is reported, and its intact part is read.
func TestDamagedPack(t *testing.T) {
	root := t.TempDir()
	plant(t, root, odd)
	o := options()
	for name, c := range map[string]struct {
		damage func(folder string) error
		listed string // of what listing says; "": it can be listed
		read   string // of what reading a sample of shard 1 says
	}{
		"a byte of a picture": {func(folder string) error {
			list, err := readList(folder, 1)
			if err != nil {
				return err
			}
			at := list.Samples[0].At
			return change(filepath.Join(folder, "shard-000001.tar"), func(b []byte) []byte { b[at] ^= 1; return b })
		}, "", "not those that were packed"},
		"cut": {func(folder string) error {
			return os.Truncate(filepath.Join(folder, "shard-000001.tar"), 600)
		}, "", "it has 600 bytes"},
		"a shard is gone": {func(folder string) error {
			return os.Remove(filepath.Join(folder, "shard-000001.tar"))
		}, "", "no such file"},
		"a list is gone": {func(folder string) error {
			return os.Remove(filepath.Join(folder, "shard-000001.json"))
		}, "shard-000001.json", ""},
		"a list of another pack": {func(folder string) error {
			other := filepath.Join(root, "..", "other")
			p := o
			p.Bytes = 30000
			run(t, list(t, root), other, p)
			defer os.RemoveAll(other)
			return os.Rename(filepath.Join(other, "shard-000001.json"), filepath.Join(folder, "shard-000001.json"))
		}, "does not match the index", ""},
		"the index is cut": {func(folder string) error {
			return os.Truncate(filepath.Join(folder, "index.json"), 40)
		}, "index.json of the pack cannot be read", ""},
		"not whole": {func(folder string) error {
			return os.Remove(filepath.Join(folder, "index.json"))
		}, "is an incomplete pack", ""},
		"a newer one": {func(folder string) error {
			return change(filepath.Join(folder, "index.json"), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"format":1`), []byte(`"format":2`), 1)
			})
		}, "format 2", ""},
		"a sum that is too long": {func(folder string) error {
			return change(filepath.Join(folder, "shard-000001.json"), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"sha256":"`), []byte(`"sha256":"00`), 1)
			})
		}, "is damaged at", ""},
		"more samples than memory": {func(folder string) error {
			return change(filepath.Join(folder, "index.json"), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"samples":`), []byte(`"samples":9000000000`), 1)
			})
		}, "its index has 9000000000", ""},
		"a wrong label": {func(folder string) error {
			return change(filepath.Join(folder, "shard-000001.json"), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"label":`), []byte(`"label":1`), 1)
			})
		}, "not the label of that class", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			run(t, list(t, root), folder, o)
			if err := c.damage(folder); err != nil {
				t.Fatal(err)
			}
			from, err := source.List(context.Background(), folder, source.Options{})
			if c.listed != "" {
				if err == nil || !strings.Contains(err.Error(), c.listed) {
					t.Errorf("listing it: %v, want %q", err, c.listed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			bad := 0
			for i := range from.Len() {
				_, err := from.Read(i, nil)
				in := strings.Contains(from.Path(i), "shard-000001.tar")
				if err != nil && (!in || !strings.Contains(err.Error(), c.read)) {
					t.Errorf("%s: %v", from.Path(i), err)
				}
				if err != nil {
					bad++
				}
			}
			if bad == 0 || bad == from.Len() {
				t.Errorf("%d of %d samples are refused", bad, from.Len())
			}
		})
	}
}

// change rewrites a file.
func change(file string, by func([]byte) []byte) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, by(data), 0o600)
}
