package columns

// Tally counts by a number, such as a thread's.
type Tally map[int]int

// FindMost is the number with the largest count, the smallest of several; otherwise where
// nothing was counted.
func (t Tally) FindMost(otherwise int) int {
	best, n := otherwise, 0
	for key, count := range t {
		if count > n || count == n && n > 0 && key < best {
			best, n = key, count
		}
	}
	return best
}

// Tallies are the tallies of several processes.
type Tallies map[int]Tally

// Count counts one more.
func (t Tallies) Count(pid, key int) {
	if t[pid] == nil {
		t[pid] = Tally{}
	}
	t[pid][key]++
}
