package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// node is the recording of one node of a job: its ranks from first on.
type node struct {
	made

	host         string
	first, world int
	job          string
	change       func(*recording.Run)
}

// nodes are so many, of one rank each, that compute.
func nodes(n int) []node {
	var all []node
	for i := range n {
		m := computing()
		m.seconds = 20
		all = append(all, node{made: m, host: fmt.Sprintf("node-%d", i), first: i, world: n, job: "SLURM_JOB_ID=4711"})
	}
	return all
}

// starve has a node wait for its workers' reads.
func (n *node) starve() {
	n.made = starving()
	n.seconds = 20
}

func (n node) member(t *testing.T, i int) judge.Member {
	run := n.run(t)
	run.Facts.Host, run.Facts.Job, run.Facts.Started, run.Facts.Command = n.host, n.job, 1.7e9+float64(i)/8, []string{"python", "train.py"}
	for k := range run.Facts.Processes {
		p := &run.Facts.Processes[k]
		p.Rank, p.World = p.Rank+n.first, n.world
	}
	for k := range run.Steps {
		run.Steps[k].Rank += n.first
	}
	if n.change != nil {
		n.change(run)
	}
	return judge.Member{Name: fmt.Sprintf("%d.jsonl.gz", i), Run: run, Verdict: judge.Judge(run)}
}

func together(t *testing.T, all []node) (judge.Job, error) {
	t.Helper()
	var members []judge.Member
	for i, n := range all {
		members = append(members, n.member(t, i))
	}
	return judge.Together(members)
}

// The recordings of a job's nodes make one verdict: that of the rank that all wait for.
func TestJobs(t *testing.T) {
	inside := func(forward float64) func([]recording.Step) {
		return func(steps []recording.Step) {
			for i := range steps {
				steps[i].Inside = &recording.Inside{Clock: "cuda", Span: 0.1, Forward: forward, Backward: 0.09 - forward}
			}
		}
	}
	for name, c := range map[string]struct {
		nodes func() []node
		class diagnose.Class
		late  []int // ranks
		lead  int
		says  string // in evidence, findings or warnings
	}{
		"one rank starves": {
			func() []node { all := nodes(4); all[2].starve(); return all },
			diagnose.DeviceSaturated,
			[]int{2},
			2, "rank 2 on node-2 waits for input 66 % of a step, the others 0.5 % at most: they wait for it in collectives, 65.5 ms of each 100 ms step",
		},
		"one node starves": {
			func() []node {
				all := nodes(2)
				all[1].starve()
				for i := range all {
					all[i].made = all[i].ranks(0.9, 0.9)
					all[i].first, all[i].world = 2*i, 4
				}
				return all
			},
			diagnose.DeviceSaturated,
			[]int{2, 3},
			1, "ranks 2 and 3 on node-1 wait for input 66 % of a step",
		},
		"nobody is late": {
			func() []node { return nodes(3) },
			diagnose.GPUBound, nil, 0, "no rank makes the others wait",
		},
		"all starve alike": {
			func() []node {
				all := nodes(2)
				all[0].starve()
				all[1].starve()
				return all
			},
			diagnose.DeviceSaturated, nil, 0, "no rank makes the others wait",
		},
		"late in turn": {
			func() []node {
				all := nodes(4)
				for rank := range all {
					all[rank].steps = func(steps []recording.Step) {
						for i := range steps {
							if i%4 == rank {
								steps[i].Idle, steps[i].Wait = 0.06, 0.061
							}
						}
					}
				}
				return all
			},
			"", nil, 3, "the ranks are late in turn: each waits for input 15.6 % of a step at most, and the last one of each step 60 %",
		},
		"one rank computes longer": {
			func() []node {
				all := nodes(3)
				for i := range all {
					all[i].steps = inside(0.02)
				}
				all[1].steps = inside(0.06)
				return all
			},
			diagnose.StragglerRank,
			[]int{1},
			1, "the forward pass takes 60 ms on rank 1 on node-1, 20 ms at most on the others",
		},
		"one device is at work": {
			func() []node {
				all := nodes(3)
				for i := range all {
					all[i].made = all[i].ranks(0.4)
				}
				all[2].made = all[2].ranks(0.9)
				return all
			},
			diagnose.StragglerRank,
			[]int{2},
			2, "90 % of that of rank 2 on node-2 is at work, and 40 % at most of the others'",
		},
		"one is throttled": {
			func() []node {
				all := nodes(3)
				for i := range all {
					all[i].steps = inside(0.02)
				}
				all[0].steps = inside(0.06)
				all[0].levels["gpu.clock gpu/0"], all[0].levels["gpu.slowed gpu/0"] = 900, float64(recording.ByHeat)
				return all
			},
			diagnose.ThrottledGPU,
			[]int{0},
			0, "the forward pass takes 60 ms on rank 0",
		},
		"not in step": {
			func() []node { all := nodes(2); all[1].step = 0.04; return all },
			diagnose.GPUBound, nil, 1, "steps take 40 ms on rank 1 and 100 ms on rank 0, so that they do not meet in every step",
		},
		"ranks are missing": {
			func() []node {
				all := nodes(2)
				all[0].world, all[1].world = 8, 8
				return all
			},
			diagnose.GPUBound, nil, 0, "ranks 2 to 7 of 8 are in none of these recordings",
		},
		"one is too short": {
			func() []node {
				all := nodes(3)
				all[1].starve()
				all[2].seconds, all[2].end = 0.3, 20
				return all
			},
			diagnose.DeviceSaturated,
			[]int{1},
			1, "rank 2 has too few steps to be compared",
		},
		"one is cut": {
			func() []node {
				all := nodes(3)
				all[1].starve()
				all[2].seconds, all[2].end = 10, 20
				return all
			},
			diagnose.DeviceSaturated,
			[]int{1},
			1, "of 3 ranks were compared by their numbers",
		},
		"one joined later": {
			func() []node {
				all := nodes(3)
				all[1].starve()
				for i := range all[:2] {
					all[i].change = func(run *recording.Run) {
						for k := range run.Steps {
							run.Steps[k].N += 300 // the others' steps before it came are older than what is judged
						}
					}
				}
				return all
			},
			diagnose.DeviceSaturated,
			[]int{1},
			1, "counted from the last one",
		},
		"a rank started again": {
			func() []node {
				all := nodes(3)
				all[2].starve()
				again := nodes(3)[2]
				return append(all, again)
			},
			diagnose.GPUBound, nil, 0, "2.jsonl.gz and 3.jsonl.gz hold the same ranks: 3.jsonl.gz counts, which started later",
		},
		"the same run twice": {
			func() []node {
				all := nodes(2)
				all = append(all, all[1])
				for i := range all[1:] {
					all[1+i].change = func(run *recording.Run) { run.Facts.Started = 1.7e9 }
				}
				return all
			},
			diagnose.GPUBound, nil, 0, "1.jsonl.gz and 2.jsonl.gz hold the same run",
		},
		"no launcher": {
			func() []node {
				all := nodes(2)
				all[1].starve()
				for i := range all {
					all[i].job = ""
					all[i].change = func(run *recording.Run) {
						run.Facts.Command = []string{"torchrun", fmt.Sprintf("--node-rank=%d", i), "train.py"}
					}
				}
				return all
			},
			diagnose.DeviceSaturated,
			[]int{1},
			1, "waits for input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := together(t, c.nodes())
			if err != nil {
				t.Fatal(err)
			}
			var late []int
			for _, i := range j.Late {
				late = append(late, j.Ranks[i].Rank)
			}
			v := j.Verdict
			said := slices.Clone(v.Warnings)
			for _, e := range v.Evidence {
				said = append(said, e.Text)
			}
			for _, f := range v.Findings {
				said = append(said, f.Text)
			}
			if !slices.Equal(late, c.late) || j.Lead != c.lead || c.class != "" && !v.Class.Is(c.class) {
				t.Errorf("%s, late are %v, the verdict is of recording %d; want %s, %v, %d", v.Class, late, j.Lead, c.class, c.late, c.lead)
			}
			if !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("it does not say %q:\n%s", c.says, strings.Join(said, "\n"))
			}
		})
	}
}

// Recordings of different jobs make no verdict.
func TestJobsApart(t *testing.T) {
	for why, change := range map[string]func(a, b *node){
		"SLURM_JOB_ID=4711 and SLURM_JOB_ID=4712":        func(_, b *node) { b.job = "SLURM_JOB_ID=4712" },
		"2 ranks and 8 ranks":                            func(_, b *node) { b.job, b.world = "", 8 },
		"each is one rank by itself":                     func(a, b *node) { a.job, b.job, a.world, b.world = "", "", 1, 1 },
		"rank 0 is in both, and no launcher names a job": func(a, b *node) { a.job, b.job, b.first = "", "", 0 },
		`"python train.py" and "python other.py --lr 0.0"`: func(a, b *node) {
			a.job, b.job = "", ""
			b.change = func(run *recording.Run) { run.Facts.Command = []string{"python", "other.py", "--lr", "1.5"} }
		},
	} {
		all := nodes(2)
		change(&all[0], &all[1])
		want := "0.jsonl.gz and 1.jsonl.gz are of different jobs: " + why
		if _, err := together(t, all); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
