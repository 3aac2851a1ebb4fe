// Package ring is the shared memory that batches are handed over in: a sealed
// memfd, cut into slots that are filled by the daemon and read by one client.
//
//	free ──Take──► filling ──Filled──► ready ──Loan──► loaned ──Release──► free
//	                  └──────────Drop────┴────────────────────────────────► free
//
//	byte 0          slot bytes      2 x slot bytes
//	│ slot 0        │ slot 1        │ slot 2 ...      slot bytes: a multiple of 4096
//
// It knows nothing of what lies in a slot, and who holds which slot is known to
// the daemon alone: nothing in the memory is believed. The client's writes hurt
// only the client. Neighbours: feed fills slots, feed/serve passes them on.
package ring

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Page is what slots are aligned to: the smallest unit of mapping and of
// page-locking.
const Page = 4096

// maxSlots bounds a ring: more than this in flight hides a stall, it does not
// heal it.
const maxSlots = 256

// Ring is one client's slots. Its methods may be called by several goroutines.
type Ring struct {
	slotBytes int
	memory    []byte // all slots, mapped; nil once closed
	file      *os.File

	mu     sync.Mutex // guards states
	states []state
}

// state is where a slot is on its way.
type state uint8

// The states.
const (
	free state = iota
	filling
	ready
	loaned
)

func (s state) String() string { return [...]string{"free", "being filled", "ready", "on loan"}[s] }

// New returns a ring of slots of at least slotBytes each, all of it reserved: a
// machine that lacks the memory says so here, not by a signal later.
func New(slots, slotBytes int) (*Ring, error) {
	if slots < 1 || slots > maxSlots {
		return nil, fmt.Errorf("a ring of %d slots: expected 1 to %d", slots, maxSlots)
	}
	const most = 1 << 46 // far above any machine, far below an overflow of slots x slotBytes
	if slotBytes < 1 || slotBytes > most/maxSlots {
		return nil, fmt.Errorf("slots of %d bytes: expected 1 to %d", slotBytes, most/maxSlots)
	}
	slotBytes = alignToPages(slotBytes)
	r := &Ring{slotBytes: slotBytes, states: make([]state, slots)}
	var err error
	r.file, r.memory, err = reserve(slots * slotBytes)
	if err != nil {
		return nil, fmt.Errorf("reserve %d slots of %.1f MB of shared memory: %w", slots, float64(slotBytes)/1e6, err)
	}
	return r, nil
}

// alignToPages rounds up to whole pages.
func alignToPages(bytes int) int { return (bytes + Page - 1) / Page * Page }

// Slots is the number of slots, SlotBytes the distance from one to the next.
func (r *Ring) Slots() int { return len(r.states) }

// SlotBytes is the distance from one slot to the next.
func (r *Ring) SlotBytes() int { return r.slotBytes }

// Bytes is the size of the whole ring.
func (r *Ring) Bytes() int { return len(r.states) * r.slotBytes }

// File is the descriptor to pass to the client; it stays the ring's.
func (r *Ring) File() *os.File { return r.file }

// SlotMemory is the bytes of a slot, valid until Close. They may be written between
// Take and Filled only.
func (r *Ring) SlotMemory(slot int) []byte {
	return r.memory[slot*r.slotBytes : (slot+1)*r.slotBytes : (slot+1)*r.slotBytes]
}

// Take returns a free slot, now being filled.
func (r *Ring) Take() (slot int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.states {
		if s == free {
			r.states[i] = filling
			return i, true
		}
	}
	return 0, false
}

// MarkFilled says that a slot is whole and nobody writes to it any more. Pairs with
// Take.
func (r *Ring) MarkFilled(slot int) error { return r.moveSlot(slot, filling, ready) }

// Loan gives a slot to the client.
func (r *Ring) Loan(slot int) error { return r.moveSlot(slot, ready, loaned) }

// Release takes a slot back from the client. Pairs with Loan.
func (r *Ring) Release(slot int) error { return r.moveSlot(slot, loaned, free) }

// Drop frees a slot that the client never got; nobody may write to it any more.
func (r *Ring) Drop(slot int) error {
	if err := r.moveSlot(slot, filling, free); err == nil {
		return nil
	}
	return r.moveSlot(slot, ready, free)
}

func (r *Ring) moveSlot(slot int, from, to state) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slot < 0 || slot >= len(r.states) {
		return fmt.Errorf("slot %d of a ring that has slots 0 to %d", slot, len(r.states)-1)
	}
	if r.states[slot] != from {
		return fmt.Errorf("slot %d is %v, expected it to be %v", slot, r.states[slot], from)
	}
	r.states[slot] = to
	return nil
}

// Counts is how many slots are in each state.
type Counts struct {
	Free    int `json:"free"`
	Filling int `json:"filling"`
	Ready   int `json:"ready"`
	Loaned  int `json:"loaned"`
}

// CountSlots says where the slots are.
func (r *Ring) CountSlots() (c Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.states {
		switch s {
		case free:
			c.Free++
		case filling:
			c.Filling++
		case ready:
			c.Ready++
		case loaned:
			c.Loaned++
		}
	}
	return c
}

// Close gives the memory back as far as this process goes; the client keeps what
// it has mapped. It refuses while a slot is being filled: who writes there would
// die of it.
func (r *Ring) Close() error {
	if n := r.CountSlots().Filling; n > 0 {
		return fmt.Errorf("close a ring of which %d slots are being filled", n)
	}
	err := unmap(r.memory)
	r.memory = nil
	return errors.Join(err, r.file.Close())
}
