package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// within is what the hook saw inside of the judged steps that it looked into, on the
// device's clock.
type within struct {
	recording.Asks
	span              float64 // of a step, seconds
	copying, exchange float64 // shares of it
}

// inside sums what was inside of a window's steps; false where nobody looked or there
// is no device.
func inside(w recording.Window) (in within, ok bool) {
	insides := w.Insides()
	if len(insides) == 0 || insides[0].Clock == recording.HostClock {
		return in, false
	}
	for _, i := range insides {
		in.span, in.copying, in.exchange = in.span+i.Span, in.copying+i.Copy, in.exchange+i.Exchange
	}
	in.Asks, in.copying, in.exchange = w.Asks(), in.copying/in.span, in.exchange/in.span
	in.span /= float64(len(insides))
	return in, true
}

// longGap is what parts launching from other work of the host, as in a trace.
const longGap = 2e-3 // seconds

// fewLaunches is how many launches a step has at least where launching them can be its
// limit. [J]
const fewLaunches = 10

// parts are what the window went into as far as a live job tells it. That the launching
// thread waits for a core is a name, where it is known who has them.
func (l live) parts() {
	if math.IsNaN(l.Idle) || l.Loaded && !l.HasSteps {
		return
	}
	input := l.Stall
	if l.HasSteps && math.IsNaN(input) {
		input = l.mostStall()
	}
	stall := stat.Or(input, 0) // in a loop that no loader feeds nobody tells it from other work of the host
	p := parts{Input: input, Copies: stat.Or(l.Shares.Copy, 0), Exchange: stat.Or(l.Parts.Exchange, 0)}
	in, ok := inside(l.Costs.Window)
	if ok { // what the host does to have them copied is theirs, too
		p.Copies = max(p.Copies, min(in.copying, 1-l.Util))
	}
	rest := max(0, l.Idle+stat.Or(l.Shares.Copy, 0)-stall-p.Copies)
	if l.Neighbours.Score > 0 || l.Throttled.Score > 0 {
		p.Queued = min(stat.Or(l.launchQueue(), 0), rest)
		rest -= p.Queued
	}
	if ok {
		exchange := min(in.exchange, rest)
		p.Exchange, rest = max(p.Exchange, exchange), rest-exchange
		if in.Launches >= fewLaunches && rest*in.span/in.Launches < longGap {
			p.Host, rest = rest, 0
		} else if in.Launches > 0 {
			p.Long, rest = rest, 0
		}
	}
	if w := l.launching(); !l.HasSteps && w.Others < busyCores { // requests, a timer: what is waited for lies outside
		rest -= min(rest, l.Idle*stat.Or(w.away(l.Idle), 0))
	}
	p.Unnamed = rest
	l.Parts = p
	if ok {
		l.within(in)
	}
}

// within takes what rules ask of the inside of steps.
func (l live) within(in within) {
	p := l.Parts
	l.Launching = share("Does the device wait for the next launch, in gaps below "+longGapText+"?", p.Host, 0.08, 0.15, "").
		saw(in.Launches, "launches", "step.launches", "a step launches %.0f times, and the device waits %s before each: %s of the time",
			in.Launches, stoker.AboutSeconds(p.Host*in.span/in.Launches), stoker.Percent(p.Host))
	if math.IsNaN(in.Launches) {
		l.Launching = quantity{}
	}
	l.Stretches = share("Does the device wait for the host in gaps of "+longGapText+" and more?", p.Long, 0.08, 0.15, "").
		saw(p.Long, "ratio", "step.launches", "the device waits for the host %s of the time, in gaps of %s in the mean: a step launches %.1f times",
			stoker.Percent(p.Long), stoker.AboutSeconds(p.Long*in.span/in.Launches), in.Launches)
	if l.Exchange.Score == 0 {
		l.Exchange = in.exchanged()
	}
	if l.Late.Score == 0 {
		l.Late = l.late()
	}
	l.Found = append(l.Found, l.asks(in)...)
}

// exchanged is whether the program's own collectives take time.
func (in within) exchanged() quantity {
	return share("Do collectives take time of their own?", in.exchange, 0.05, 0.12, "those that PyTorch starts within backward are not counted").
		saw(in.exchange, "ratio", "step.exchange", "the program's collectives take %s of a step (%s of %s), by the device's own clock",
			stoker.Percent(in.exchange), stoker.AboutSeconds(in.exchange*in.span), stoker.AboutSeconds(in.span))
}

// measuredCopies is whether copies take a good part of the step, by the device's clock.
func (l live) measuredCopies(in within) quantity {
	q := share("Do copies to the device take a good part of the step?", in.copying, 0.07, 0.15, "").
		saw(in.copying, "ratio", "step.copy", "copying to the device takes %s of a step (%s of %s), by the device's own clock",
			stoker.Percent(in.copying), stoker.AboutSeconds(in.copying*in.span), stoker.AboutSeconds(in.span)).
		saw(in.Copies, "copies", "step.copies", "a step asks for %s copies, %s in all", stoker.About(in.Copies), stoker.AboutBytes(in.CopyBytes))
	if in.Pageable > 0 {
		q = q.saw(in.Pageable, "bytes", "step.pageable", "%s of it from pageable memory: the CPU stages it, and the launching thread waits", stoker.Percent(in.Pageable/in.CopyBytes))
	}
	return q
}

// asks are findings on what the program asks of the device within a step.
func (l live) asks(in within) (out []Finding) {
	p := l.Parts
	if p.Host >= hostTrigger {
		f := finding("launch-bound")
		f.Share, f.Saves = p.Host, p.Host
		f.Text = fmt.Sprintf("the device waits for the host to launch %s of the time: %.0f launches in a step of %s", stoker.Percent(p.Host), in.Launches, stoker.AboutSeconds(in.span))
		f.Settings = []stoker.Change{change(stoker.Compile, nil, "reduce-overhead")}
		f.Advice = launchAdvice
		out = append(out, f)
	}
	if idle := l.Idle - stat.Or(l.Stall, 0); in.Syncs >= 1 && (idle >= hostTrigger || in.SyncTime/in.span >= heldTrigger && idle >= waitTrigger) {
		f := finding("hidden-sync")
		f.Share, f.Saves = in.SyncTime/in.span, idle
		f.Text = fmt.Sprintf("a step waits for the device %s times (.item(), .cpu(), nonzero() and the like, or synchronize()), %s of its time: after each nothing is queued, and the device idles until the host has launched again: %s of the time at most",
			stoker.About(in.Syncs), stoker.Percent(in.SyncTime/in.span), stoker.Percent(idle))
		f.Settings = []stoker.Change{change(stoker.SyncEvery, 1, 50)}
		f.Advice = syncAdvice
		out = append(out, f)
	}
	if in.Pageable > 0 && in.copying >= serialTrigger {
		f := finding("pageable-copies")
		f.Share, f.Saves = in.copying, in.copying
		f.Text = fmt.Sprintf("a step copies %s from pageable memory, in %s copies: the CPU stages them, the launching thread waits, and they take %s of the time",
			stoker.AboutBytes(in.Pageable), stoker.About(in.Copies), stoker.Percent(in.copying))
		f.Settings = []stoker.Change{change(stoker.PinMemory, nil, true), change(stoker.NonBlocking, nil, true)}
		f.Advice = pinAdvice
		out = append(out, f)
	}
	return out
}

// late is whether the other ranks wait for one in their collectives: it waits least.
func (l live) late() quantity {
	least, most, rank := math.Inf(1), 0.0, 0
	for _, k := range l.trainers {
		in, ok := inside(k.Window)
		if !ok || len(l.trainers) < 2 {
			return quantity{}
		}
		if in.exchange < least {
			least, rank = in.exchange, k.Window.Rank
		}
		most = max(most, in.exchange)
	}
	if most <= 0 {
		return quantity{}
	}
	l.LateBy = most - least
	return share("Do the other ranks wait for one?", l.LateBy, lateLow, lateHigh, "").
		saw(l.LateBy, "ratio", "step.exchange", "rank %d comes last to collectives: it spends %s of its time in them, another rank %s", rank, stoker.Percent(least), stoker.Percent(most))
}
