package advise

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// serving advises a server: what the class names, in words of servers, with its line and a bound of
// its worth. A server that keeps up is advised nothing.
func (a adviser) serving() Plan {
	if v := a.verdict; v.Class.Is(diagnose.GPUBound) || v.Class == diagnose.ComputeOnCPU {
		return a.besideDevice()
	}
	return a.ofServer()
}

// besideDevice advises what keeps the model waiting, where the limit is the device, or the CPU that computes the model.
func (a adviser) besideDevice() Plan {
	p := a.verdict.Measured.Parts
	asked, class, part := 1-p.Unasked, diagnose.ServerHost, p.Long
	if p.Awaited > p.Long {
		class, part = diagnose.ServerWaits, p.Awaited
	}
	if !(part >= diagnose.HostForRequests.Yes*asked) {
		return Plan{}
	}
	a.verdict.Class, a.verdict.Most = class, atRemoval(part/asked)
	return a.ofServer()
}

func (a adviser) ofServer() Plan {
	v := a.verdict
	if v.Class == diagnose.LaunchBound {
		var plan Plan
		reads, found := a.readsOfPass()
		if found {
			plan.Fixes = append(plan.Fixes, reads)
		}
		if asks := a.costs.Window.Asks(); !found || asks.Launches >= launchesPerRead*asks.Syncs {
			change := v.Grounds.LaunchChange()
			plan.Fixes = append(plan.Fixes, Fix{
				Name: string(change.Setting), Title: v.Grounds.LaunchAdvice(), Changes: []stoker.Change{change},
				Forecast: a.atMost(atRemoval(v.Measured.Parts.Host)), Effort: Code, Risk: NoRisk,
			})
		}
		return plan
	}
	if line, found := v.Measured.LoopLines.FirstOf(diagnose.Copying); v.Class == diagnose.TransferBound && found {
		return Plan{Fixes: []Fix{{
			Name: string(v.Class), Title: keepOnDevice, At: line.Short(), Effort: Code, Risk: MemoryRisk,
			Forecast: a.atMost(atRemoval(max(v.Measured.Parts.Copies, stat.Or(v.Shares.Copy, 0)))),
		}}}
	}
	if !(v.Most > 1) || !isOfServer(v.Class) {
		return Plan{}
	}
	fix := Fix{
		Name: string(v.Class), Title: cmp.Or(v.Class.SettingsOf(v.Grounds.Server), v.Class.Do()),
		Forecast: a.atMost(v.Most), Effort: Code, Risk: NoRisk,
	}
	if top, found := findServerLine(v); found {
		fix.Title, fix.At = cmp.Or(top.ServerAdvice(!v.Grounds.NoDevice), fix.Title), top.Short()
		if v.Class == diagnose.ServerHost && a.usesAllCores() {
			fix.Title = fmt.Sprintf("the server uses all the cores that it may run on (%s): give it another one, or do less there: once "+
				"for what requests share, on smaller inputs, or for a whole batch. Threads and processes beside "+
				"share the same cores: several with PyTorch on the CPU need torch.set_num_threads(1) each",
				quantity.About(a.costs.Cores+a.costs.Others))
		}
	}
	if v.Class == diagnose.ServerWaits && fix.At == "" && v.Measured.Requests.Batch > 1 {
		fix.Title = diagnose.Timer.Advice()
	}
	if gate, found := v.Measured.LoopLines.Gate(); v.Class == diagnose.BatchTooSmall && found {
		fix.At = gate.Short()
		fix.Title = "requests wait here for a lock or a semaphore, and reach the model one by one: let as many in as a " +
			"batch takes. If no batch is made yet, " + fix.Title
	}
	inputs, loader := v.Measured.Requests.Inputs, v.Grounds.Loader
	if v.Class == diagnose.BatchTooSmall && inputs > 1 && loader != nil {
		fix.At, fix.Title = path.Base(loader.Where), sizeOfPipeline(inputs)
	}
	if v.Class == diagnose.BatchTooSmall && v.Measured.Requests.Pieces > 0 && loader == nil {
		fix.Title = onePass
	}
	if holder, waits := v.Measured.LoopLines.BeforeLock(); v.Class == diagnose.ServerWaits && waits {
		fix.Notes = append(fix.Notes, holder.Short()+": most requests wait there for a lock, which its owner keeps meanwhile")
	}
	fix.Notes = append(fix.Notes, "the figure is requests a second at the most: what else the server does per request stays")
	if !worthIt(fix.Forecast) {
		return Plan{Rejected: []Rejected{{Name: fix.Name, Why: notWorth(fix.Forecast)}}}
	}
	plan := Plan{Fixes: []Fix{fix}}
	if work, found := a.besidePasses(); found {
		plan.Fixes = append(plan.Fixes, work)
	}
	return plan
}

// restarts advises a program whose processes start again and again.
func (a adviser) restarts() Plan {
	r := a.verdict.Measured.Restarts
	fix := Fix{
		Name: diagnose.SignalRestarts, Title: startOnce, Forecast: a.atMost(a.verdict.Most), Effort: Code, Risk: NoRisk,
		Notes: []string{fmt.Sprintf("%d processes took %s each in the mean from their start to their first pass, or to their end", r.Count,
			quantity.AboutSeconds(r.Seconds/float64(r.Count)))},
	}
	if r.At.File != "" {
		fix.At = fmt.Sprintf("%s:%d", path.Base(r.At.File), r.At.Line)
	}
	return Plan{Fixes: []Fix{fix}}
}

// startOnce is what saves the starts of processes.
const startOnce = "let a process take many requests or jobs, and import PyTorch and load the model once: a worker that stays (RQ: " +
	"SimpleWorker, Celery: no or a large worker_max_tasks_per_child, gunicorn: --max-requests 0). If it must end: a second " +
	"worker answers meanwhile (gunicorn: -w 2, --max-requests-jitter), or fork after the import (gunicorn: --preload), with no " +
	"call of CUDA before"

// onePass is what saves passes over parts of a tensor.
const onePass = "a request calls the model for one part of a tensor after another: one pass over all of them instead, " +
	"model(torch.stack(parts)) or the whole tensor, in pieces that fit into memory"

// mostOfList is the batch size that a pipeline is advised at most: more brings little, and takes memory. [J]
const mostOfList = 32

func sizeOfPipeline(inputs float64) string {
	return fmt.Sprintf("give transformers' pipeline a batch size: pipeline(..., batch_size=%.0f), or batch_size in the call. "+
		"Texts of like length together: short ones are filled up", min(mostOfList, inputs))
}

// besidePasses is what takes the host's work away where passes are too small, and the device waits for it as well.
func (a adviser) besidePasses() (Fix, bool) {
	v := a.verdict
	line, found := v.Measured.LoopLines.FirstWork()
	asked := 1 - v.Measured.Parts.Unasked
	if v.Class != diagnose.BatchTooSmall || !found || !(v.Measured.Parts.Long >= diagnose.HostForRequests.Yes*asked) {
		return Fix{}, false
	}
	return Fix{
		Name: string(diagnose.ServerHost), Title: line.ServerAdvice(!v.Grounds.NoDevice), At: line.Short(),
		Forecast: a.atMost(atRemoval(v.Measured.Parts.Long / asked)), Effort: Code, Risk: NoRisk,
	}, true
}

// readsAtOnce is diagnose.ManyReadsAdvice for a server.
const readsAtOnce = "read the values of a pass from the device at once: one .tolist() or .cpu() of a whole tensor before the loop " +
	"over its parts, torch.stack(values).cpu() after it, or calls on whole tensors that need no value on the host"

// oneSynchronize is what saves calls of synchronize() within a pass, which mostly time its parts.
const oneSynchronize = "call synchronize() once, after the pass, and not after each of its parts. Their times: two " +
	"torch.cuda.Event(enable_timing=True) around each part, read after the pass"

// waitsBeyondWork reports whether a pass waits for the device longer than the device computes, by more than half of its
// idle time. The last wait of a pass, for its answer, is no longer than the device computes.
func (a adviser) waitsBeyondWork() bool {
	waits := a.costs.Window.Asks().SyncTime / a.costs.HostStep
	return waits-(1-a.verdict.Idle) >= a.verdict.Idle/2
}

// keepOnDevice is what saves copies of a server.
const keepOnDevice = "keep on the device what requests share (weights, tables): several models that do not fit together: on a device " +
	"each (Ray Serve: as many as max_num_models_per_replica of @serve.multiplexed lets stay). Of each request: " +
	"fewer bytes (uint8), one copy for a batch, from pinned memory with non_blocking=True"

// launchesPerRead is how many launches a read of the device has in a pass, from which fewer of them pay as well. [J]
const launchesPerRead = 4

// allUsed is the share of the cores that a server may run on, from which it has no core left. [J]
const allUsed = 0.85

func (a adviser) usesAllCores() bool {
	return a.costs.CoresUse >= allUsed*(a.costs.Cores+a.costs.Others)
}

// readsOfPass proposes to read values from the device at once, where a pass waits for it many times: a graph ends at
// each.
func (a adviser) readsOfPass() (Fix, bool) {
	reads := func(f diagnose.Finding) bool { return f.Name == diagnose.FindingManyReads }
	i := slices.IndexFunc(a.verdict.Findings, reads)
	if i < 0 {
		return Fix{}, false
	}
	fix := Fix{
		Name: diagnose.FindingManyReads, Title: readsAtOnce,
		Forecast: a.atMost(atRemoval(a.verdict.Measured.Parts.Host)), Effort: Code, Risk: NoRisk,
		Notes: []string{a.verdict.Findings[i].Text, "a compiled graph (torch.compile, CUDA graphs) ends at each read: these come first"},
	}
	if a.waitsBeyondWork() {
		fix.At = a.lineOf(a.verdict.Findings[i])
		if a.synchronizes() {
			fix.Title = oneSynchronize
		}
		return fix, true
	}
	onCore := 0.0
	for _, line := range a.verdict.Measured.LoopLines.Lines { // launches and reads alike keep the thread on a core
		if t := line.Seconds - line.Asleep; line.Own.File != "" && !line.Own.IsAt(a.costs.SyncsAt) && t > onCore {
			fix.At, onCore = line.Short(), t
		}
	}
	return fix, true
}

// findServerLine is the line that a server's class is about: where the host works, or where requests are held; false
// where none was seen.
func findServerLine(v diagnose.Verdict) (diagnose.LoopLine, bool) {
	lines := v.Measured.LoopLines
	switch v.Class {
	case diagnose.ServerHost, diagnose.Tokenizing:
		if line, found := lines.FirstPieces(); found {
			return line, true
		}
		return lines.FirstWork()
	case diagnose.ServerWaits:
		return lines.FirstHeld()
	default:
		return diagnose.LoopLine{}, false
	}
}

// isOfServer reports whether a class is one that servers alone have.
func isOfServer(c diagnose.Class) bool {
	switch c {
	case diagnose.BatchTooSmall, diagnose.ServerHost, diagnose.Tokenizing, diagnose.ServerWaits, diagnose.CacheFull:
		return true
	default:
		return false
	}
}
