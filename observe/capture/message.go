package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Where things lie in a message; see the package's comment.
const (
	header   = 40
	typeAt   = 8
	pidsAt   = 16 // in the payload of req
	ctxtSize = 16
	maxPIDs  = 64       // libkineto sends at most eleven
	maxBytes = 64 << 10 // of a datagram
	mayTrace = int32(2) // bit of kind: the process takes a request for activities
)

// The types of messages.
const (
	typeRequest = "req"
	typeContext = "ctxt"
)

// message is one datagram of a client.
type message struct {
	Type string
	Kind int32
	Job  int64
	PIDs []int32 // the process, then its ancestors; never empty
}

// busy reports whether the process takes a trace at the moment, be it ours or its
// own profiler's.
func (m message) busy() bool { return m.Kind&mayTrace == 0 }

var (
	errShort   = errors.New("message is shorter than its header")
	errSize    = errors.New("message is shorter than it says")
	errUnknown = errors.New("message of an unknown type")
)

// decode reads a datagram. Whatever lies in it comes from outside.
func decode(data []byte) (message, error) {
	if len(data) < header {
		return message{}, errShort
	}
	size := binary.LittleEndian.Uint64(data)
	payload := data[header:]
	if size > uint64(len(payload)) {
		return message{}, errSize
	}
	payload = payload[:size]
	name, _, _ := bytes.Cut(data[typeAt:header], []byte{0})
	switch string(name) {
	case typeRequest:
		return decodeRequest(payload)
	case typeContext:
		return decodeContext(payload)
	}
	return message{}, errUnknown
}

func decodeRequest(p []byte) (message, error) {
	if len(p) < pidsAt+4 {
		return message{}, errSize
	}
	n := int32(binary.LittleEndian.Uint32(p[4:]))
	if n < 1 || n > maxPIDs || len(p) < pidsAt+4*int(n) {
		return message{}, fmt.Errorf("request with %d processes in %d bytes", n, len(p))
	}
	m := message{
		Type: typeRequest, Kind: int32(binary.LittleEndian.Uint32(p)),
		Job: int64(binary.LittleEndian.Uint64(p[8:])), PIDs: make([]int32, n),
	}
	for i := range m.PIDs {
		m.PIDs[i] = int32(binary.LittleEndian.Uint32(p[pidsAt+4*i:]))
	}
	if m.PIDs[0] <= 0 {
		return message{}, fmt.Errorf("request of process %d", m.PIDs[0])
	}
	return m, nil
}

func decodeContext(p []byte) (message, error) {
	if len(p) < ctxtSize {
		return message{}, errSize
	}
	pid := int32(binary.LittleEndian.Uint32(p[4:]))
	if pid <= 0 {
		return message{}, fmt.Errorf("registration of process %d", pid)
	}
	return message{Type: typeContext, Job: int64(binary.LittleEndian.Uint64(p[8:])), PIDs: []int32{pid}}, nil
}

// encode makes a datagram of a type and a payload.
func encode(kind string, payload []byte) []byte {
	data := make([]byte, header+len(payload))
	binary.LittleEndian.PutUint64(data, uint64(len(payload)))
	copy(data[typeAt:header-1], kind)
	copy(data[header:], payload)
	return data
}
