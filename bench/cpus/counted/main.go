//go:build linux

// Command counted does with the JPEGs of a folder what bench/cpus/instructions.py counts the
// instructions of: decoding, a sample for training, one for evaluation, all of them in turn.
//
// Between two parts it closes a descriptor that it has not, which count.c sees.
package main

import (
	"fmt"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/picture"
	"github.com/stoker-dev/stoker/feed/transform"
)

const mark = 0x53544f4b

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: counted FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "counted:", err)
		os.Exit(1)
	}
}

// worker is what a thread of the feed has.
type worker struct {
	decoder *decode.Decoder
	pixels  *transform.Worker
	rows    planes.RowReader
	row     []byte
	tensor  []byte
}

func run(folder string) error {
	files, err := readAll(folder)
	if err != nil {
		return err
	}
	w := worker{decoder: decode.New(decode.Limits{}), pixels: transform.NewWorker()}
	parts := []func(file []byte, sample uint64) error{w.decode}
	for _, ops := range [][]transform.Op{
		{{Name: "random_resized_crop", Size: []int{224, 224}}, {Name: "random_horizontal_flip"}},
		{{Name: "resize", Size: []int{256}}, {Name: "center_crop", Size: []int{224, 224}}},
	} {
		ops = append(ops, transform.Op{Name: "to_tensor"}, transform.Op{
			Name: "normalize",
			Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225},
		})
		p, err := transform.Compile(ops, transform.Output{DType: "float32", Layout: "nchw"})
		if err != nil {
			return err
		}
		w.tensor = make([]byte, p.Bytes())
		parts = append(parts, func(file []byte, sample uint64) error { return w.sample(p, file, sample) })
	}
	jitter, err := enhancing()
	if err != nil {
		return err
	}
	parts = append(parts, jitter...)
	for round := range 2 { // in the first one memory is made and tables are built
		for _, part := range parts {
			_ = unix.Close(mark)
			for i, file := range files {
				if err := part(file, uint64(round*len(files)+i)); err != nil {
					return err
				}
			}
		}
		_ = unix.Close(mark)
	}
	return nil
}

// enhancing are what ColorJitter asks for and a turn, each of a picture of 256 x 256 pixels in RGB.
func enhancing() (parts []func(file []byte, sample uint64) error, err error) {
	pixels := make([]byte, 3*256*256)
	for i := range pixels {
		pixels[i] = byte(i * 2654435761 >> 13)
	}
	w := picture.NewWorker(decode.Limits{})
	for _, op := range []string{
		`["brightness",1.3]`, `["contrast",1.3]`, `["color",1.3]`,
		`["affine",256,256,[0.9,0.3,-9,-0.3,0.9,8],3,[0,0,0]]`,
	} {
		p, err := picture.Parse([]byte(`{"mode":"RGB","size":[256,256],"ops":[` + op + `]}`))
		if err != nil {
			return nil, err
		}
		made := make([]byte, p.Output.Bytes())
		parts = append(parts, func([]byte, uint64) error { return w.Run(p, picture.Source{Pixels: pixels}, made) })
	}
	return parts, nil
}

func readAll(folder string) (files [][]byte, err error) {
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jpg") {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, data)
		return err
	})
	return files, err
}

// decode makes red, green and blue of a whole picture, row by row.
func (w *worker) decode(file []byte, _ uint64) error {
	info, err := w.decoder.ReadHeader(file)
	if err != nil {
		return err
	}
	all := image.Rect(0, 0, info.Width, info.Height)
	picture, err := w.decoder.Decode(all)
	if err != nil {
		return err
	}
	w.rows.SIMD = planes.HasSIMD
	_, width, err := w.rows.Begin(picture, all)
	if err != nil {
		return err
	}
	stride := (width + planes.Vector - 1) / planes.Vector * planes.Vector
	if len(w.row) < 3*stride {
		w.row = make([]byte, 3*stride)
	}
	for y := range info.Height {
		w.rows.Read(y, w.row, stride)
	}
	return nil
}

// sample makes a tensor of a file.
func (w *worker) sample(p *transform.Program, file []byte, sample uint64) error {
	info, err := w.decoder.ReadHeader(file)
	if err != nil {
		return err
	}
	choice, err := p.Choose(info.Width, info.Height, 1, 0, sample)
	if err != nil {
		return err
	}
	picture, err := w.decoder.Decode(p.SourceArea(choice))
	if err != nil {
		return err
	}
	return w.pixels.Apply(p, choice, picture, w.tensor)
}
