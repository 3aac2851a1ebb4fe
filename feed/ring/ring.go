// Package ring is the shared memory in which batches are handed over: a sealed memfd, cut into
// slots that the daemon fills and one client reads.
//
//	free ──Take──► filling ──Filled──► ready ──Loan──► loaned ──Release──► free
//	                  └──────────Drop────┴────────────────────────────────► free
//
//	byte 0          slot bytes      2 x slot bytes
//	│ slot 0        │ slot 1        │ slot 2 ...      slot bytes: a multiple of 4096
//
// The package knows nothing of the content of a slot. Only the daemon knows who holds which
// slot, and it trusts nothing in the memory: what a client writes there harms only the client.
// Package feed fills slots, feed/serve passes them on.
package ring

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Page is the alignment of slots: the smallest unit of mapping and of page-locking.
const Page = 4096

// maxSlots bounds a ring: more batches in flight would hide a stall, but not cure it.
const maxSlots = 256

// Ring holds one client's slots. It is safe for concurrent use.
type Ring struct {
	slotBytes int
	memory    []byte // all slots, mapped; nil once closed
	file      *os.File

	mu     sync.Mutex // guards states
	states []state
}

// state is who a slot belongs to.
type state uint8

// The states.
const (
	free state = iota
	filling
	ready
	loaned
)

func (s state) String() string { return [...]string{"free", "being filled", "ready", "on loan"}[s] }

// New returns a ring of slots of at least slotBytes each, with all memory reserved. Too little
// memory is an error here, and not a signal later.
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

// Slots returns the number of slots.
func (r *Ring) Slots() int { return len(r.states) }

// SlotBytes returns the distance from one slot to the next.
func (r *Ring) SlotBytes() int { return r.slotBytes }

// Bytes returns the size of the whole ring.
func (r *Ring) Bytes() int { return len(r.states) * r.slotBytes }

// File returns the memfd, to pass its descriptor to the client. The ring closes it.
func (r *Ring) File() *os.File { return r.file }

// SlotMemory returns the bytes of a slot, valid until Close. They may be written only between
// Take and MarkFilled.
func (r *Ring) SlotMemory(slot int) []byte {
	return r.memory[slot*r.slotBytes : (slot+1)*r.slotBytes : (slot+1)*r.slotBytes]
}

// Take returns a free slot and marks it as being filled. ok is false if none is free.
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

// MarkFilled records that a slot is complete and no longer written to. Pairs with Take.
func (r *Ring) MarkFilled(slot int) error { return r.moveSlot(slot, filling, ready) }

// Loan gives a slot to the client.
func (r *Ring) Loan(slot int) error { return r.moveSlot(slot, ready, loaned) }

// Release takes a slot back from the client. Pairs with Loan.
func (r *Ring) Release(slot int) error { return r.moveSlot(slot, loaned, free) }

// Drop frees a slot that the client never got. Nothing may write to it any more.
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

// Counts is the number of slots in each state.
type Counts struct {
	Free    int `json:"free"`
	Filling int `json:"filling"`
	Ready   int `json:"ready"`
	Loaned  int `json:"loaned"`
}

// CountSlots returns the number of slots in each state.
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

// Close unmaps the memory here; the client keeps its mapping. It refuses while a slot is
// being filled, because a write to unmapped memory would crash the daemon.
func (r *Ring) Close() error {
	if n := r.CountSlots().Filling; n > 0 {
		return fmt.Errorf("close a ring: %d of its slots are being filled", n)
	}
	err := unmap(r.memory)
	r.memory = nil
	return errors.Join(err, r.file.Close())
}
