package export

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// TensorBoard writes a run's steps and signals as scalars of an event file: TFRecords of
// tensorflow.Event (tensorflow/core/util/event.proto). Steps are numbered as in the run,
// signals by second.
func TensorBoard(w io.Writer, run *recording.Run) error {
	b := &board{w: w, started: run.Facts.Started}
	b.writeEvent(0, 0, func(e []byte) []byte {
		return protowire.AppendString(protowire.AppendTag(e, 3, protowire.BytesType), "brain.Event:2")
	})
	for n, s := range run.Steps {
		b.scalar(s.Start, int64(n), "stoker/step/seconds", s.Period)
		b.scalar(s.Start, int64(n), "stoker/step/wait_seconds", s.Wait)
		b.scalar(s.Start, int64(n), "stoker/step/device_idle_seconds", s.Idle)
		b.scalar(s.Start, int64(n), "stoker/step/samples", s.Samples)
	}
	for _, series := range run.Series {
		// the tag is repeated in each event
		tag := "stoker/" + string(series.Signal) + "/" + safe.Text(series.Subject, mostCell)
		for i, t := range series.T {
			b.scalar(t, int64(t), tag, series.V[i])
		}
	}
	return b.err
}

// board writes records until an error occurs.
type board struct {
	w       io.Writer
	started float64
	record  []byte
	err     error
}

// scalar writes one value, unless it is unknown.
func (b *board) scalar(at float64, step int64, tag string, value float64) {
	if !stat.Finite(value) {
		return
	}
	b.writeEvent(at, step, func(e []byte) []byte {
		var v []byte
		v = protowire.AppendString(protowire.AppendTag(v, 1, protowire.BytesType), tag)
		v = protowire.AppendFixed32(protowire.AppendTag(v, 2, protowire.Fixed32Type), math.Float32bits(float32(value)))
		summary := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), v)
		return protowire.AppendBytes(protowire.AppendTag(e, 5, protowire.BytesType), summary)
	})
}

// writeEvent writes one record: its length, its content, and a checksum after each.
func (b *board) writeEvent(at float64, step int64, what func([]byte) []byte) {
	if b.err != nil {
		return
	}
	e := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(b.started+at))
	e = protowire.AppendVarint(protowire.AppendTag(e, 2, protowire.VarintType), uint64(step))
	e = what(e)
	b.record = binary.LittleEndian.AppendUint64(b.record[:0], uint64(len(e)))
	b.record = binary.LittleEndian.AppendUint32(b.record, maskedChecksum(b.record))
	b.record = append(b.record, e...)
	b.record = binary.LittleEndian.AppendUint32(b.record, maskedChecksum(e))
	_, b.err = b.w.Write(b.record)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedChecksum returns a checksum as TFRecords store it: rotated, so that a checksum of data
// that contain one is not degenerate.
func maskedChecksum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
