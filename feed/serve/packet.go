package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stoker-dev/stoker/feed"
)

const (
	// maxSpec limits a spec in a file: a subset of 30 million samples.
	maxSpec = 256 << 20
	// maxList limits a list of samples: 20 million with paths of 40 bytes.
	maxList = 1 << 30
)

// The packets of feed/serve/PROTOCOL.md: one JSON object each.

// protocol is the version that both ends must speak.
const protocol = 1

// maxPacket limits a packet in either direction.
const maxPacket = 64 << 10

// request is any packet of a client.
type request struct {
	Type      string         `json:"type"`
	Protocol  int            `json:"protocol,omitempty"` // open
	Spec      *feed.Spec     `json:"spec,omitempty"`
	SpecBytes int            `json:"spec_bytes,omitempty"` // size of the spec in the descriptor, if it does not fit
	ListBytes int            `json:"list_bytes,omitempty"` // size of the list after it, if the spec has one
	Rank      int            `json:"rank,omitempty"`
	Local     int            `json:"local_rank,omitempty"`
	PID       int            `json:"pid,omitempty"`
	Options   requestOptions `json:"options,omitzero"`
	Run       int64          `json:"run,omitempty"` // start
	Epoch     int64          `json:"epoch,omitempty"`
	Consumed  int            `json:"consumed,omitempty"`
	Batch     int            `json:"batch,omitempty"`
	Bad       int            `json:"bad,omitempty"`
	Once      bool           `json:"once,omitempty"`
	Done      int            `json:"done,omitempty"`    // start: steps that a daemon which died handed out,
	Samples   int            `json:"samples,omitempty"` // the samples in them,
	Digest    string         `json:"digest,omitempty"`  // and their digest
	Slot      *int           `json:"slot,omitempty"`    // release
	Waited    float64        `json:"waited,omitempty"`
	N         int64          `json:"n,omitempty"`  // ping, make
	At        int            `json:"at,omitempty"` // make: offset of the text in the first descriptor
	Bytes     int            `json:"bytes,omitempty"`

	file *os.File // the first descriptor; nil: none
	to   *os.File // the second descriptor
}

type requestOptions struct {
	Threads    int    `json:"threads,omitempty"`
	Nice       int    `json:"nice,omitempty"`
	Record     string `json:"record,omitempty"`
	Quarantine string `json:"quarantine,omitempty"`
}

// parseRequest decodes and checks a packet.
func parseRequest(packet []byte) (*request, error) {
	if len(packet) > maxPacket {
		return nil, fmt.Errorf("a packet of more than %d bytes", maxPacket)
	}
	r := new(request)
	if err := decodeStrictly(packet, r); err != nil {
		return nil, fmt.Errorf("a packet that is not a message of this protocol: %w", err)
	}
	return r, r.checkOrder()
}

// checkOrder refuses values that no client sends in any state of the session.
func (r *request) checkOrder() error {
	switch r.Type {
	case "connect", "ping", "close":
	case "open":
		return r.checkOpen()
	case "start":
		if r.Run < 1 || r.Epoch < 0 || r.Epoch > maxEpoch || min(r.Consumed, r.Batch, r.Bad, r.Done, r.Samples) < 0 {
			return fmt.Errorf(
				"a start of run %d at epoch %d, %d samples consumed, batch %d, %d bad: expected run from 1, epoch 0 "+
					"to %d, and no negative numbers",
				r.Run, r.Epoch, r.Consumed, r.Batch, r.Bad, maxEpoch)
		}
	case "make":
		if r.At < 0 || r.Bytes < 1 || r.Bytes > maxSpec {
			return fmt.Errorf("a make with %d bytes at %d: expected 1 to %d", r.Bytes, r.At, maxSpec)
		}
	case "release":
		if r.Slot == nil {
			return errors.New("a release that names no slot")
		}
	case "":
		return errors.New("a packet without a type")
	default:
		return fmt.Errorf("a packet of the unknown type %.40q", r.Type)
	}
	return nil
}

// maxEpoch leaves room for prefetched epochs, as random draws use 32 bits.
const maxEpoch = 1<<32 - 2

func (r *request) checkOpen() error {
	switch {
	case r.Protocol != protocol:
		return fmt.Errorf(
			"protocol %d: this daemon speaks %d: client and binary are of different versions, install the same version of both",
			r.Protocol, protocol)
	case (r.Spec == nil) == (r.SpecBytes == 0):
		return errors.New("an open without a spec, or with two")
	case r.SpecBytes < 0 || r.SpecBytes > maxSpec:
		return fmt.Errorf("a spec of %d bytes: expected at most %d", r.SpecBytes, maxSpec)
	case r.ListBytes < 0 || r.ListBytes > maxList:
		return fmt.Errorf("a list of samples of %d bytes: expected at most %d", r.ListBytes, maxList)
	case r.ListBytes > 0 && r.SpecBytes == 0:
		return errors.New("a list of samples without a spec in front of it")
	}
	return nil
}

// The packets of the daemon.

type connected struct {
	Type string `json:"type"`
}

type opened struct {
	Type     string     `json:"type"`
	Samples  int        `json:"samples"`
	Steps    int        `json:"steps"`
	Classes  []string   `json:"classes,omitempty"`
	Bytes    int        `json:"classes_bytes,omitempty"` // size in the second descriptor, if Classes do not fit
	Manifest string     `json:"manifest"`
	Pipeline string     `json:"pipeline"`
	Ring     ringLayout `json:"ring"`
	Notes    []string   `json:"notes,omitempty"`
}

type ringLayout struct {
	Bytes     int   `json:"bytes"`
	Slots     int   `json:"slots"`
	SlotBytes int   `json:"slot_bytes"`
	Images    field `json:"images"`
	Labels    field `json:"labels"`
	Indices   field `json:"indices"`
}

// field describes where a tensor is in a slot.
type field struct {
	Offset  int    `json:"offset"`
	Shape   []int  `json:"shape,omitempty"`
	DType   string `json:"dtype"`
	Strides []int  `json:"strides,omitempty"` // in bytes
}

type batch struct {
	Type     string     `json:"type"`
	Run      int64      `json:"run"`
	Epoch    int64      `json:"epoch"`
	Step     int        `json:"step"`
	Slot     int        `json:"slot"`
	Count    int        `json:"count"`
	Mask     []int      `json:"mask,omitempty"`
	Consumed int        `json:"consumed"`
	Times    times      `json:"t"`
	Bad      []feed.Bad `json:"bad,omitempty"`
	BadMore  int        `json:"bad_more,omitempty"`
	BadSoFar int        `json:"bad_so_far,omitempty"`
	Inexact  int        `json:"inexact,omitempty"`
	Samples  int        `json:"samples"` // without padding
	Digest   string     `json:"digest"`  // of those
}

// times are seconds: those of the stages, summed over the samples, and that from the slot's
// becoming free to the completed batch.
type times struct {
	feed.Stages
	Fill float64 `json:"fill"`
}

type endAnswer struct {
	Type   string  `json:"type"`
	Run    int64   `json:"run"`
	Epoch  int64   `json:"epoch"`
	Report account `json:"report"`
}

// account is the report of an epoch on one rank.
type account struct {
	From        int            `json:"from"`
	Samples     int            `json:"samples"`
	Digest      string         `json:"digest"`
	Expected    string         `json:"expected"`
	ExactlyOnce *bool          `json:"exactly_once"`
	Bad         int            `json:"bad"`
	Inexact     int            `json:"inexact"`
	First       []feed.Inexact `json:"inexact_first,omitempty"`
}

type made struct {
	Type   string   `json:"type"`
	N      int64    `json:"n"`
	CPU    int64    `json:"cpu"` // processor time that the pictures took together, ns
	Failed []unmade `json:"failed,omitempty"`
	// number of failed pictures beyond Failed, for which the packet had no room
	More int `json:"failed_more,omitempty"`
}

// unmade is a picture that was not made.
type unmade struct {
	Index int    `json:"index"`
	Why   string `json:"why"`
}

type pong struct {
	Type  string `json:"type"`
	N     int64  `json:"n"`
	State string `json:"state"`
}

type failure struct {
	Type  string `json:"type"`
	Kind  string `json:"kind,omitempty"` // "outage", "fault": the batch can perhaps be made elsewhere
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
	Fatal bool   `json:"fatal"`
}

// decodeStrictly decodes exactly one JSON value. An unknown field comes from another version or
// from a typing error, so it is an error.
func decodeStrictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
