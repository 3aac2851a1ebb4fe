package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-dev/stoker/feed/pack/shards"
	"github.com/stoker-dev/stoker/feed/source"
)

// odd are names that an archive, WebDataset or a shell might take for something else.
var odd = []string{
	"cat/a.b.jpg", "cat/a.c.jpg", "cat/a.jpg", "cat/a.JPG", "cat/a.png", "cat/a.png.png", "cat/a%2Eb.jpg", "cat/.jpg",
	"cat/ä ö.jpeg", "cat/one\ntwo.jpg", "cat/-rf.jpg", "cat/\xff.jpg", "cat/sub.dir/a.jpg", "cat/sub/../x.jpg", "cat/a\\b.jpg",
	"__dog__/1.jpg", "__dog__/%~jpg.jpg", "__dog__/" + strings.Repeat("long", 60) + ".jpg", "v1.0/1.jpg", "v1/0/1.jpg",
}

// plant writes files, each with its own name and something more as its bytes.
func plant(t *testing.T, root string, names []string) {
	t.Helper()
	for i, name := range names {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.Repeat([]byte(name), 10*i+1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func list(t *testing.T, root string) *source.Folder {
	t.Helper()
	from, err := source.List(context.Background(), root, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	return from
}

func options() Options {
	return Options{Bytes: 20000, Progress: func(int, int) {}}
}

func run(t *testing.T, from Source, folder string, o Options) *shards.Index {
	t.Helper()
	index, err := WriteShards(context.Background(), from, folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// webdataset groups a shard's members as WebDataset's group_by_keys does.
func webdataset(t *testing.T, file string) (samples []map[string][]byte) {
	t.Helper()
	open, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	split := regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)
	skipped := regexp.MustCompile(`^__[^/]*__($|/)`)
	last := ""
	for r := tar.NewReader(open); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return samples
		}
		if err != nil {
			t.Fatal(err)
		}
		parts := split.FindStringSubmatch(header.Name)
		if parts == nil || skipped.MatchString(header.Name) {
			t.Errorf("WebDataset does not see %q", header.Name)
			continue
		}
		if parts[1] != last {
			samples, last = append(samples, map[string][]byte{}), parts[1]
		}
		field := strings.ToLower(parts[2])
		if samples[len(samples)-1][field] != nil {
			t.Errorf("%q comes twice", header.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		samples[len(samples)-1][field] = content
	}
}

// Each file is a separate sample with its bytes and its label, for any file names.
func TestEverySampleOnce(t *testing.T) {
	root, folder := t.TempDir(), filepath.Join(t.TempDir(), "packed")
	plant(t, root, odd)
	from := list(t, root)
	seed := uint64(3)
	for _, shuffle := range []*uint64{nil, &seed} {
		o := options()
		o.Shuffle = shuffle
		folder := fmt.Sprint(folder, shuffle != nil)
		index := run(t, from, folder, o)
		seen := map[string]string{}
		for _, shard := range index.Shards {
			for _, s := range webdataset(t, filepath.Join(folder, shard.File)) {
				if len(s) != 3 || s["cls"] == nil || s["json"] == nil {
					t.Errorf("a sample has %d fields: %s", len(s), s["json"])
				}
				label := string(s["cls"])
				delete(s, "cls")
				delete(s, "json")
				for _, image := range s {
					seen[string(image)] = label
				}
			}
		}
		for i := range from.Len() {
			bytes, err := from.Read(i, nil)
			if label, found := seen[string(bytes)]; err != nil || !found || label != fmt.Sprint(from.Label(i)) {
				t.Errorf("%q: %v, packed: %v, with label %q", from.Below(i), err, found, label)
			}
		}
		if len(seen) != from.Len() || index.Samples != from.Len() || len(index.Shards) < 2 {
			t.Errorf("%d samples in %d shards, of %d", len(seen), len(index.Shards), from.Len())
		}
		if _, err := Verify(context.Background(), from, folder, o); err != nil {
			t.Error(err)
		}
	}
}

// JSON has names as Python has them: json.loads and os.fsencode give the bytes back.
func TestNamesInJSON(t *testing.T) {
	for name, want := range map[shards.FilePath]string{"a/ä \"1\".jpg": `"a/ä \"1\".jpg"`, "\xff\xfe": `"\udcff\udcfe"`, "\n": `"\n"`} {
		if got, err := json.Marshal(name); err != nil || string(got) != want {
			t.Errorf("%q is %s, %v; expected %s", string(name), got, err, want)
		}
		var back shards.FilePath
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != name {
			t.Errorf("%s is read as %q, %v; expected %q", want, string(back), err, string(name))
		}
	}
}

// digests are the files of a folder.
func digests(t *testing.T, folder string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = sha256.Sum256(text)
	}
	return all
}

// After an interruption at any sample, and with the remains of a kill, resuming produces the
// same files; before that no folder counts as complete.
func TestResume(t *testing.T) {
	root := t.TempDir()
	plant(t, root, odd)
	from := list(t, root)
	whole := filepath.Join(t.TempDir(), "whole")
	run(t, from, whole, options())
	want := digests(t, whole)
	folder := filepath.Join(t.TempDir(), "packed")
	for stop := 0; stop < from.Len(); stop += 3 {
		ctx, cancel := context.WithCancel(context.Background())
		o := options()
		o.Progress = func(done, _ int) {
			if done > stop {
				cancel()
			}
		}
		if _, err := WriteShards(ctx, from, folder, o); err == nil && stop < from.Len()-3 {
			t.Fatalf("stopped after sample %d, and all is well", stop)
		}
		cancel()
		for name, digest := range digests(t, folder) {
			if want[name] != digest {
				t.Errorf("stopped after sample %d, %s is another", stop, name)
			}
		}
		os.Remove(filepath.Join(folder, shards.IndexName))
		if _, err := Verify(context.Background(), nil, folder, options()); err == nil {
			t.Error("a pack without an index is verified")
		}
	}
	for name, damage := range map[string]func(file string) error{
		shards.ListName(1): os.Remove, shards.TarName(0): func(file string) error { return os.Truncate(file, 700) },
		".x.partial": func(file string) error { return os.WriteFile(file, []byte("half"), 0o600) },
	} {
		if err := damage(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		run(t, from, folder, options())
		if got := digests(t, folder); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after a damage to %s other files came", name)
		}
	}
}

// archived writes a folder as a tar file.
func archived(t *testing.T, root, prefix string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "train.tar"))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(file)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		header := &tar.Header{Name: prefix + name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatGNU}
		return errors.Join(err, w.WriteHeader(header), func() error { _, err := w.Write(text); return err }())
	})
	if err := errors.Join(err, w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// A tar file gives the pack that the folder gives which it was made of, to the byte.
func TestFromTar(t *testing.T) {
	root := t.TempDir()
	plant(t, root, odd)
	whole := filepath.Join(t.TempDir(), "whole")
	run(t, list(t, root), whole, options())
	for _, prefix := range []string{"", "./", "train/", "./data/train/"} {
		from, err := source.ListTar(context.Background(), archived(t, root, prefix), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), "packed")
		run(t, from, folder, options())
		if got, want := digests(t, folder), digests(t, whole); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: other files than of the folder", prefix)
		}
		from.Close()
	}
}

// Verify finds any change of the pack and of the originals.
func TestVerifyFinds(t *testing.T) {
	root := t.TempDir()
	plant(t, root, odd)
	from := list(t, root)
	swap := func(file string, at int64) error {
		open, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer open.Close()
		var b [1]byte
		_, err = open.ReadAt(b[:], at)
		b[0] ^= 1
		_, wrong := open.WriteAt(b[:], at)
		return errors.Join(err, wrong)
	}
	for want, damage := range map[string]func(folder string) error{
		"differs from what was packed": func(folder string) error {
			list, err := readList(folder, 1)
			return errors.Join(err, swap(filepath.Join(folder, shards.TarName(1)), list.Samples[0].At))
		},
		"archive/tar: invalid":         func(folder string) error { return swap(filepath.Join(folder, shards.TarName(1)), 3) },
		"is missing, incomplete":       func(folder string) error { return os.Remove(filepath.Join(folder, shards.TarName(1))) },
		"it is not a pack, or it is":   func(folder string) error { return os.Remove(filepath.Join(folder, shards.IndexName)) },
		"x.jpg is not what was packed": func(string) error { return os.WriteFile(filepath.Join(root, "cat/x.jpg"), []byte("new"), 0o600) },
	} {
		folder := filepath.Join(t.TempDir(), "packed")
		run(t, from, folder, options())
		if err := damage(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(context.Background(), from, folder, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

// A folder of others, of another pack or within the data set is left alone.
func TestRefused(t *testing.T) {
	root := t.TempDir()
	plant(t, root, odd)
	from, folder := list(t, root), filepath.Join(t.TempDir(), "packed")
	run(t, from, folder, options())
	other := options()
	other.Samples = 2
	if _, err := WriteShards(context.Background(), from, folder, other); !errors.Is(err, ErrOther) {
		t.Errorf("other options: %v", err)
	}
	plant(t, root, []string{"cat/new.jpg"})
	if _, err := WriteShards(context.Background(), list(t, root), folder, options()); !errors.Is(err, ErrOther) {
		t.Errorf("another data set: %v", err)
	}
	plant(t, folder, []string{"notes.txt"})
	if _, err := WriteShards(context.Background(), from, folder, options()); !errors.Is(err, ErrOther) {
		t.Errorf("a file of others: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for name, within := range map[string]bool{root: true, root + "/a/b": true, link + "/new": true, root + "2": false, filepath.Dir(root): false, root + "/..x": true} {
		if Within(name, root) != within {
			t.Errorf("%s within %s: %v", name, root, !within)
		}
	}
}

// A file that cannot be packed ends it by name, or is left out and listed, and the rest is as it is.
func TestBadFiles(t *testing.T) {
	root := t.TempDir()
	plant(t, root, []string{"cat/1.jpg", "cat/2.jpg", "cat/3.jpg"})
	from, folder := list(t, root), filepath.Join(t.TempDir(), "packed")
	os.Remove(filepath.Join(root, "cat/2.jpg"))
	if _, err := WriteShards(context.Background(), from, folder, options()); !errors.Is(err, ErrBad) || !strings.Contains(err.Error(), "cat/2.jpg") {
		t.Errorf("%v", err)
	}
	o := options()
	o.SkipBad = true
	index := run(t, from, folder, o)
	if index.Samples != 2 || len(index.Bad) != 1 || index.Bad[0].Path != "cat/2.jpg" {
		t.Errorf("%+v", index)
	}
	if _, err := Verify(context.Background(), from, folder, o); err != nil {
		t.Error(err)
	}
	o.Decoded = true
	if _, err := WriteShards(context.Background(), from, folder+"2", o); err == nil || !strings.Contains(err.Error(), "none of the files") {
		t.Errorf("texts were decoded: %v", err)
	}
}

// A bad file whose name is not UTF-8 keeps that name in the lists; the pack resumes to the same
// index, and can be verified.
func TestBadNames(t *testing.T) {
	root, odd := t.TempDir(), "cat/\xff2.jpg"
	plant(t, root, []string{"cat/1.jpg", odd, "cat/\xff3.jpg"})
	from, folder := list(t, root), filepath.Join(t.TempDir(), "packed")
	os.Remove(filepath.Join(root, odd))
	o := options()
	o.SkipBad, o.Samples = true, 1
	run(t, from, folder, o)
	whole := digests(t, folder)
	if err := os.Remove(filepath.Join(folder, shards.IndexName)); err != nil {
		t.Fatal(err)
	}
	if index := run(t, from, folder, o); len(index.Bad) != 1 || string(index.Bad[0].Path) != odd {
		t.Errorf("went on to %+v", index)
	}
	if !maps.Equal(whole, digests(t, folder)) {
		t.Error("the index of a pack that was gone on with is another one")
	}
	if _, err := Verify(context.Background(), from, folder, o); err != nil {
		t.Error(err)
	}
}

// failing is a data set of which one file cannot be read.
type failing struct {
	Source

	at  int
	err error
}

func (f failing) Read(i int, buffer []byte) ([]byte, error) {
	if i == f.at {
		return nil, f.err
	}
	return f.Source.Read(i, buffer)
}

func (f failing) Size(i int) (int64, error) {
	if i == f.at {
		return 0, f.err
	}
	return f.Source.Size(i)
}

// TestOutage: even with --skip-bad a file that only the machine could not serve is not left
// out: packing stops, and later resumes to the same bytes.
func TestOutage(t *testing.T) {
	root := t.TempDir()
	plant(t, root, []string{"cat/1.jpg", "cat/2.jpg", "cat/3.jpg"})
	from, folder := list(t, root), filepath.Join(t.TempDir(), "packed")
	o := options()
	o.SkipBad, o.Samples = true, 1
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENOMEM, syscall.ESTALE} {
		short := failing{from, 1, &os.PathError{Op: "open", Path: "2.jpg", Err: number}}
		if _, err := WriteShards(context.Background(), short, folder, o); !errors.Is(err, ErrOutage) || !strings.Contains(err.Error(), "cat/2.jpg") {
			t.Errorf("%v: %v", number, err)
		}
		if _, err := Measure(context.Background(), short, o, 3); !errors.Is(err, ErrOutage) {
			t.Errorf("measured with %v: %v", number, err)
		}
	}
	if index := run(t, from, folder, o); index.Samples != 3 || len(index.Bad) != 0 {
		t.Errorf("afterwards %+v", index)
	}
	want := run(t, from, folder+"2", o)
	if got := digests(t, folder); !maps.Equal(got, digests(t, folder+"2")) || want.Samples != 3 {
		t.Error("a pack that was gone on with has other bytes")
	}
}

// TestFault: a decoder that panics ends the pack with a sentence, also with --skip-bad.
func TestFault(t *testing.T) {
	o := options()
	o.SkipBad, o.Decoded = true, true
	m := newMaker(o.Form)
	m.header = nil // any use of it panics
	_, _, err := m.makeImage([]byte("x"), "jpg")
	if err == nil || !errors.Is(o.refuse(err), ErrFault) {
		t.Errorf("%v", err)
	}
	if _, _, err := m.makeImage([]byte("x"), "jpg"); errors.Is(err, ErrFault) {
		t.Errorf("the next file has to do with it: %v", err)
	}
}

// A packed picture has the declared pixels.
func TestForms(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for i := range 60 * 40 {
		picture.SetNRGBA(i%60, i/60, color.NRGBA{uint8(i), uint8(i / 7), uint8(i * 3), 255})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		form  Form
		field string
		begin string
		bytes int // 0: any number
	}{
		{Form{}, "png", "\x89PNG", file.Len()},
		{Form{Resize: 40}, "png", "\x89PNG", file.Len()}, // small enough: left alone
		{Form{Decoded: true}, "ppm", "P6\n60 40\n255\n" + string([]byte{0, 0, 0, 1, 0, 3}), 13 + 3*60*40},
		{Form{Decoded: true, Resize: 20}, "ppm", "P6\n30 20\n255\n", 13 + 3*30*20},
		{Form{Resize: 20}, "jpg", "\xff\xd8", 0},
	} {
		made, field, err := newMaker(test.form).makeImage(file.Bytes(), "png")
		if err != nil || field != test.field || !strings.HasPrefix(string(made), test.begin) || test.bytes > 0 && len(made) != test.bytes {
			t.Errorf("%+v: %q of %d bytes, %v: %.20q", test.form, field, len(made), err, made)
		}
	}
}

// What a pack has is foretold: exactly where files are as they are, else within a few per cent.
func TestMeasure(t *testing.T) {
	root := t.TempDir()
	for i := range 30 {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewNRGBA(image.Rect(0, 0, 40+i, 40))); err != nil {
			t.Fatal(err)
		}
		plant(t, root, []string{fmt.Sprintf("cat/%d.png", i)})
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("cat/%d.png", i)), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := list(t, root)
	for _, form := range []Form{{}, {Decoded: true}, {Resize: 30}} {
		o := options()
		o.Form = form
		estimate, err := Measure(context.Background(), from, o, 10)
		if err != nil {
			t.Fatal(err)
		}
		o.Bytes = 1e9
		index := run(t, from, filepath.Join(t.TempDir(), "packed"), o)
		if off := float64(index.Bytes)/estimate.Pack.Point - 1; off < -0.1 || off > 0.1 || estimate.Measured != 10 {
			t.Errorf("%+v: %d bytes, %+v was foretold", form, index.Bytes, estimate)
		}
	}
}
