package feed

import "sync"

// account is what the ranks of this node know together of one epoch from one offset
// on. The plan deals every sample to one rank, once: so it was every sample exactly
// once where each rank released what was its own.
type account struct {
	mu    sync.Mutex
	ranks map[int]*Pass // the latest of each: what a rank released before it began again does not count
	whole map[int]bool  // ranks whose pass is done
}

// joinRound is false where the rank is done here: it begins another round.
func (a *account) joinRound(p *Pass) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.whole[p.rank] {
		return false
	}
	a.ranks[p.rank] = p
	return true
}

// noteVerdict takes down whether a rank released what was its own, and says whether
// all did; nil where others may still do so, here or elsewhere.
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

// epochStart is where a pass begins: ranks that begin at the same place share an account.
type epochStart struct {
	epoch           uint64
	consumed, batch int
}

// accounts are those of a loader. Only the latest few: an epoch is over when the
// one after the next begins.
type accounts struct {
	mu     sync.Mutex
	begins []epochStart
	byKey  map[epochStart]*account
}

const keptAccounts = 8

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

// makeRoom makes room for one more.
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
