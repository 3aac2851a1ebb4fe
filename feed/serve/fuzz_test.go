//go:build linux

package serve

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

var packets = []string{
	`{"type":"ping","n":1}`, `{"type":"connect"}`, `{"type":"close"}`, `{"type":"make","n":1,"at":9,"bytes":20}`, `{"type":"release","slot":3,"waited":0.5}`,
	`{"type":"start","run":1,"epoch":2,"consumed":3,"batch":4,"once":true}`,
	`{"type":"start","run":1,"done":2,"samples":3,"digest":"00112233445566778899aabbccddeeff"}`,
	`{"type":"open","protocol":1,"spec":{"name":"train","root":"/a","ops":[{"op":"resize","size":[1]}],"output":{"dtype":"uint8","layout":"nchw"},
	"batch":4,"world":2,"seed":1,"shuffle":true,"tail":"short","on_error":"fail"},"rank":1,"local_rank":0,"pid":9,"options":{"threads":2,"nice":3}}`,
	`{"type":"start","run":-1}`, `{}`, `[]`, `{"type":"ping"}{}`, `{"type":"release","slot":1e99}`, "\xff", ``,
}

// FuzzPacket: no packet panics, and one that is accepted stays the same when it is
// written and read again.
func FuzzPacket(f *testing.F) {
	for _, p := range packets {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := parseRequest(packet)
		if err != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
		again, err := parseRequest(text)
		if err != nil && len(text) <= maxPacket {
			t.Fatalf("%s: %v", text, err)
		}
		if second, _ := json.Marshal(again); err == nil && string(second) != string(text) {
			t.Fatalf("%s became %s", text, second)
		}
	})
}

// FuzzSession sends packets of a faulty client: each byte is a packet of some kind, valid or
// invalid at that moment. For any sequence, the daemon answers or ends the session, no slot is
// on loan that it did not announce, and everything is released at the end.
func FuzzSession(f *testing.F) {
	f.Add([]byte{1, 2, 3, 3, 3, 3, 2, 3, 4})
	f.Add([]byte{1, 2, 18, 3, 34, 3, 50, 3, 0, 5, 6, 7})
	f.Add([]byte{2, 3, 1, 1})
	f.Fuzz(func(t *testing.T, moves []byte) {
		engine := &clockwork{samples: 50, delay: 100 * time.Microsecond, bad: int(max(len(moves), 12)-12) % 50}
		s := start(t, Options{engine: engine})
		w := &wild{client: s.client}
		for _, move := range moves[:min(len(moves), 200)] {
			if !w.move(t, move) {
				break
			}
		}
		s.close()
		for _, c := range w.others {
			c.close()
		}
		s.over(t)
		if engine.live != 0 {
			t.Errorf("%d loaders are still open", engine.live)
		}
		if n := len(s.daemon.sessions); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// wild is a client that follows no rules, but remembers its loans.
type wild struct {
	*client
	others []*client
	run    int64
	held   []int
	blind  bool // held may be wrong
}

// move sends one packet and reads what has come meanwhile; false: the session has ended.
func (w *wild) move(t *testing.T, move byte) bool {
	argument := int(move >> 3)
	var packet fields
	switch move & 7 {
	case 0:
		packet = fields{"type": "ping", "n": argument}
	case 1:
		packet = fields{"type": "open", "protocol": 1, "rank": argument & 1, "spec": aSpec([]string{"a", "b"}[argument>>1&1], 3, 2)}
	case 2:
		w.run++
		packet = fields{"type": "start", "run": w.run, "epoch": argument, "consumed": 2 * argument, "once": argument&1 == 0}
	case 3, 4: // a slot that we hold
		if len(w.held) == 0 {
			return true
		}
		packet = fields{"type": "release", "slot": w.held[0]}
		w.held = w.held[1:]
	case 5: // a slot that we may not hold
		packet = fields{"type": "release", "slot": argument - 2}
		w.blind = true // the daemon may have sent the batch, and we not have read of it
	case 6:
		packet = fields{"type": "start", "run": argument - 3, "batch": argument}
	case 7:
		packet = fields{"type": []string{"connect", "close", "dance", "opened"}[argument&3]}
	}
	if w.send(packet) != nil || w.send(fields{"type": "ping", "n": 1000}) != nil {
		return false
	}
	return w.read(t)
}

// read reads until the pong of the latest ping: that it comes is the point.
func (w *wild) read(t *testing.T) bool {
	for {
		a, err := w.receive()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("no answer within 5 s")
			}
			return false
		}
		switch a.Type {
		case "batch":
			if !w.blind && slices.Contains(w.held, a.Slot) {
				t.Fatalf("slot %d was handed over twice", a.Slot)
			}
			w.held = append(w.held, a.Slot)
		case "connected":
			conn, err := connection(a.fds[0])
			must(t, err)
			w.others = append(w.others, &client{conn: conn})
		case "error":
			if a.Text == "" {
				t.Fatal("an error without a sentence")
			}
		}
		for _, fd := range a.fds {
			if a.Type == "opened" {
				closeDescriptor(fd)
			}
		}
		if a.Type == "pong" && a.N == 1000 {
			return true
		}
	}
}

// TestSpecSurvives: what a client sends is what the daemon reads.
func TestSpecSurvives(t *testing.T) {
	spec := aSpec("train", 4, 2)
	text, _ := json.Marshal(fields{"type": "open", "protocol": 1, "spec": spec})
	r, err := parseRequest(text)
	must(t, err)
	if err := sameSpec(spec, *r.Spec); err != nil {
		t.Error(err)
	}
}
