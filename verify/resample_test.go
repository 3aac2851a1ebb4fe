package verify

import (
	"math/rand/v2"
	"testing"

	"stoker/internal/stat"
)

// series makes n values around 1 of which neighbours are alike: an
// autoregression with the given memory, deviation 0.1.
func series(n int, memory float64, seed uint64) []float64 {
	source := rand.New(rand.NewPCG(seed, 0))
	x, level := make([]float64, n), 0.0
	for range 100 {
		level = memory*level + source.NormFloat64()
	}
	for i := range x {
		level = memory*level + source.NormFloat64()
		x[i] = 1 + 0.1*level
	}
	return x
}

func TestBlockLength(t *testing.T) {
	if b := blockLength(series(1000, 0, 1)); b != leastBlock {
		t.Errorf("independent steps: block %d, want %d", b, leastBlock)
	}
	if b := blockLength(series(1000, 0.9, 1)); b < 12 || b > 40 { // 0.9^22 = 0.1
		t.Errorf("memory of 22 steps: block %d", b)
	}
	ramp := make([]float64, 40)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	if b := blockLength(ramp); b > 10 {
		t.Errorf("a drift: block %d of 40 steps, want at most a quarter", b)
	}
	constant := make([]float64, 400)
	for i := range constant {
		constant[i] = float64(i+1)*0.06 - float64(i)*0.06 // 0.06 up to rounding
	}
	if b := blockLength(constant); b != leastBlock {
		t.Errorf("constant: block %d, want %d", b, leastBlock)
	}
	if b := blockLength(constant[:8]); b != 2 {
		t.Errorf("constant: block %d of 8 steps, want 2", b)
	}
}

// The 95 % interval must hold the truth about as often as it says, also where
// steps depend on each other: single-step resampling would hold it in half of
// the cases.
func TestCoverage(t *testing.T) {
	const runs = 200
	for _, memory := range []float64{0, 0.8} {
		hits, naive := 0, 0
		for seed := range uint64(runs) {
			x := series(400, memory, seed)
			if resample(x, seedBefore).mean().Contains(1) {
				hits++
			}
			if interval(stat.BlockMeans(x, 1, draws, seedBefore), stat.Mean(x)).Contains(1) {
				naive++
			}
		}
		t.Logf("memory %.1f: truth inside in %d of %d, with single steps in %d", memory, hits, runs, naive)
		if hits < runs*84/100 {
			t.Errorf("memory %.1f: the interval holds the truth in %d of %d runs", memory, hits, runs)
		}
	}
}
