package source

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImageFolder compares with what torchvision's ImageFolder lists of the same
// tree: testdata/imagefolder.py wrote it down.
func TestImageFolder(t *testing.T) {
	root := t.TempDir()
	for _, line := range lines(t, "tree.txt") {
		kind, path, _ := strings.Cut(line, " ")
		path, target, _ := strings.Cut(path, " ")
		plant(t, kind, filepath.Join(root, unescape(t, path)), unescape(t, target))
	}
	folder := list(t, root, Options{})
	want := lines(t, "samples.txt")
	if folder.Len() != len(want) {
		t.Errorf("%d samples, ImageFolder lists %d", folder.Len(), len(want))
	}
	for i := range min(folder.Len(), len(want)) {
		label, path, _ := strings.Cut(want[i], " ")
		if got := fmt.Sprint(folder.Label(i)); got != label {
			t.Errorf("sample %d has label %s, ImageFolder gives it %s", i, got, label)
		}
		if got, want := folder.Path(i), root+"/"+unescape(t, path); got != want {
			t.Fatalf("sample %d is %q, ImageFolder has %q", i, got, want)
		}
	}
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func unescape(t *testing.T, path string) string {
	t.Helper()
	path, err := url.PathUnescape(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func plant(t *testing.T, kind, path, target string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	switch kind {
	case "dir":
		must(os.MkdirAll(path, 0o700))
	case "link":
		must(os.Symlink(target, path))
	default:
		must(os.WriteFile(path, []byte(filepath.Base(path)), 0o600))
	}
}

func list(t *testing.T, root string, o Options) *Folder {
	t.Helper()
	folder, err := List(context.Background(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

func TestRefusals(t *testing.T) {
	var manyEmpty []string
	for i := range 25 {
		manyEmpty = append(manyEmpty, fmt.Sprintf("dir c%02d", i))
	}
	for _, test := range []struct {
		name  string
		tree  []string // "kind path target"
		allow bool
		want  string // in the error; "": none
	}{
		{"no classes", []string{"file 1.jpg"}, false, "no class folder in "},
		{
			"empty class",
			[]string{"file a/1.jpg", "file b/1.txt", "dir c"},
			false,
			"found no valid file for the classes b, c. Supported extensions are: .jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp",
		},
		{"many empty classes", manyEmpty, false, "classes c00, c01, c02, c03, c04, c05, c06, c07, c08, c09, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19 and 5 more"},
		{"empty class allowed", []string{"file a/1.jpg", "dir c"}, true, ""},
		{"loop", []string{"file a/b/1.jpg", "link a/b/c ../../a"}, false, "a/b/c is a link to the folder "},
		{"loop over the root", []string{"file a/1.jpg", "link a/up .."}, false, "a/up is a link to the folder "},
		{"link to itself", []string{"file a/1.jpg", "link a/self self"}, false, ""},
	} {
		root := t.TempDir()
		for _, entry := range test.tree {
			words := append(strings.Split(entry, " "), "")
			plant(t, words[0], filepath.Join(root, words[1]), words[2])
		}
		folder, err := List(context.Background(), root, Options{AllowEmpty: test.allow})
		switch {
		case err == nil && test.want == "":
			folder.Close()
		case err == nil:
			t.Errorf("%s: listed, expected %q", test.name, test.want)
		case test.want == "" || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, expected %q", test.name, err, test.want)
		}
	}
}

// TestDigest: the same names below another root are the same set; another name,
// another order of the same letters and another class are not.
func TestDigest(t *testing.T) {
	digest := func(files ...string) [32]byte {
		root := t.TempDir()
		for _, file := range files {
			plant(t, "file", filepath.Join(root, file), "")
		}
		return list(t, root, Options{}).Digest()
	}
	one := digest("a/1.jpg", "a/2.jpg", "b/1.jpg")
	if one != digest("b/1.jpg", "a/2.jpg", "a/1.jpg") {
		t.Error("the digest depends on the root or on the order of creation")
	}
	for _, other := range [][]string{
		{"a/1.jpg", "a/3.jpg", "b/1.jpg"},
		{"a/1.jpg", "a/2.jpg", "c/1.jpg"},
		{"a/1.jpg", "b/2.jpg", "b/1.jpg"},
		{"a/1.jpg", "a/2.jpg"},
		{"a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg"},
		{"a/x/1.jpg", "a/2.jpg", "b/1.jpg"},
	} {
		if one == digest(other...) {
			t.Errorf("%v has the digest of other files", other)
		}
	}
}

func TestCancelled(t *testing.T) {
	root := t.TempDir()
	plant(t, "file", filepath.Join(root, "a/1.jpg"), "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := List(ctx, root, Options{}); err == nil {
		t.Error("listed, although the context was cancelled")
	}
}

func TestRead(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	content := bytes.Repeat([]byte("pixels"), 1000)
	if err := os.WriteFile(filepath.Join(elsewhere, "real"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	plant(t, "link", filepath.Join(root, "a/1-linked.jpg"), filepath.Join(elsewhere, "real"))
	plant(t, "file", filepath.Join(root, "a/2-plain.jpg"), "")
	plant(t, "dir", filepath.Join(root, "b"), "")
	folder := list(t, root, Options{AllowEmpty: true})
	var buffer []byte
	for i, want := range []string{string(content), "2-plain.jpg"} {
		file, err := folder.OpenFile(i)
		if err != nil {
			t.Fatal(err)
		}
		if buffer, err = file.Read(buffer); err != nil || string(buffer) != want {
			t.Errorf("sample %d: %d bytes, %v; expected %d", i, len(buffer), err, len(want))
		}
		file.Close()
	}
}

func TestReadTrouble(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/1-gone.jpg", "a/2-shrunk.jpg", "a/3-large.jpg"} {
		plant(t, "file", filepath.Join(root, name), "")
	}
	plant(t, "link", filepath.Join(root, "a/4-broken.jpg"), "nowhere")
	if err := os.WriteFile(filepath.Join(root, "a/3-large.jpg"), make([]byte, 101), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := list(t, root, Options{MaxFile: 100})
	os.Remove(filepath.Join(root, "a/1-gone.jpg"))
	for i, want := range []string{"no such file", "", "too large: the file has 101 bytes, at most 100 are read", "no such file"} {
		file, err := folder.OpenFile(i)
		if i == 1 {
			os.Truncate(folder.Path(i), 3)
			_, err = file.Read(nil)
			want = "the file had 12 bytes when it was opened and ended after 3: something is writing to it"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("sample %d: %v, expected %q", i, err, want)
		}
	}
}
