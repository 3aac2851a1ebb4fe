package live

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values for servers. [J]
const (
	fewRequests = 20  // answered ones below which a server is not judged by them
	fewPasses   = 100 // passes below which it is not judged by their size where few requests were answered
	onePiece    = 0.9 // passes of a request over parts of one tensor beside the first; one may be missed
	onCore      = 0.2 // share of a line's samples on a core from which its sleep is a wait for Python's lock
	seenEnough  = 0.5 // share of the passes' time that looks at stacks found, from which they tell what the server does
	leastCounts = 10  // counts of threads that tell how often a process wants a core
)

// fillServer fills in the figures that rules use for a server, instead of those for a loop.
func (l filler) fillServer() {
	trains := func(s recording.Step) bool { return s.Optimized > 0 }
	batch, pipelines := l.batchOfPipelines()
	if l.HasSteps && l.Costs.Fed() && !pipelines || slices.ContainsFunc(l.Costs.Window.Steps, trains) {
		return // a loop is no server, though it may send requests to one that it started, as for its data
	}
	l.Requests = measure.ReadRequests(l.run, l.Costs.Window, l.From, l.To)
	if !l.Requests.Known() {
		return
	}
	if pipelines {
		l.Requests.Batch = batch
		passes := float64(len(l.Costs.Window.Steps) * max(1, l.Costs.Window.OneIn))
		l.Requests.Inputs = passes * batch / max(1, l.Requests.Count)
	} else if l.Requests.Pieces >= onePiece {
		l.Requests.Batch, l.Requests.Inputs = 1, l.Requests.Pieces+1
	}
	none := diagnose.Quantity{}
	l.OwnCodeDelaysDevice, l.JobAwaitsOthers, l.DeviceWaitsInLongGaps, l.DeviceWaitsForLaunch = none, none, none, none
	l.InputShort, l.InputShortBeside = none, none // of a loader
	l.Grounds.Program = diagnose.Inference
	l.IsTraining = true // its passes, or its requests, say what the program does
	l.LoopLines = l.findServerLines()
	l.nameGarbage()
	_, l.OnDevice = sumInsides(l.Costs.Window)
	l.FewerPasses = measure.FewerPasses(l.requestsOfPasses(), l.Costs.Window)
	l.NobodyAsks, l.CacheIsFull = l.askNobody(), l.askCacheFull()
	if idle := l.idleOfServer(); !math.IsNaN(idle) {
		l.Parts = l.splitServer(idle)
		l.PassesSmall, l.HostServes, l.NobodyWorks = l.askPassesSmall(), l.askHostServes(), l.askNobodyWorks()
		l.DeviceWaitsForLaunch, l.LaunchingLacksCore = l.askServerLaunches(), l.askServerQueues()
		if q := l.askServerCopies(); q.Score > l.CopiesTakeTime.Score {
			l.CopiesTakeTime, l.RoomForCopies = q, none
		}
		l.DeviceBusy = l.askServerBusy()
		l.leaveToDevice()
	}
}

// batchOfPipelines is how many inputs a pass of transformers' pipelines takes, which make a loader for each list that
// they are given; false if other loaders feed the model.
func (l filler) batchOfPipelines() (batch float64, all bool) {
	for _, d := range l.run.Facts.Loaders {
		if d.PID != l.Costs.Window.PID {
			continue
		}
		size, known := d.Settings.Float(stoker.BatchSize)
		if !known || !strings.HasPrefix(d.Reader, "transformers.pipelines.") {
			return 0, false
		}
		batch, all = max(batch, size), true
	}
	return batch, all
}

// requestsOfPasses are the requests without those that wait for something that no pass of the model gives.
func (l filler) requestsOfPasses() measure.Requests {
	r := l.Requests
	r.Flight /= float64(max(1, r.Sides))
	if r.Inputs > 1 {
		r.Flight = r.Inputs * (1 - r.None) // a list that a pipeline is given is of one request
		return r
	}
	r.Flight = max(min(r.Batch, r.Flight), r.Flight-l.waitElsewhere())
	return r
}

// waitElsewhere is how many requests at a time, in the mean, wait for something that no pass of the model gives:
// another service, a timer, a thread of a pool, their client.
func (l filler) waitElsewhere() float64 {
	var coroutines, threads, works float64
	for _, line := range l.LoopLines.Awaits {
		if line.Kind != diagnose.Held {
			coroutines += line.Seconds
		}
	}
	// without a word on locks any wait may be for the model's
	told := slices.ContainsFunc(l.run.All(recording.FetchStack), func(s recording.Series) bool {
		return recording.IsLocked(s.Subject)
	})
	for _, line := range l.LoopLines.Lines {
		held := slices.Contains(diagnose.HoldRequests, line.Kind) && !isQueueing(line)
		if held && (told || line.Kind != diagnose.Held) {
			threads += line.Seconds
		} else {
			works += line.Seconds
		}
	}
	if threads > 0 { // looks follow some threads of a pool, and all coroutines that wait for one
		threads = max(threads, l.LoopLines.InThreads*threads/(threads+works))
	}
	return (coroutines + threads) / (l.To - l.From)
}

// askServerBusy is askDeviceBusy of the time with requests. As for a trace, it is also a yes if a faster device brings
// more than filling its gaps.
func (l filler) askServerBusy() diagnose.Quantity {
	asked := 1 - l.Parts.Unasked
	if !(asked > 0) {
		return l.DeviceBusy
	}
	busy := min(1, l.Util/asked)
	q := diagnose.AskShareOr(diagnose.UnknownScore,
		"Does some kernel run nearly all the time in which requests are there?", busy, diagnose.DeviceBusy, "")
	if leads := l.partsAsked().ScoreDeviceLead(busy); leads > q.Score {
		q = diagnose.AskShare(diagnose.AskDeviceLead, busy, diagnose.DeviceLeads.AtNo(), "")
		q.Score = leads
	}
	return q.AddMeter(l.Case, busy, "some kernel runs %s of the time in which requests are there", quantity.Percent(busy))
}

// partsAsked are what fills the device's gaps, as shares of the time in which requests are there.
func (l filler) partsAsked() diagnose.Parts {
	p, asked := l.Parts, 1-l.Parts.Unasked
	return diagnose.Parts{
		Host: p.Host / asked, Copies: p.Copies / asked, Awaited: p.Awaited / asked,
		Long: max(p.Long, p.Queued, p.Unnamed) / asked,
	}
}

// leaveToDevice lowers the scores of what keeps the device waiting, the more the device itself is the limit.
func (l filler) leaveToDevice() {
	if math.IsNaN(l.Util) {
		return
	}
	for _, q := range []*diagnose.Quantity{
		&l.HostServes, &l.NobodyWorks, &l.DeviceWaitsForLaunch, &l.LaunchingLacksCore, &l.CopiesTakeTime,
	} {
		q.Score *= 1 - l.DeviceBusy.Score
	}
}

// idleOfServer is the share of the window in which the device did nothing: by its meter, and of a model on the
// CPU by the time of its passes.
func (l filler) idleOfServer() float64 {
	if l.Model.OnCPU() && !(l.Util > 0) {
		return 1 - stat.Or(l.Requests.PassShare, 0)
	}
	return l.Idle
}

// splitServer divides a device's idle time by cause. Without requests the device is assumed to idle.
func (l filler) splitServer(idle float64) diagnose.Parts {
	r, p := l.Requests, diagnose.Parts{Input: 0, Rare: 0}
	p.Unasked = min(idle, r.None)
	rest := idle - p.Unasked
	p.Copies = min(rest, max(stat.Or(l.Parts.Copies, 0), l.copiesServer()))
	rest -= p.Copies
	if in, ok := sumInsides(l.Costs.Window); ok && in.Launches >= fewLaunches {
		calls := (stat.Or(in.LaunchTime, 0) + stat.Or(in.SyncTime, 0)) / l.Costs.HostStep // also behind the pass
		p.Host = min(rest, max(0, max(stat.Or(r.PassShare, 0), stat.Or(calls, 0))-(1-idle)))
		rest -= p.Host
	}
	if l.LoopLines.Looks == 0 {
		p.Unnamed = rest
		return p
	}
	works, awaited := l.sumWork()/(l.To-l.From), math.Inf(1)
	ofPasses := stat.Or(r.PassShare, 1-r.None) // of passes that are not seen, all the time with requests
	if l.LoopLines.Seconds < seenEnough*ofPasses*(l.To-l.From) && !l.seesWaits() {
		// threads of the passes live too short for looks: so much of the idle time at least has one that wants a core
		wants := l.wantsCore()
		works = max(works, stat.Or(wants, 0)-(1-idle)-p.Unasked)
		awaited = max(0, 1-stat.Or(wants, 1)-(1-idle)-p.Unasked)
	}
	p.Long = min(rest, works)
	rest -= p.Long
	p.Queued = l.queuesOf(p.Long)
	p.Long -= p.Queued
	// the remaining use of cores is work in threads that were not sampled, or in calls of the device that it outlasts
	p.Unnamed = min(rest, max(0, stat.Or(l.Costs.CoresUse, 0)-works, l.sumCalls()/(l.To-l.From)-(1-idle)))
	p.Awaited = max(0, min(awaited, rest-p.Unnamed-l.LoopLines.SecondsOf(diagnose.Queueing)/(l.To-l.From)))
	p.Unnamed = rest - p.Awaited
	if l.handsPieces() {
		p.Long, p.Awaited = p.Long+p.Awaited, 0
	}
	return p
}

// handsPieces reports whether requests wait for pieces of answers, which threads hand over, and no thread waits much
// for anything else. On a crowded machine each of them is waiting for a core in between, and looks find none.
func (l filler) handsPieces() bool {
	_, pieces := l.LoopLines.FirstPieces()
	held := func(line diagnose.LoopLine) bool {
		return slices.Contains(diagnose.HoldRequests, line.Kind) && line.Share.Point >= diagnose.NamedLine
	}
	return pieces && !slices.ContainsFunc(l.LoopLines.Lines, held)
}

// askServerCopies asks looks at stacks whether copies take a good part of the time.
func (l filler) askServerCopies() diagnose.Quantity {
	copying := min(l.Parts.Copies, l.copiesServer())
	return diagnose.AskShare("Do copies to the device take a good part of the time?", copying, diagnose.CopyTime, "").
		WithEvidence(copying, "ratio", string(recording.FetchStack),
			"stack samples find threads in copies to the device %s of the time, while no kernel runs", quantity.Percent(copying))
}

// copiesServer is the share of the window in which looks find a thread in a copy to the device.
func (l filler) copiesServer() float64 {
	if l.LoopLines.Looks < fewLooks {
		return 0
	}
	return l.LoopLines.SecondsOf(diagnose.Copying) / (l.To - l.From)
}

// seesWaits reports whether looks tell for what requests wait.
func (l filler) seesWaits() bool {
	line, found := l.LoopLines.FirstHeld()
	return found && (line.Own.File != "" || line.Kind != diagnose.Held)
}

// wantsCore is the share of the time in which one of the server's processes had a thread on a core, or waiting
// for one; NaN unknown. Threads that live for a request are seldom found by looks at stacks, but a count once a
// second finds them.
func (l filler) wantsCore() float64 {
	share := math.NaN()
	for _, counts := range l.countWants() {
		wants := 0.0
		for _, n := range counts {
			if n > 0 {
				wants++
			}
		}
		share = max(stat.Or(share, 0), wants/float64(len(counts)))
	}
	return share
}

// countWants returns, for each of the server's processes with enough counts, how many of its threads were on a core or
// waited for one.
func (l filler) countWants() (all [][]float64) {
	for _, pid := range l.serverPIDs() {
		counts := l.run.Find(recording.ProcessWants, fmt.Sprintf("process/%d", pid)).Between(l.From, l.To).V
		if len(counts) >= leastCounts {
			all = append(all, counts)
		}
	}
	return all
}

// queuesOf is how much of the server's work is a wait for cores that other programs have: nearly all of it, or 0 if
// the rest of its work delays the device by itself. A sample shows no difference between a thread on a core and
// one that is ready to run.
func (l filler) queuesOf(works float64) float64 {
	wants := 0.0
	for _, counts := range l.countWants() {
		wants += stat.Mean(counts)
	}
	if !(l.OthersTakeCores.Score > 0) || !(wants > l.Costs.CoresUse) {
		return 0
	}
	stays := works * l.Costs.CoresUse / wants
	if diagnose.HostForRequests.Score(stays/(1-works+stays)) > 0 {
		return 0
	}
	return works - stays
}

// askServerQueues asks whether the server's threads wait for cores that other programs have.
func (l filler) askServerQueues() diagnose.Quantity {
	queued := l.Parts.Queued
	q := diagnose.AskShare("Do threads of the server wait for a core, and the model for them?", queued, diagnose.LaunchAwaitsCore, "").
		WithEvidence(queued, "ratio", string(recording.ProcessWants),
			"requests are there, the model waits, and threads of the server wait for a core %s of the time", quantity.Percent(queued))
	q.Evidence = append(q.Evidence, l.describeCoreRivals()...)
	return q
}

// sumWork returns the seconds in which the server's threads worked for requests, by samples of their stacks.
func (l filler) sumWork() (seconds float64) {
	for _, line := range l.LoopLines.Lines {
		if rankOfServer(line) == 0 && !slices.Contains(diagnose.HoldRequests, line.Kind) {
			seconds += line.Seconds
		}
	}
	return seconds
}

// sumCalls returns the seconds in which threads were awake in calls of the device, such as copies that are not counted.
func (l filler) sumCalls() (seconds float64) {
	for _, line := range l.LoopLines.Lines {
		if slices.Contains(diagnose.OfDevice, line.Kind) {
			seconds += line.Seconds - line.Asleep
		}
	}
	return seconds
}

func (l filler) askNobody() diagnose.Quantity {
	r := l.Requests
	q := diagnose.AskShare("Is there no request for much of the time?", r.None, diagnose.Unasked,
		"requests that wait before the server are not seen").
		WithEvidence(r.None, "ratio", string(recording.Unasked),
			"no request is there %s of the time: %s requests/s come", quantity.Percent(r.None), quantity.About(r.Rate))
	if p99 := r.Time(0.99); len(r.Times) >= fewRequests {
		q = q.WithEvidence(p99, "s", string(recording.RequestTime), "half of them are answered within %s, 99 %% within %s",
			quantity.AboutSeconds(r.Time(0.5)), quantity.AboutSeconds(p99))
	}
	if r.None < 1 && r.Rate > 0 {
		q = q.WithEvidence(r.Rate/(1-r.None), "1/s", string(recording.Unasked),
			"answering them as now, it would be busy all the time at %s requests/s", quantity.About(r.Rate/(1-r.None)))
	}
	return q
}

// askCacheFull is whether requests are put off for want of cache.
func (l filler) askCacheFull() diagnose.Quantity {
	r := l.Requests
	if math.IsNaN(r.Cache) || r.Count < fewRequests {
		return diagnose.Quantity{}
	}
	q := diagnose.AskShare("Are requests put off because the key-value cache is full?", r.Preempted, diagnose.PutOff, "").
		WithEvidence(r.Cache, "ratio", string(recording.EngineCache), "the key-value cache is %s full in the mean, and %s requests are "+
			"put off for each that is answered", quantity.Percent(r.Cache), quantity.About(r.Preempted))
	q.Score *= diagnose.CacheInUse.Score(r.Cache)
	return q
}

// askPassesSmall is whether requests wait for the model while its passes take few of them. What a pass takes is
// known by its samples.
func (l filler) askPassesSmall() diagnose.Quantity {
	r, p := l.requestsOfPasses(), l.Parts
	waiting := r.InFlightAsked() / r.Batch
	if math.IsNaN(waiting) || r.Count < fewRequests && len(l.Costs.Window.Steps) < fewPasses {
		return diagnose.Quantity{}
	}
	besides := ""
	if r.Flight < l.Requests.Flight {
		besides = " besides those that wait for something else"
	}
	q := diagnose.AskShare("Do several requests wait for each that a pass takes?", waiting, diagnose.WaitingPerSample, "").
		WithEvidence(waiting, "requests", string(recording.InFlight),
			"%s requests are there at a time%s, and a pass of the model takes %s", quantity.About(r.InFlightAsked()), besides,
			quantity.About(r.Batch))
	if r.Inputs > 1 {
		q.Evidence = nil
		q = q.WithEvidence(r.Inputs, "inputs", string(recording.InFlight),
			"a request brings %s inputs, and a pass of the model takes %s of them", quantity.About(r.Inputs), quantity.About(r.Batch))
	}
	q.Answer = fmt.Sprintf("%s requests for each sample of a pass", quantity.About(waiting))
	busy := (1 - l.idleOfServer()) / (1 - p.Unasked) // they wait for what takes most of the time
	q.Score *= diagnose.SmallPass.Score(r.Batch) * diagnose.DeviceAsked.Score(busy) * (1 - l.CacheIsFull.Score)
	return q
}

func (l filler) askHostServes() diagnose.Quantity {
	q := diagnose.AskShare("Does the host work for requests while the model waits?", l.Parts.Long, diagnose.HostForRequests, "")
	return l.withServerLines(q.WithEvidence(l.Parts.Long, "ratio", l.MeterSignal(),
		"requests are there, the model waits, and the host works for them %s of the time", quantity.Percent(l.Parts.Long)))
}

func (l filler) askNobodyWorks() diagnose.Quantity {
	q := diagnose.AskShare("Are requests there, while neither the model nor a core works for them?", l.Parts.Awaited,
		diagnose.Awaited, "")
	return l.withServerLines(q.WithEvidence(l.Parts.Awaited, "ratio", l.MeterSignal(),
		"requests are there, and neither the model nor a core works for them %s of the time",
		quantity.Percent(l.Parts.Awaited)))
}

// askServerLaunches asks whether passes keep the device waiting for launches.
func (l filler) askServerLaunches() diagnose.Quantity {
	in, ok := sumInsides(l.Costs.Window)
	if !ok || math.IsNaN(in.Launches) {
		return diagnose.Quantity{}
	}
	return diagnose.AskShare("Does the device wait for launches within passes?", l.Parts.Host, diagnose.HostForRequests, "").
		WithEvidence(in.Launches, "launches", "step.launches",
			"a pass launches %.0f times, and the device waits for that %s of the time", in.Launches,
			quantity.Percent(l.Parts.Host))
}

// withServerLines says where the server's threads were seen.
func (l filler) withServerLines(q diagnose.Quantity) diagnose.Quantity {
	var said []string
	for _, line := range l.LoopLines.Lines {
		if len(said) < diagnose.LinesSaid && line.Share.Point >= leastLine && rankOfServer(line) == 0 {
			said = append(said, diagnose.WholePercent(line.Share.Point)+" "+line.String()+" ("+line.ServerWords()+")")
		}
	}
	if len(said) > 0 {
		q = q.WithEvidence(l.LoopLines.Lines[0].Share.Point, "ratio", string(recording.FetchStack),
			"by line, stack samples of the server's threads: %s", strings.Join(said, ", "))
	}
	said = nil
	for _, line := range l.LoopLines.Awaits[:min(len(l.LoopLines.Awaits), diagnose.LinesSaid)] {
		said = append(said, diagnose.WholePercent(line.Share.Point)+" "+line.String()+" ("+line.ServerWords()+")")
	}
	if len(said) > 0 {
		q = q.WithEvidence(l.LoopLines.Awaits[0].Share.Point, "ratio", string(recording.AwaitStack),
			"by line, samples of coroutines that wait: %s", strings.Join(said, ", "))
	}
	return q
}

// findServerLines finds the lines on which threads were in processes that take requests or run the model.
// Threads that wait for work are left out.
func (l filler) findServerLines() diagnose.LoopLines {
	all, places := diagnose.LoopLines{}, map[string]int{}
	for _, pid := range l.serverPIDs() {
		stacks, looks := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: pid, Outside: true})
		all.Looks += looks
		for _, s := range stacks {
			if len(s.Places) > 0 && !awaitsWork(s) && !atImport(s) {
				addServerStack(&all, places, s)
			}
		}
	}
	for i := range all.Lines {
		all.Lines[i].Share = estimateShare(all.Lines[i].Seconds, all.Seconds, all.Looks)
		l.settleServerLine(&all.Lines[i])
	}
	l.nameModulesOnHost(all.Lines)
	slices.SortStableFunc(all.Lines, func(a, b diagnose.LoopLine) int {
		return cmp.Or(cmp.Compare(rankOfServer(a), rankOfServer(b)), cmp.Compare(b.Seconds, a.Seconds),
			cmp.Compare(a.String(), b.String()))
	})
	holdersFirst(all.Lines)
	all.Awaits, all.InThreads = l.findAwaits()
	return all
}

// isQueueing reports whether a line waits for a lock that another thread has.
func isQueueing(line diagnose.LoopLine) bool {
	return slices.Contains(diagnose.HoldRequests, line.Kind) && line.Locked >= line.Seconds/2
}

// holdersFirst puts a line that sleeps in a function before one of that function on which others wait for a lock: the
// one that sleeps has it. If no line sleeps otherwise, the thread that has the lock works, and those that wait for it
// are left to its line.
func holdersFirst(lines []diagnose.LoopLine) {
	holds := func(line diagnose.LoopLine) bool {
		return slices.Contains(diagnose.HoldRequests, line.Kind) && !isQueueing(line)
	}
	sleeps := slices.ContainsFunc(lines, holds)
	for i, waits := range lines {
		if !isQueueing(waits) {
			continue
		}
		if !sleeps {
			lines[i].Kind = diagnose.Queueing
			continue
		}
		for k := i + 1; k < len(lines); k++ {
			holder := lines[k]
			if holds(holder) && holder.Own.IsInFunctionOf(waits.Own) {
				copy(lines[i+1:k+1], lines[i:k])
				lines[i] = holder
				break
			}
		}
	}
}

// addServerStack adds a stack of a server's thread to its line.
func addServerStack(all *diagnose.LoopLines, places map[string]int, s recording.Stack) {
	own, call := splitServerStack(s)
	line := diagnose.Line{Own: own, Call: call, Kind: kindOfServer(s)}
	all.Seconds += s.Seconds
	if s.OnLoop && slices.ContainsFunc(s.Places, awaitsThread) {
		s.Awaits = "" // for a lock of the library's
	}
	key := line.String()
	if s.OnLoop {
		key += " on the event loop"
	}
	if own.File == "" { // a library's work is spread over the lines of its function
		key = call.File + " " + call.Function
	}
	addStack(all, places, key, line, s)
	at := &all.Lines[places[key]]
	if at.Work == "" && !s.Asleep {
		at.Work = workOfServer(s)
	}
	at.Holds, at.Blocks = cmp.Or(at.Holds, holdsServer(s)), at.Blocks || s.OnLoop
}

// workOfServer is what a thread does that works for a request, by what it calls, else by how the program calls it.
func workOfServer(s recording.Stack) diagnose.Kind {
	kind := kindOf(s)
	if slices.ContainsFunc(s.Places, func(p recording.Place) bool { return p.File == "PIL/ImageDraw.py" }) {
		return diagnose.Plotting
	}
	if slices.Contains(diagnose.OfCode, kind) && kindOfNames(s.Places) == diagnose.Afterwards {
		return diagnose.Afterwards
	}
	return kind
}

// holdsServer is why a thread sleeps in a stack, by the libraries that its line calls.
func holdsServer(s recording.Stack) diagnose.Kind {
	for _, p := range slices.Backward(s.Places) {
		if kind := holdsBy.find(p.File); kind != "" {
			return kind
		}
		if p.Own() {
			break
		}
	}
	switch kindOf(s) {
	case diagnose.Queries:
		return diagnose.Database
	case diagnose.Connection, diagnose.Request:
		return diagnose.Service
	default:
		return ""
	}
}

// settleServerLine marks a line as waiting if nearly all samples find it asleep, or most of them in a sleep that
// no lock ends: on a crowded machine it awaits a core after each one. A line that is often on a core works, and
// needs Python's interpreter lock in between.
func (l filler) settleServerLine(line *diagnose.LoopLine) {
	switch {
	case line.Own.IsAt(l.Costs.SyncsAt):
		line.Kind = diagnose.DeviceWait
	case slices.Contains(diagnose.OfDevice, line.Kind):
	case line.Kind == diagnose.Programs: // another process works meanwhile
	case line.Asleep > (1-onCore)*line.Seconds, line.Asleep-line.Locked > line.Seconds/2:
		line.Kind = cmp.Or(line.Holds, diagnose.Held)
		if line.Kind == diagnose.Database {
			line.Kind = diagnose.Service
		}
		if line.Blocks && line.Own.File != "" && line.Locked < line.Seconds/2 {
			line.Kind = diagnose.Blocking
		}
	}
}

// awaitsThread reports whether a library's function waits for what another thread does: the lock is the library's own.
func awaitsThread(p recording.Place) bool {
	return startsWithAny(p.File, []string{"concurrent/futures/", "queue.py", "multiprocessing/pool.py"})
}

// nameModulesOnHost marks the lines of modules that compute on the CPU, beside a model on the device: its calls take
// much longer than the launches in them can.
func (l filler) nameModulesOnHost(lines []diagnose.LoopLine) {
	in, ok := sumInsides(l.Costs.Window)
	passes := float64(len(l.Costs.Window.Steps) * max(1, l.Costs.Window.OneIn))
	if !ok || !(in.Launches >= asksDevice) {
		return
	}
	ofModule := func(line diagnose.LoopLine) bool {
		return line.Kind == diagnose.Launching || line.Kind == diagnose.PerRequest && isForward(line.Own)
	}
	calls := 0.0
	for _, line := range lines {
		if ofModule(line) {
			calls += line.Seconds
		}
	}
	if calls < leastOnHost*(l.To-l.From) || calls < passes*in.Launches*noLaunch {
		return
	}
	for i := range lines {
		if ofModule(lines[i]) {
			lines[i].Kind = diagnose.OnHost
		}
	}
}

// leastOnHost is the share of the time that calls of modules have at least, which compute on the CPU. [J]
const leastOnHost = 0.1

// rankOfServer sorts lines in which the device works after those for which it idles.
func rankOfServer(line diagnose.LoopLine) int {
	if slices.Contains(notServing, line.Kind) {
		return 1
	}
	return 0
}

// notServing are kinds of lines in which the device works, or is given work.
// In that of Queueing another line works.
var notServing = append([]diagnose.Kind{diagnose.Awaiting, diagnose.Queueing}, diagnose.OfDevice...)

// serverPIDs are the processes that take requests, and the one that runs the model. One that has loaded torch and takes
// requests is called a trainer, though the model runs in another. So is a replica, whose passes are not seen if it
// compiles.
func (l filler) serverPIDs() (pids []int) {
	pids = append(pids, l.Costs.Window.PID)
	for _, p := range l.run.Facts.Processes {
		serves := p.Role == recording.RoleServer
		if !serves {
			serves = l.run.Find(recording.RequestsCame, fmt.Sprintf("process/%d", p.PID)) != nil
		}
		if serves = serves || p.Device >= 0 && p.Role == recording.RoleTrainer; serves && p.PID != l.Costs.Window.PID {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// waitsForWork are the files of libraries in which an idle thread of a server sleeps.
var waitsForWork = []string{
	"threading.py", "queue.py", "selectors.py", "concurrent/", "multiprocessing/", "anyio/", "asyncio/", "uvloop/",
	"zmq/", "ray/_private/", "litserve/transport/", "socket.py", "waitress/", "gunicorn/",
}

// spins are the files of libraries in which an idle thread waits on a core.
var spins = []string{
	"ray/_private/workers/default_worker.py", // native code of Ray's sleeps beneath it
	"vllm/distributed/utils.py", "vllm/distributed/device_communicators/shm_broadcast.py",
}

// serves are the files of libraries that a program calls to serve, until it ends.
var serves = []string{
	"uvicorn/", "hypercorn/", "asyncio/", "uvloop/", "aiohttp/web.py", "socketserver.py", "werkzeug/serving.py",
	"grpc/_server.py", "grpc/aio/_server.py", "litserve/", "ray/serve/api.py", "waitress/", "gunicorn/", "websockets/",
}

// awaitsWork reports whether a thread is waiting for work: it sleeps in a library that no line of the program
// called, or that it called to serve, or asks again and again.
func awaitsWork(s recording.Stack) bool {
	innermost := s.Places[len(s.Places)-1].File
	own := slices.ContainsFunc(s.Places, recording.Place.Own)
	if startsWithAny(innermost, spins) || !own && (innermost == "selectors.py" || runsLoop(s.Places[len(s.Places)-1])) {
		return true
	}
	if !own && s.Places[len(s.Places)-1].Function == "Condition.wait" {
		return true // on a core it is only as it is woken
	}
	if !s.Asleep || !startsWithAny(innermost, waitsForWork) || holdsBy.find(innermost) == diagnose.Client {
		return false
	}
	called := s.Places
	for i, p := range s.Places {
		if p.Own() && p.File[0] != '<' { // "<string>" is code that a library made, as of multiprocessing's proxies
			called = s.Places[i+1:]
		}
	}
	return len(called) == len(s.Places) || startsWithAny(called[0].File, serves)
}

// runsLoop reports whether a library's function runs an event loop in a thread of the library.
func runsLoop(p recording.Place) bool { return strings.HasSuffix(p.Function, "_event_loop") }

// atImport reports whether a stack is that of a module's own code, which runs once, before any request.
func atImport(s recording.Stack) bool {
	return slices.ContainsFunc(s.Places, func(p recording.Place) bool { return p.Own() && p.Function == "<module>" })
}

// splitServerStack is the program's own line, and the library's function that names the work: the innermost
// that was recorded.
func splitServerStack(s recording.Stack) (own, call recording.Place) {
	for _, p := range s.Places {
		if p.Own() {
			own = p
		} else {
			call = p
		}
	}
	return own, call
}

// servedBy has the libraries that a server calls for a request.
var servedBy = kindsByFile{
	{diagnose.Templates, []string{"jinja2/", "transformers/utils/chat_template_utils.py"}},
	{diagnose.Tokenizes, []string{
		"transformers/tokenization", "tokenizers/", "tiktoken/", "sentencepiece/", "vllm/tokenizers/",
		"vllm/v1/engine/detokenizer.py",
	}},
	{diagnose.Sampler, []string{
		"transformers/generation/logits_process.py", "vllm/v1/sample/", "vllm/sampling", "vllm/v1/structured_output/",
	}},
	{diagnose.Launching, []string{
		"vllm/model_executor/", "vllm/_custom_ops.py", "vllm/ir/", "vllm/v1/attention/", "vllm/compilation/",
	}},
	{diagnose.Engine, []string{
		"vllm/v1/core/", "vllm/v1/engine/", "vllm/v1/worker/", "vllm/v1/executor/", "vllm/v1/serial_utils.py",
		"vllm/v1/metrics/", "vllm/v1/outputs.py", "vllm/v1/request.py", "vllm/distributed/",
		"transformers/generation/",
	}},
	{diagnose.Packing, []string{
		"starlette/middleware/gzip.py", "brotli", "aiohttp/compression_utils.py", "flask_compress/",
	}},
	{diagnose.Encoding, []string{
		"json/", "orjson/", "msgpack/", "fastapi/encoders.py", "fastapi/routing.py", "fastapi/_compat",
		"starlette/responses.py", "pydantic/", "base64.py", "gzip.py",
	}},
	{diagnose.Messages, []string{
		"multiprocessing/reduction.py", "multiprocessing/connection.py", "multiprocessing/queues.py", "pickle.py",
		"torch/multiprocessing/", "cloudpickle/", "litserve/transport/",
	}},
	{diagnose.RequestLogs, []string{"logging/", "loguru/", "structlog/"}},
	{diagnose.HTTP, []string{
		"uvicorn/", "starlette/", "fastapi/", "h11/", "httptools/", "multipart/", "python_multipart/",
		"ray/serve/_private/proxy", "vllm/entrypoints/",
	}},
}

// ofTokenizers are parts of the names that functions of tokenizers have: tokenize, _convert_token_to_id,
// convert_tokens_to_string, convert_ids_to_tokens.
var ofTokenizers = []string{"tokeniz", "token_to_", "tokens_to_", "_to_token"}

func isTokenizers(function string) bool {
	name := strings.ToLower(function)
	return slices.ContainsFunc(ofTokenizers, func(part string) bool { return strings.Contains(name, part) })
}

// onHost are files of libraries of models whose functions a server calls after a pass, on the CPU.
var onHost = []string{"torchvision/ops/"}

// kindOfServer returns what a server's thread does in a stack, by the innermost function that is known.
func kindOfServer(s recording.Stack) diagnose.Kind {
	for _, p := range slices.Backward(s.Places) {
		if p.Own() && isTokenizers(p.Function) {
			return diagnose.Tokenizes
		}
		if startsWithAny(p.File, onHost) && !slices.ContainsFunc(s.Places, isForward) {
			return diagnose.PerRequest
		}
		switch {
		case p.File == "subprocess.py":
			return diagnose.Programs
		case loadsAgain(p):
			return diagnose.Loads
		case p.File == "copy.py":
			return diagnose.DeepCopies
		case p.File == "json/decoder.py", strings.HasPrefix(p.File, "json/") && strings.Contains(p.Function, "load"):
			return diagnose.RequestData // it reads, where the others write answers
		case strings.HasSuffix(p.Function, "apply_chat_template"):
			return diagnose.Templates
		case copiesToDevice(p):
			return diagnose.Copying
		}
		if kind := servedBy.find(p.File); kind != "" {
			return kind
		}
		switch kind := kindOfPlace(p); kind {
		case diagnose.DeviceWait, diagnose.Launching, diagnose.EmptyCache, diagnose.Compiling, diagnose.Messages:
			return kind
		default:
		}
	}
	switch kind := kindOf(s); {
	case s.Native == "device":
		return diagnose.Copying
	case kind == diagnose.Queries:
		return diagnose.Database
	case slices.Contains(ofData, kind):
		return diagnose.RequestData
	}
	return diagnose.PerRequest
}

// loaders are parts of the names that functions have which make a model, a tokenizer or its parts.
var loaders = regexp.MustCompile(`(?:^|\.)(?:from_pretrained|load_state_dict|_load_state_dict\w*|_load_pretrained_model|` +
	`reset_parameters|kaiming_\w+|xavier_\w+|trunc_normal_)$|` +
	`(?i)(?:^|[._])(?:load|build|make|create|init|get)_(?:\w+_)?(?:model|net|network|weights|tokenizer|pipeline|session|checkpoint)$`)

// ofModels are the libraries whose constructors make a model.
var ofModels = []string{"torch/nn/", "transformers/models/", "transformers/modeling_utils.py", "torchvision/models/"}

// copiesToDevice reports whether a function moves a model, or data, to the device.
func copiesToDevice(p recording.Place) bool {
	switch p.File {
	case "torch/nn/modules/module.py":
		return slices.Contains([]string{"Module.to", "Module.cuda", "Module.cpu", "Module._apply"}, p.Function)
	case "stoker/emulated.py":
		return strings.HasSuffix(p.Function, "copy")
	}
	return false
}

// loadsAgain reports whether a function loads, builds or imports what a server needs once.
func loadsAgain(p recording.Place) bool {
	switch {
	case p.Imports(), startsWithAny(p.File, []string{"torch/nn/init.py", "safetensors/"}):
		return true
	case p.File == serialization:
		return strings.Contains(p.Function, "load")
	case startsWithAny(p.File, ofModels):
		return strings.HasSuffix(p.Function, ".__init__") || loaders.MatchString(p.Function)
	}
	return loaders.MatchString(p.Function)
}

func isForward(p recording.Place) bool {
	return p.Function == "forward" || strings.HasSuffix(p.Function, ".forward")
}
