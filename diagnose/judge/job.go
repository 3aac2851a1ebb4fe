package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Member is one recording of a job, judged alone.
type Member struct {
	Name    string // for sentences
	Run     *recording.Run
	Verdict diagnose.Verdict
}

// Job is what the recordings of several ranks or nodes of one job tell together.
type Job struct {
	Name    string    // as its launcher names it; "" if none does
	World   int       // ranks that it has; 0 unknown
	Ranks   []JobRank // those with steps, in order of rank
	Late    []int     // places in Ranks: whom the others wait for
	Delay   float64   // how long they do, seconds per step; 0 if no rank is late
	Steps   int       // the same on every rank, by which they were compared; 0: none
	Missing []int     // ranks that are in none of the recordings
	Lead    int       // which Member the verdict is of
	Verdict diagnose.Verdict
}

// JobRank is one rank of a Job.
type JobRank struct {
	Rank   int
	Host   string
	Member int
	Costs  measure.Costs
	Last   int // to so many of Job.Steps it came last, by its input

	forward float64 // seconds per step; NaN unknown
	effort  float64 // share of a busy device that is at work; NaN unknown
	steps   []recording.Step
}

// InputWait is a step's wait for input, seconds: by the device's clock, else the
// host's wait; NaN unknown.
func (r JobRank) InputWait() float64 {
	if !math.IsNaN(r.Costs.Idle) {
		return r.Costs.Idle
	}
	return r.Costs.Wait
}

// Together says what limits a job of which there are several recordings. Ranks that meet
// in a collective in every step are as slow as the slowest: who is late is looked for
// first, and then its own recording's verdict is the job's. The hosts share no clock, so
// steps are compared by number, never by time. Recordings of different jobs are an error.
func Together(members []Member) (Job, error) {
	j := Job{}
	for i, m := range members {
		if err := j.checkSameJob(members, i); err != nil {
			return Job{}, err
		}
		j.World = max(j.World, countRanks(m.Run))
		j.Name = cmp.Or(j.Name, m.Run.Facts.Job)
	}
	notes := j.gatherRanks(members)
	rows, how := j.alignSteps()
	j.Lead = j.findWorst(members)
	v := members[j.Lead].Verdict
	if j.Steps = len(rows); j.Steps == 0 {
		notes = append(notes, how)
	} else {
		v = j.judgeWaits(members, rows, how)
	}
	v.Warnings = slices.Concat(notes, v.Warnings)
	j.Verdict = v
	return j, nil
}

// checkSameJob refuses a recording that is of another job than one before it.
func (j *Job) checkSameJob(members []Member, i int) error {
	for _, other := range members[:i] {
		if why := apartJobs(other.Run, members[i].Run); why != "" {
			return fmt.Errorf("%s and %s are of different jobs: %s", other.Name, members[i].Name, why)
		}
	}
	return nil
}

// apartJobs says what tells two recordings of different jobs; "" if nothing does.
// A launcher's name decides where both have one: in an elastic job the number of ranks
// changes, and each node's command may be its own.
func apartJobs(a, b *recording.Run) string {
	if a.Facts.Job != "" && b.Facts.Job != "" {
		if a.Facts.Job != b.Facts.Job {
			return a.Facts.Job + " and " + b.Facts.Job
		}
		return ""
	}
	was, now := countRanks(a), countRanks(b)
	switch program, other := programOf(a), programOf(b); {
	case sameRun(a, b):
		return ""
	case was != now:
		return fmt.Sprintf("%s and %s", quantity.Many(max(1, was), "rank"), quantity.Many(max(1, now), "rank"))
	case was < 2:
		return "each is one rank by itself"
	case program != other:
		return fmt.Sprintf("%q and %q", program, other)
	}
	for rank := range listRanks(a) {
		if listRanks(b)[rank] {
			return fmt.Sprintf("rank %d is in both, and no launcher names a job", rank)
		}
	}
	return ""
}

// sameRun reports whether two recordings are copies or pieces of one.
func sameRun(a, b *recording.Run) bool {
	return a.Facts.Host == b.Facts.Host && a.Facts.Started == b.Facts.Started && a.Facts.Monotonic == b.Facts.Monotonic
}

var numbers = regexp.MustCompile(`[0-9]+`)

// programOf is the command without the numbers in which nodes differ.
func programOf(run *recording.Run) string {
	return numbers.ReplaceAllString(strings.Join(run.Facts.Command, " "), "0")
}

func countRanks(run *recording.Run) (most int) {
	for _, p := range run.Facts.Processes {
		most = max(most, p.World)
	}
	return most
}

// listRanks are the ranks of a recording, with steps or without.
func listRanks(run *recording.Run) map[int]bool {
	all := map[int]bool{}
	for _, p := range run.Facts.Processes {
		if p.Role == recording.RoleTrainer {
			all[p.Rank] = true
		}
	}
	return all
}

// gatherRanks takes the newest attempt of every rank, and reports missing and duplicate ones.
func (j *Job) gatherRanks(members []Member) (notes []string) {
	newest, seen := map[int]JobRank{}, map[int]bool{}
	for i, m := range members {
		maps.Copy(seen, listRanks(m.Run))
		for _, costs := range measure.Trainers(m.Run) {
			r := rankOf(m.Run, costs, i)
			known, twice := newest[r.Rank]
			if twice && known.Member != i {
				if note := j.chooseRecording(members, known, &r); !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			} else if twice && known.Costs.Window.Start > costs.Window.Start {
				continue // restarted: the later process counts
			}
			newest[r.Rank] = r
		}
	}
	var short []int
	for _, rank := range slices.Sorted(maps.Keys(seen)) {
		if r := newest[rank]; len(r.steps) < leastCommon {
			short = append(short, rank)
		} else {
			j.Ranks = append(j.Ranks, r)
		}
	}
	for rank := range min(j.World, mostWorld) {
		if !seen[rank] {
			j.Missing = append(j.Missing, rank)
		}
	}
	if len(j.Missing) > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d %s in none of these recordings: if all wait for one of them, "+
			"it cannot be seen here", namesOf(j.Missing), j.World, quantity.Ending(len(j.Missing), "is", "are")))
	}
	if len(short) > 0 {
		notes = append(notes, fmt.Sprintf("%s %s too few steps to be compared", namesOf(short),
			quantity.Ending(len(short), "has", "have")))
	}
	return notes
}

// chooseRecording decides which of two recordings of a rank counts, and says so.
func (j *Job) chooseRecording(members []Member, known JobRank, r *JobRank) string {
	a, b := members[known.Member], members[r.Member]
	if sameRun(a.Run, b.Run) {
		if b.Run.End() < a.Run.End() {
			*r = known
		}
		return fmt.Sprintf("%s and %s hold the same run: the longer one counts (stoker runs merge joins them)",
			a.Name, b.Name)
	}
	if b.Run.Facts.Started < a.Run.Facts.Started {
		*r, a, b = known, b, a
	}
	return fmt.Sprintf("%s and %s hold the same ranks: %s counts, which started later", a.Name, b.Name, b.Name)
}

func rankOf(run *recording.Run, costs measure.Costs, member int) JobRank {
	r := JobRank{
		Rank: costs.Window.Rank, Host: run.Facts.Host, Member: member, Costs: costs, forward: math.NaN(),
		effort: math.NaN(),
	}
	r.steps = run.Whole(costs.Window).Steps
	if parts, _ := costs.Window.StepParts(); parts != nil {
		for _, part := range parts {
			if part.Name == "forward" {
				r.forward = part.Mean
			}
		}
	}
	if p := run.FindProcess(costs.Window.PID); p != nil && costs.Busy >= live.LooksBusy {
		r.effort = live.MeasureEffort(run, costs.Window, p.Device)
	}
	return r
}

const (
	leastCommon = 10   // steps below which ranks are not compared
	mostWorld   = 1e6  // ranks that a file may speak of
	inStep      = 0.02 // of their time by which ranks that meet in every step may differ, and two steps
	clearer     = 0.8  // of how far steps lie apart: from which counting from the end fits better
)

// alignSteps pairs the steps of all ranks: by their numbers, or counted from the
// last one where that fits better, as for a node that joined later. Without rows it says
// why there are none.
func (j *Job) alignSteps() (rows [][]recording.Step, how string) {
	if len(j.Ranks) < 2 {
		return nil, "fewer than two ranks have enough steps: who waits for whom is not known"
	}
	first := j.commonSteps(func([]recording.Step) int { return 0 })
	last := j.commonSteps(func(steps []recording.Step) int { return steps[len(steps)-1].N })
	rows, how = first, "by their numbers"
	if len(first) < leastCommon || len(last) >= leastCommon && measureSpread(last) < clearer*measureSpread(first) {
		rows, how = last, "counted from the last one"
	}
	if len(rows) < leastCommon {
		return nil, fmt.Sprintf("the ranks have %s in common: too few to tell who waits for whom",
			quantity.Many(len(rows), "step"))
	}
	if a, b := j.outOfStep(rows); a != b {
		return nil, fmt.Sprintf("who waits for whom is not known: steps take %s on rank %d and %s on rank %d, so "+
			"that they do not meet in every step",
			quantity.AboutSeconds(meanTime(rows, a)), j.Ranks[a].Rank, quantity.AboutSeconds(meanTime(rows, b)),
			j.Ranks[b].Rank)
	}
	return rows, how
}

// commonSteps are the steps that all ranks have, counted from a number of each rank's own.
func (j *Job) commonSteps(from func([]recording.Step) int) (rows [][]recording.Step) {
	found := map[int][]recording.Step{}
	for i, r := range j.Ranks {
		base := from(r.steps)
		for _, s := range r.steps {
			if row := found[s.N-base]; len(row) == i {
				found[s.N-base] = append(row, s)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(found)) {
		if row := found[n]; len(row) == len(j.Ranks) {
			rows = append(rows, row)
		}
	}
	return rows
}

// measureSpread is how far the times of a step lie apart on the ranks, in the median.
func measureSpread(rows [][]recording.Step) float64 {
	var all []float64
	for _, row := range rows {
		times := recording.Window{Steps: row}.StepTimes()
		most := slices.Max(times)
		all = append(all, (most-slices.Min(times))/most)
	}
	return stat.Median(all)
}

func meanTime(rows [][]recording.Step, rank int) float64 {
	steps := make([]recording.Step, len(rows))
	for i, row := range rows {
		steps[i] = row[rank]
	}
	return recording.Window{Steps: steps}.Time()
}

// outOfStep are two ranks whose steps take so different a time that they cannot meet in
// every one; the same rank twice where all can.
func (j *Job) outOfStep(rows [][]recording.Step) (fast, slow int) {
	var times []float64
	for i := range j.Ranks {
		times = append(times, meanTime(rows, i))
	}
	least, most := slices.Min(times), slices.Max(times)
	if most-least <= most*(inStep+2/float64(len(rows))) {
		return 0, 0
	}
	return slices.Index(times, least), slices.Index(times, most)
}

// findWorst is the recording to believe if no rank is late: the one with the longest wait
// for input. Without any wait it is one with a limit that is not its ranks; a rank waiting for
// others seems bound by its GPU.
func (j *Job) findWorst(members []Member) int {
	best, most := 0, math.Inf(-1)
	for i, m := range members {
		counts := slices.ContainsFunc(j.Ranks, func(r JobRank) bool { return r.Member == i })
		if !counts && len(j.Ranks) > 0 {
			continue // an older attempt, or a copy
		}
		v := m.Verdict
		score := stat.Or(v.Stall, 0)
		if hasOwn(v.Class) {
			score += diagnose.LateWarning
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

// hasOwn reports whether a class can be the reason why a rank is late.
func hasOwn(c diagnose.Class) bool {
	return c != diagnose.Unknown && c != diagnose.NetworkBound && c != diagnose.StragglerRank &&
		c != diagnose.WaitsOutside && c != diagnose.NotTraining && !c.Is(diagnose.GPUBound)
}

// judgeWaits says which rank the others wait for, and gives that rank's verdict.
func (j *Job) judgeWaits(members []Member, rows [][]recording.Step, how string) diagnose.Verdict {
	took := meanTime(rows, 0)
	input, alike := j.measureInputs(rows)
	forward, effort := mapRanks(j.Ranks, func(r JobRank) float64 { return r.forward }),
		mapRanks(j.Ranks, func(r JobRank) float64 { return r.effort })
	said := ""
	if j.Late = upperHalf(alike, diagnose.LateWarning*took); j.Late != nil {
		j.Delay = j.measureDelay(input)
		said = fmt.Sprintf("%s %s for input %s of a step, the others %s at most", j.nameRanks(j.Late),
			quantity.Ending(len(j.Late), "waits", "wait"),
			quantity.Percent(j.largest(alike, true)/took), quantity.Percent(j.largest(alike, false)/took))
	} else if j.Late = upperHalf(forward, diagnose.LateWarning*took); j.Late != nil {
		j.Delay = j.largest(forward, true) - j.largest(forward, false)
		said = fmt.Sprintf("the forward pass takes %s on %s, %s at most on the others",
			quantity.AboutSeconds(j.largest(forward, true)), j.nameRanks(j.Late),
			quantity.AboutSeconds(j.largest(forward, false)))
	} else if j.Late = upperHalf(effort, live.RanksApart); j.Late != nil {
		j.Delay = took * (j.largest(effort, true) - j.largest(effort, false))
		said = fmt.Sprintf("all devices look busy, but %s of that of %s is at work, and %s at most of the others'",
			quantity.Percent(j.largest(effort, true)), j.nameRanks(j.Late), quantity.Percent(j.largest(effort, false)))
	}
	compared := fmt.Sprintf("%s of %s were compared %s, as hosts share no clock", quantity.Many(len(rows), "step"),
		quantity.Many(len(j.Ranks), "rank"), how)
	if j.Late == nil {
		return j.judgeNobodyLate(members, input, took, compared)
	}
	said += fmt.Sprintf(": they wait for %s in collectives, %s of each %s step",
		quantity.Ending(len(j.Late), "it", "them"), quantity.AboutSeconds(j.Delay), quantity.AboutSeconds(took))
	return j.judgeLate(members, said, compared, took)
}

// measureInputs measure how long each rank waited for input in each step and in the mean: all by the
// device's clock, or all by the host's. It counts who comes last.
func (j *Job) measureInputs(rows [][]recording.Step) (input [][]float64, mean []float64) {
	wait := func(s recording.Step) float64 { return s.Wait }
	if !slices.ContainsFunc(j.Ranks, func(r JobRank) bool { return math.IsNaN(r.Costs.Idle) }) {
		wait = func(s recording.Step) float64 { return s.Idle }
	}
	sum, n := make([]float64, len(j.Ranks)), 0.0
	for _, row := range rows {
		waits := make([]float64, len(row))
		for i, s := range row {
			waits[i] = wait(s)
		}
		if slices.ContainsFunc(waits, math.IsNaN) {
			continue // the device's clock was not read
		}
		input, n = append(input, waits), n+1
		for i, w := range waits {
			sum[i] += w
		}
		if last := slices.Max(waits); last > 0 {
			j.Ranks[slices.Index(waits, last)].Last++
		}
	}
	for i := range sum {
		sum[i] /= n // NaN without a step
	}
	return input, sum
}

// upperHalf are the places of the values in the upper half of how far they lie apart, where
// that is at least so much and all are known.
func upperHalf(values []float64, least float64) (places []int) {
	low, high := slices.Min(values), slices.Max(values)
	if !(high-low >= least) { // NaN as well
		return nil
	}
	for i, v := range values {
		if v >= (low+high)/2 {
			places = append(places, i)
		}
	}
	return places
}

func mapRanks(ranks []JobRank, value func(JobRank) float64) (all []float64) {
	for _, r := range ranks {
		all = append(all, value(r))
	}
	return all
}

// largest is the largest value among the late ranks, or among the others.
func (j *Job) largest(values []float64, late bool) float64 {
	most := 0.0
	for i, v := range values {
		if slices.Contains(j.Late, i) == late {
			most = max(most, v)
		}
	}
	return most
}

// measureDelay is by how much the late ranks come after the others in the mean of all steps.
func (j *Job) measureDelay(input [][]float64) float64 {
	var all []float64
	for _, waits := range input {
		all = append(all, max(0, j.largest(waits, true)-j.largest(waits, false)))
	}
	return stat.Mean(all)
}

// judgeNobodyLate is the verdict if no rank is late.
func (j *Job) judgeNobodyLate(members []Member, input [][]float64, took float64, compared string) diagnose.Verdict {
	v := members[j.Lead].Verdict
	var last []float64
	most := 0.0
	for _, waits := range input {
		last = append(last, slices.Max(waits))
	}
	for _, r := range j.Ranks {
		most = max(most, r.InputWait())
	}
	text := "no rank makes the others wait: they take the same time in their own work"
	if together := stat.Mean(last); together-most >= diagnose.LateWarning*took {
		text = fmt.Sprintf("the ranks are late in turn: each waits for input %s of a step at most, and the last "+
			"one of each step %s. All wait for that one",
			quantity.Percent(most/took), quantity.Percent(together/took))
	}
	v.Findings = j.replaceRankFinding(v, text+". "+strings.ToUpper(compared[:1])+compared[1:])
	return v
}

// judgeLate is that of the recording with the late rank, with the waiting ranks first.
func (j *Job) judgeLate(members []Member, why, compared string, took float64) diagnose.Verdict {
	at := j.Late[0]
	for _, i := range j.Late {
		if j.Ranks[i].InputWait() > j.Ranks[at].InputWait() {
			at = i
		}
	}
	rank := j.Ranks[at]
	j.Lead = rank.Member
	v := members[j.Lead].Verdict
	first := diagnose.AddEvidence(nil, j.Delay/took, "ratio", "job.ranks", "%s", why)
	if v.Rank == rank.Rank && hasOwn(v.Class) {
		v.Evidence = slices.Concat(first, v.Evidence)
	} else {
		first = append(first, diagnose.Evidence{Text: fmt.Sprintf("by itself its recording is %s: why it is late "+
			"is not seen there", v.Class), Signal: "job.ranks", Value: math.NaN()})
		v.Evidence, v.RunnerUp, v.Class, v.Most = first, v.Class, diagnose.StragglerRank, j.Delay/took
	}
	last := 0
	for _, i := range j.Late {
		last += j.Ranks[i].Last
	}
	v.Findings = j.replaceRankFinding(v, fmt.Sprintf("%s, and %s came last to input in %d of them. A rank that "+
		"waits in a collective for a starved one is not itself starved: what it waits for input by itself shows "+
		"when the late one is mended", compared, j.nameRanks(j.Late), last))
	return v
}

// replaceRankFinding are a verdict's with a sentence on all ranks instead of that on its own.
func (j *Job) replaceRankFinding(v diagnose.Verdict, text string) []diagnose.Finding {
	rest := slices.DeleteFunc(slices.Clone(v.Findings),
		func(f diagnose.Finding) bool { return f.Name == diagnose.FindingRanks })
	return append([]diagnose.Finding{diagnose.NewTextFinding(diagnose.FindingRanks, text)}, rest...)
}

// nameRanks names ranks with their hosts, where the job has several.
func (j *Job) nameRanks(places []int) string {
	var ranks []int
	hosts, all := map[string]bool{}, map[string]bool{}
	for i, r := range j.Ranks {
		all[r.Host] = true
		if slices.Contains(places, i) {
			ranks, hosts[r.Host] = append(ranks, r.Rank), true
		}
	}
	const few = 4
	if len(all) < 2 || len(hosts) > few {
		return namesOf(ranks)
	}
	return namesOf(ranks) + " on " + joinedBy(slices.Sorted(maps.Keys(hosts)))
}

// namesOf names ranks, those in a row as one: "ranks 0, 2 and 4 to 7".
func namesOf(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		end := i
		for end+1 < len(ranks) && ranks[end+1] == ranks[end]+1 {
			end++
		}
		switch {
		case end > i+1:
			parts = append(parts, fmt.Sprintf("%d to %d", ranks[i], ranks[end]))
		case end > i:
			parts = append(parts, fmt.Sprint(ranks[i]), fmt.Sprint(ranks[end]))
		default:
			parts = append(parts, fmt.Sprint(ranks[i]))
		}
		i = end + 1
	}
	return quantity.Ending(len(ranks), "rank ", "ranks ") + joinedBy(parts)
}

func joinedBy(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
