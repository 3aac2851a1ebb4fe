package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/picture"
)

// drawings is the text of a make request: descriptions of pictures. Each says where its file is
// in the first descriptor, and where its pixels go in the second.
type drawings struct {
	Tables   []tableText       `json:"tables"`
	Pictures []json.RawMessage `json:"pictures"` // each a pictureText and a program of feed/picture
}

// tableText is a table of numbers that converts the pixels of several pictures.
type tableText struct {
	DType string `json:"dtype"`
	Bits  []byte `json:"bits"`
}

type pictureText struct {
	Size  [2]int `json:"size"`
	File  [2]int `json:"file"` // offset, bytes
	To    int    `json:"to"`   // offset
	Table *int   `json:"table"`
}

const (
	maxDrawings = 8192
	maxPicture  = 256 << 20
	makesAtOnce = 16 // per connection
)

// makePictures makes the pictures of a request, and closes its descriptors.
func (c *conversation) makePictures(r *request) error {
	if r.file == nil || r.to == nil {
		closeFiles(r)
		return errors.New("a make without a file and memory")
	}
	if c.makes.Add(1) > makesAtOnce {
		closeFiles(r)
		return fmt.Errorf("more than %d makes at once", makesAtOnce)
	}
	engine, err := c.daemon.working(r.Options)
	if err != nil {
		closeFiles(r)
		return err
	}
	c.making.Go(func() {
		defer c.makes.Add(-1)
		defer closeFiles(r)
		if err := c.makeAll(engine, r); err != nil {
			c.link.refuse(err)
		}
	})
	return nil
}

func closeFiles(r *request) {
	_ = r.file.Close() // nil if not opened
	_ = r.to.Close()
}

func (c *conversation) makeAll(engine engine, r *request) error {
	text, err := readFile(r.file, r.At, r.Bytes)
	if err != nil {
		return err
	}
	info, err := r.to.Stat()
	if err != nil {
		return err
	}
	memory, back := c.rooms.lendMemory(r.to, info.Size())
	defer back()
	work, places, refused, err := read(text, r, info.Size(), memory)
	if err != nil {
		return err
	}
	done := make(chan []error, 1)
	var took time.Duration
	job := engine.makeDrawings(work, func(errs []error, spent time.Duration) { took = spent; done <- errs })
	select {
	case errs := <-done:
		for i, err := range errs {
			if err != nil {
				refused = append(refused, unmade{places[i], shorten([]byte(err.Error()), quoted)})
			}
		}
	case <-c.gone:
		job.Cancel()
		return nil
	}
	m := made{Type: "made", N: r.N, CPU: took.Nanoseconds(), Failed: fitting(refused, maxPacket/2)}
	m.More = len(refused) - len(m.Failed)
	return c.link.sendPacket(m)
}

// read checks the text of a make request. A picture whose program is refused is left to the
// client. Text that no client would send is an error.
func read(text []byte, r *request, room int64, memory []byte) (work []feed.Drawing, places []int, refused []unmade,
	err error,
) {
	var d drawings
	if err := decodeStrictly(text, &d); err != nil || len(d.Pictures) > maxDrawings {
		return nil, nil, nil, fmt.Errorf("cannot read a text of %d pictures: %w", len(d.Pictures), err)
	}
	tables := make([]*picture.Table, len(d.Tables))
	for i, t := range d.Tables {
		if tables[i], err = picture.NewTable(t.DType, t.Bits); err != nil {
			return nil, nil, nil, err
		}
	}
	for i, text := range d.Pictures {
		drawing, err := drawingOf(text, tables, r, room, memory)
		if refusal := new(picture.RefusalError); errors.As(err, &refusal) {
			refused = append(refused, unmade{i, shorten([]byte(refusal.Error()), quoted)})
			continue
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("picture %d: %w", i, err)
		}
		work, places = append(work, drawing), append(places, i)
	}
	return work, places, refused, nil
}

func drawingOf(text []byte, tables []*picture.Table, r *request, room int64, memory []byte) (feed.Drawing, error) {
	var t pictureText
	if err := json.Unmarshal(text, &t); err != nil {
		return feed.Drawing{}, err
	}
	program, err := picture.Parse(text)
	if err != nil {
		return feed.Drawing{}, err
	}
	if t.Table != nil {
		if *t.Table < 0 || *t.Table >= len(tables) {
			return feed.Drawing{}, fmt.Errorf("table %d of %d", *t.Table, len(tables))
		}
		if err := program.Become(tables[*t.Table]); err != nil {
			return feed.Drawing{}, err
		}
	}
	size := program.Output.Bytes()
	if t.To < 0 || int64(t.To) > room-int64(size) || t.File[0] < 0 || t.File[1] < 1 || t.File[1] > maxPicture {
		return feed.Drawing{}, fmt.Errorf("a file of %d bytes at %d, a place for %d bytes at %d of %d", t.File[1],
			t.File[0], size, t.To, room)
	}
	var to []byte
	if memory != nil {
		to = memory[t.To:][:size]
	}
	return feed.Drawing{
		Program: program, Pixels: t.Size[0] * t.Size[1], Bytes: t.File[1],
		Read: func(own []byte) ([]byte, error) {
			own = slices.Grow(own[:0], t.File[1])[:t.File[1]]
			_, err := r.file.ReadAt(own, int64(t.File[0]))
			return own, err
		},
		To: to,
		// New memory is written, not mapped: writing a whole page costs half of faulting it in.
		Write: func(made []byte) error {
			_, err := r.to.WriteAt(made, int64(t.To))
			return err
		},
	}, nil
}
