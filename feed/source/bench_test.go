package source

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var files = flag.Int("files", 130_000, "files of BenchmarkList; ImageNet has 1281167 in 1000 folders")

// BenchmarkList lists a folder in the page cache, as large as ImageNet with
//
//	go test ./feed/source -run - -bench List -benchtime 5x -files 1281167
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	const classes = 1000
	for class := range classes {
		folder := filepath.Join(root, fmt.Sprintf("n%08d", class*7919))
		if err := os.Mkdir(folder, 0o700); err != nil {
			b.Fatal(err)
		}
		for k := range *files / classes {
			file, err := os.Create(filepath.Join(folder, fmt.Sprintf("n%08d_%d.JPEG", class*7919, k*31337%100_000)))
			if err != nil {
				b.Fatal(err)
			}
			file.Close()
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		folder, err := List(context.Background(), root, Options{})
		if err != nil {
			b.Fatal(err)
		}
		folder.Digest()
		folder.Close()
		b.ReportMetric(float64(folder.Len()), "files")
	}
}

// BenchmarkParse takes a list of as many samples from a client.
func BenchmarkParse(b *testing.B) {
	samples := make([]sample, *files)
	for i := range samples {
		class := i * 1000 / len(samples)
		samples[i] = sample{fmt.Sprintf("n%08d/n%08d_%d.JPEG", class*7919, class*7919, i*31337%100_000), int64(class)}
	}
	list, root := encoded(samples...), b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		folder, err := Parse(root, list, Options{})
		if err != nil {
			b.Fatal(err)
		}
		folder.Digest()
		folder.Close()
	}
}

// BenchmarkRead reads files of 110 KB in the page cache; compare BenchmarkRoot.
func BenchmarkRead(b *testing.B) {
	folder := photographs(b)
	var buffer []byte
	for i := 0; b.Loop(); i++ {
		file, err := folder.OpenFile(i % folder.Len())
		if err != nil {
			b.Fatal(err)
		}
		buffer, _ = file.Read(buffer)
		file.Close()
	}
}

// BenchmarkOpen and BenchmarkRoot are what opening costs, as OpenFile does it and
// through os.Root.
func BenchmarkOpen(b *testing.B) {
	folder := photographs(b)
	for i := 0; b.Loop(); i++ {
		file, err := folder.OpenFile(i % folder.Len())
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

func BenchmarkRoot(b *testing.B) {
	folder := photographs(b)
	root, err := os.OpenRoot(folder.root)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	for i := 0; b.Loop(); i++ {
		file, err := root.Open(folder.Below(i % folder.Len()))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := file.Stat(); err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

func photographs(b *testing.B) *Folder {
	root := b.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "n01440764"), 0o700); err != nil {
		b.Fatal(err)
	}
	for k := range 500 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("n01440764/n01440764_%d.JPEG", k)), make([]byte, 110_000), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	folder, err := List(context.Background(), root, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { folder.Close() })
	return folder
}
