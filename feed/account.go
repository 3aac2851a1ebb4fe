package feed

import "sync"

// account collects what the ranks of this node released of one epoch, from one offset on. The
// plan deals every sample to exactly one rank. So every sample was used exactly once if each
// rank released exactly its own.
type account struct {
	mu    sync.Mutex
	ranks map[int]*Pass // the latest pass of each: what a rank released before it began again does not count
	whole map[int]bool  // ranks whose pass is complete
}

// joinRound adds a pass, and returns false if its rank is complete: it begins another round.
func (a *account) joinRound(p *Pass) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.whole[p.rank] {
		return false
	}
	a.ranks[p.rank] = p
	return true
}

// noteVerdict records whether a rank released exactly its own samples. It returns whether all
// ranks did, or nil if others may still do so, here or on another node.
func (a *account) noteVerdict(p *Pass, right bool) *bool {
	if !right {
		return &right
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ranks[p.rank] == p {
		a.whole[p.rank] = true
	}
	if len(a.whole) < p.plan.World {
		return nil
	}
	return &right
}

// epochStart is where a pass begins. Ranks that begin at the same place share an account.
type epochStart struct {
	epoch           uint64
	consumed, batch int
}

// accounts holds the latest accounts of a loader. Older ones are dropped: an epoch is over when
// the one after the next begins.
type accounts struct {
	mu     sync.Mutex
	begins []epochStart
	byKey  map[epochStart]*account
}

const keptAccounts = 8

// joinAccount returns the account for a pass, and creates one if its rank is complete in the
// latest.
func (s *accounts) joinAccount(p *Pass) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := epochStart{p.epoch, p.consumed, p.plan.Batch}
	a := s.byKey[key]
	if a == nil {
		s.makeRoom(key)
	}
	if a == nil || !a.joinRound(p) {
		a = &account{ranks: map[int]*Pass{p.rank: p}, whole: map[int]bool{}}
		s.byKey[key] = a
	}
	return a
}

// makeRoom adds a key, and drops the oldest account beyond keptAccounts.
func (s *accounts) makeRoom(key epochStart) {
	if s.byKey == nil {
		s.byKey = map[epochStart]*account{}
	}
	s.begins = append(s.begins, key)
	if len(s.begins) > keptAccounts {
		delete(s.byKey, s.begins[0])
		s.begins = s.begins[1:]
	}
}
