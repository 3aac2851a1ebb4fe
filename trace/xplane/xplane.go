package xplane

import (
	"context"
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// Read reads an XSpace. It is read twice, so open is called twice, and each time
// returns it from its beginning. Read stops at ctx and at a fault of the disk; what
// is cut or damaged is read as far as it goes, with a warning.
func Read(ctx context.Context, open func() (io.Reader, error), o Options) (*Trace, error) {
	if o.Most <= 0 {
		o.Most = mostEvents
	}
	first := &survey{names: newNames()}
	w, err := walkFile(ctx, open, first)
	if err != nil && w == nil {
		return nil, err
	}
	b := &builder{survey: first, out: &Trace{Bytes: w.s.at, Events: w.events}}
	if err != nil {
		b.addDamage("The file cannot be read behind byte %d (%v): what lies before it was read.", w.s.at, err)
	}
	b.damage(w)
	second := &collect{
		survey: first, t: &recording.Timeline{}, names: first.names, most: o.Most, dropped: map[string]int{},
		threads: map[thread]int32{}, devices: map[int]int32{}, details: map[string]details{},
	}
	var all bool
	second.from, second.to, all = first.histogram.chooseWindow(int64(o.Most))
	if !all {
		b.addWarning("The file holds %d events, and %d are kept in memory: %.1f s of it were read, around the "+
			"middle of the device's work.", first.histogram.all, o.Most, float64(second.to-second.from)/1e9)
	}
	if _, err := walkFile(ctx, open, second); err != nil && ctx.Err() != nil {
		return nil, err
	}
	if len(second.callKey)+len(second.workKey)+len(second.t.Frames.Start) == 0 {
		return nil, b.nothing(w, err)
	}
	b.buildTrace(second)
	return b.out, nil
}

// walkFile walks over the file once. A fault of the source comes with the walk as far
// as it went; without one where nothing could be read.
func walkFile(ctx context.Context, open func() (io.Reader, error), v visitor) (*walk, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, s: newStream(src), v: v}
	if err = w.walkAll(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return w, err
}

// damage says what was cut or left out.
func (b *builder) damage(w *walk) {
	if w.cut {
		b.addDamage("The file ends within a message, at byte %d, as a killed run or an unfinished copy leaves it: what "+
			"is complete was read.", w.s.at)
	}
	for _, d := range w.damage[:min(len(w.damage), 5)] {
		b.addDamage("The file is damaged at byte %d (%s): what could be read around it was read.", d.at, d.problem)
	}
	if b.survey.lost > 0 {
		b.addDamage("The file has more than %d MB of names: %d of them were left out.", mostNames>>20, b.survey.lost)
	}
}

// nothing is the error of a file without a single event that could be kept.
func (b *builder) nothing(w *walk, err error) error {
	switch {
	case err != nil:
		return err
	case len(w.damage) > 0:
		return &DamagedError{w.damage[0].at, w.damage[0].problem + ", expected an XSpace of XLA's profiler (xplane.pb)"}
	case w.cut:
		return &DamagedError{
			w.s.at,
			"the file ends before its first complete plane with events, as a killed run or an unfinished copy " +
				"leaves it",
		}
	case w.fields == 0:
		return &DamagedError{0, "the file is empty, expected an XSpace of XLA's profiler (xplane.pb)"}
	}
	return &DamagedError{
		w.s.at,
		fmt.Sprintf("no event of a host thread or a device in %d planes: the profiler recorded nothing, or this is "+
			"the file of another program", w.planes),
	}
}

func (b *builder) buildTrace(v *collect) {
	t := v.t
	b.out.Timeline = t
	v.markSteps()
	v.mergeThreads()
	sortCalls(v)
	sortWorks(v)
	linkWork(v)
	base := b.placeInTime(v)
	b.readFacts(v)
	t.Names = v.names.list
	if clipped := columns.ClipOverlaps(t); clipped > 0 {
		b.addDamage("%s", columns.DescribeClipped(clipped, len(t.Device.Start)))
		b.out.Facts.WorkLost = float64(clipped) / float64(len(t.Device.Start))
	}
	b.tellSteps(v, base)
	b.doubts(v)
	compact(t, v.names.list)
	if len(v.dropped) > 0 {
		t.Dropped = v.dropped
	}
}

// tellSteps finds the steps: by marks of the host, of the devices, by the calls of a
// compiled function, else as for any other trace.
func (b *builder) tellSteps(v *collect, base int64) {
	t := v.t
	p := b.out.Facts.Processes
	if len(p) == 0 {
		return
	}
	marked := false
	for i, kind := range t.Host.Kind {
		if kind == recording.Annotation && t.Host.End[i] > t.Host.Start[i] {
			_, ok := recording.StepSpan(t.Names[t.Host.Name[i]])
			marked = marked || ok
		}
	}
	b.findSteps(v, base, marked)
	for i := range b.out.Steps {
		if s := &b.out.Steps[i]; s.Phase == "" || s.Phase == recording.Evaluate {
			s.Phase = recording.Train // no mark tells training from inference
		}
	}
}

func (b *builder) findSteps(v *collect, base int64, marked bool) {
	f := &b.out.Facts
	if !marked {
		if b.out.Steps, f.StepsFrom = deviceSteps(v, v.marks, base),
			"the devices' own rows of steps"; len(b.out.Steps) > 0 {
			return
		}
		runs, program := modules(v.modules)
		if b.out.Steps, f.StepsFrom = deviceSteps(v, runs, base),
			fmt.Sprintf("runs of the XLA module %q", columns.CleanText(program, 60)); len(b.out.Steps) > 0 {
			return
		}
		var said []string
		if b.out.Steps, said = callSteps(v.t); len(b.out.Steps) > 0 {
			f.StepsFrom = "calls of the compiled function"
			b.out.Warnings = append(b.out.Warnings, said...)
			return
		}
		if b.out.Steps, said = functionSteps(v.t); len(b.out.Steps) > 0 {
			f.StepsFrom = "calls of a function of the program"
			b.out.Warnings = append(b.out.Warnings, said...)
			return
		}
	}
	found := steps.Find(v.t, f.Processes, "step_num marks", noMarks)
	b.out.Steps, f.StepsFrom = found.Steps, found.Rule
	b.out.Warnings = append(b.out.Warnings, found.Said...)
}
