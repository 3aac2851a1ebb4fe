package tune

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// Format is the version of the plan's file format.
const Format = 1

// Plan lists the settings that a script's DataLoaders get, and changes of the whole program. It
// is a JSON file that a person can read and edit; the hook reads it (python/hook/apply.py).
type Plan struct {
	Format  int      `json:"plan"`
	By      string   `json:"by"`      // version of the Stoker that wrote it
	Of      string   `json:"of"`      // path of the recording it was made from
	Command []string `json:"command"` // the observed command, as recorded
	Loaders []Loader `json:"loaders"`

	// Program lists changes of the whole program. They change its numbers and need --allow
	// precision.
	Program []stoker.Change `json:"program"`

	// Elsewhere lists advised changes that the hook does not set.
	Elsewhere []Elsewhere `json:"elsewhere"`
}

// Loader lists the changes of one DataLoader, which is identified by the line that makes it and
// the class of its data set.
type Loader struct {
	Call    string           `json:"call"`   // absolute file:line
	SHA256  string           `json:"sha256"` // hash of that file when the plan was made
	Dataset string           `json:"dataset"`
	Changes []stoker.Change  `json:"changes"`
	Worth   *stoker.Interval `json:"worth"`  // predicted speed-up of all of them; nil if unknown
	Doubts  []Doubt          `json:"doubts"` // why batches may differ
}

// Doubt is a reason why batches may differ from those of the unchanged script.
type Doubt struct {
	Allow string `json:"allow"` // the value of --allow that accepts it
	Why   string `json:"why"`
}

// Elsewhere is a change that a person has to make in the script.
type Elsewhere struct {
	stoker.Change
	Where string `json:"where"` // file:line of the DataLoader; "" if the change is not a setting of one
	Why   string `json:"why"`
}

// The values of --allow.
const (
	Draws = "draws" // the data set draws random numbers
	State = "state" // the data set changes while it is read
	Order = "order" // a sampler written in the script is called earlier

	Precision = "precision" // the program computes in other formats
)

// Allowances lists the values that --allow accepts.
var Allowances = []string{Draws, State, Order, Precision}

// settable lists the settings that the hook sets, and LoaderKind, which stoker feed sets.
var settable = []stoker.Setting{
	stoker.NumWorkers, stoker.PrefetchFactor, stoker.PinMemory, stoker.PersistentWorkers,
	stoker.InOrder, stoker.LoaderKind,
}

// isNumeric reports whether a change applies to the whole program, changes its numbers, and can
// be set by the hook.
func isNumeric(c stoker.Change) bool { return statements[c.Setting][c.To] != "" }

// statements holds, for each such change, what to write in a script instead.
var statements = map[stoker.Setting]map[any]string{
	stoker.TF32: {true: `torch.set_float32_matmul_precision("high") before the loop`},
	stoker.Precision: {string(
		hardware.BF16): `with torch.autocast("cuda", torch.bfloat16): around the forward pass and the loss`},
}

// New makes a plan from the advice for a run. read returns the text of a script. Two kinds of
// changes go to Elsewhere: having stoker feed make the pictures, because it starts a daemon,
// which should happen only on request; and changes of numbers, because losses should be
// compared first.
func New(run *recording.Run, verdict diagnose.Verdict, advised advise.Plan, of, version string,
	read func(string) ([]byte, error),
) (Plan, error) {
	var all []stoker.Change
	var also []string
	for _, fix := range advised.Fixes {
		if fix.Beside { // a plan sets the judged loader, and those that a fix names with it
			continue
		}
		also = append(also, fix.Also...)
		for _, c := range fix.Changes {
			if !slices.ContainsFunc(all, func(had stoker.Change) bool { return had.Setting == c.Setting }) {
				all = append(all, c)
			}
		}
	}
	asked := func(c stoker.Change) bool { return usesOwnLoader(c) || isNumeric(c) }
	p, err := planOf(run, verdict, slices.DeleteFunc(slices.Clone(all), asked), of, version, read)
	if err == nil {
		err = p.keepOthers(run, also, read)
	}
	for _, c := range all {
		if asked(c) {
			p.Elsewhere = append(p.Elsewhere, explainElsewhere(c, ""))
		}
	}
	return p, err
}

// Feeds reports whether stoker feed makes the pictures of the command.
func (p Plan) Feeds() bool {
	return slices.ContainsFunc(p.Loaders, func(l Loader) bool { return slices.ContainsFunc(l.Changes, usesOwnLoader) })
}

func usesOwnLoader(c stoker.Change) bool { return c.Setting == stoker.LoaderKind }

// planOf makes a plan from changes of the judged loader and of the program.
func planOf(run *recording.Run, verdict diagnose.Verdict, all []stoker.Change, of, version string,
	read func(string) ([]byte, error),
) (Plan, error) {
	p := Plan{
		Format: Format, By: version, Of: of, Command: run.Facts.Command, Loaders: []Loader{},
		Program: []stoker.Change{}, Elsewhere: []Elsewhere{},
	}
	judged, why := findTarget(run, verdict)
	var set []stoker.Change
	for _, c := range all {
		switch {
		case isNumeric(c):
			p.Program = append(p.Program, c)
		case why != "" && c.Setting != stoker.Split && c.Setting != stoker.Shards:
			p.Elsewhere = append(p.Elsewhere, Elsewhere{c, "", cmp.Or(judged.Alters(c), why)})
		case slices.Contains(settable, c.Setting):
			set = append(set, c)
		default:
			p.Elsewhere = append(p.Elsewhere, explainElsewhere(c, judged.Call))
		}
	}
	if len(set) == 0 {
		return p, nil
	}
	text, err := read(file(judged.Call))
	if err != nil {
		return p, fmt.Errorf("make a plan: read the script: %w", err)
	}
	l := Loader{
		Call: judged.Call, SHA256: digest(text), Dataset: judged.Dataset, Changes: set,
		Doubts: doubts(run, judged, set),
	}
	if worth := measure.From(run).Forecast(set...).Speedup; worth.Known() {
		l.Worth = &worth
	}
	p.Loaders = append(p.Loaders, l)
	return p, nil
}

// keepOthers adds other loaders of the program, by the lines that make them, whose workers stay as well: the gain that
// is promised is that of all.
func (p *Plan) keepOthers(run *recording.Run, also []string, read func(string) ([]byte, error)) error {
	stays := func(c stoker.Change) bool { return c.Setting == stoker.PersistentWorkers && c.To == true }
	for _, l := range run.Facts.Loaders {
		if l.Call == "" || !slices.Contains(also, l.Call) || len(p.Loaders) == 0 ||
			!slices.ContainsFunc(p.Loaders[0].Changes, stays) {
			continue
		}
		text, err := read(file(l.Call))
		if err != nil {
			return fmt.Errorf("make a plan: read the script: %w", err)
		}
		now := l.Settings[stoker.PersistentWorkers]
		set := []stoker.Change{{Setting: stoker.PersistentWorkers, From: now, To: true}}
		p.Loaders = append(p.Loaders, Loader{
			Call: l.Call, SHA256: digest(text), Dataset: l.Dataset, Changes: set, Doubts: doubts(run, l, set),
		})
	}
	return nil
}

// findTarget returns the judged loader, and why it cannot be set ("" if it can).
func findTarget(run *recording.Run, verdict diagnose.Verdict) (recording.Loader, string) {
	window := verdict.Costs.Window
	l := run.FindLoader(window.PID, window.Loader)
	switch {
	case !verdict.HasSteps || l == nil:
		return recording.Loader{}, "no DataLoader was seen"
	case l.Kind != "" || measure.Feeds(l.Settings):
		return *l, "what prepares its batches is no DataLoader of PyTorch's"
	case l.Call == "":
		return *l, "the recording does not say which line makes the DataLoader: observe it again with this stoker"
	case l.Iterable:
		return *l, "its data set is iterable: which samples there are depends on its workers: write it at " + l.Call
	}
	return *l, ""
}

// explainElsewhere returns a change that the hook does not set, with the reason.
func explainElsewhere(c stoker.Change, call string) Elsewhere {
	switch c.Setting {
	case stoker.LoaderKind:
		return Elsewhere{
			c, "",
			"stoker feed -- CMD has the pictures of an unchanged script made by stoker. In the plan it goes under " +
				"\"changes\"",
		}
	case stoker.Split, stoker.Shards:
		return Elsewhere{c, "", "it is written in the data set's class: stoker advise --emit torch prints the lines"}
	case stoker.BatchSize:
		return Elsewhere{c, call, "it changes what is learnt"}
	case stoker.NonBlocking:
		return Elsewhere{
			c, "",
			"whether the host's memory is used again meanwhile cannot be seen: write .to(device, non_blocking=True) " +
				"in the loop",
		}
	case stoker.Precision, stoker.TF32:
		if isNumeric(c) {
			return Elsewhere{
				c, "",
				`it changes numbers: stoker tune --allow precision compares losses first. In the plan it goes under "program"`,
			}
		}
		return Elsewhere{
			c, "",
			"it changes numbers, and fp16 needs a gradient scaler: stoker advise --emit torch prints the lines",
		}
	case stoker.Compile, stoker.CUDAGraphs, stoker.FusedOptimizer, stoker.Accumulation:
		return Elsewhere{c, "", "it changes numbers: stoker advise --emit torch prints the line"}
	default:
	}
	return Elsewhere{c, "", "it is no setting of a DataLoader: stoker advise says more"}
}

// doubts returns the reasons, as seen while observing the run, why batches may differ after
// these changes.
func doubts(run *recording.Run, l recording.Loader, set []stoker.Change) []Doubt {
	found := []Doubt{}
	changed := func(names ...stoker.Setting) bool {
		return slices.ContainsFunc(set, func(c stoker.Change) bool { return slices.Contains(names, c.Setting) })
	}
	if drawn := run.Facts.Draws; drawn != nil && len(drawn.From) > 0 &&
		changed(stoker.NumWorkers, stoker.PersistentWorkers) {
		found = append(found, Doubt{
			Draws,
			fmt.Sprintf(
				"samples draw random numbers (%s): in other workers batches differ as with another seed, and are "+
					"distributed alike", strings.Join(drawn.From, ", ")),
		})
	}
	for _, part := range []string{"sampler", "batch_sampler"} {
		if slices.Contains(l.Own, part) {
			found = append(found, Doubt{
				Order,
				fmt.Sprintf(
					"the %s is the script's own: it may draw or decide as the training goes, and is asked earlier", part),
			})
		}
	}
	if changed(stoker.InOrder) {
		found = append(found, Doubt{Order, "with in_order=False batches come in the order in which they are ready"})
	}
	return found
}

// Read parses a plan's file and checks its values.
func Read(text []byte) (Plan, error) {
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("it is not a plan: %w", err)
	}
	if p.Format != Format {
		return p, fmt.Errorf(
			"it is a plan of format %d, this stoker reads format %d: make it again with stoker advise -o", p.Format,
			Format)
	}
	for i, l := range p.Loaders {
		if file(l.Call) == "" || !filepath.IsAbs(file(l.Call)) {
			return p, fmt.Errorf("loader %d: call %q: the absolute file:line of a DataLoader call is expected", i+1,
				l.Call)
		}
		for j, c := range l.Changes {
			p.Loaders[i].Changes[j] = stoker.Change{Setting: c.Setting, From: whole(c.From), To: whole(c.To)}
			if err := c.Setting.CheckValue(c.To); err != nil {
				return p, fmt.Errorf("%s: %w", l.Call, err)
			}
			if _, multiple := stoker.Multiple(c.To); multiple {
				return p, fmt.Errorf("%s: %s=%v: a plan has values, not multiples", l.Call, c.Setting, c.To)
			}
		}
	}
	for _, c := range p.Program {
		if err := c.Setting.CheckValue(c.To); err != nil {
			return p, fmt.Errorf("program: %w", err)
		}
		if !isNumeric(c) {
			return p, fmt.Errorf("program: %s: only tf32=true and precision=bf16 can be set there", c)
		}
	}
	safe.Values(&p)
	return p, nil
}

// whole converts a float64 that JSON made of a whole number to int.
func whole(v any) any {
	if n, known := (stoker.Settings{"v": v}).Int("v"); known {
		return n
	}
	return v
}

// Refusal returns an error if a plan does not apply to this command or to the scripts as they
// are now. read returns the text of a script.
func (p Plan) Refusal(command []string, read func(string) ([]byte, error)) error {
	was, now := script(p.Command), script(command)
	if was != "" && now != "" && filepath.Base(was) != filepath.Base(now) {
		return fmt.Errorf("the plan was made of %s, and this is %s", filepath.Base(was), filepath.Base(now))
	}
	for _, l := range p.Loaders {
		text, err := read(file(l.Call))
		switch {
		case err != nil:
			return fmt.Errorf("the plan is for the DataLoader that %s makes: %w", l.Call, err)
		case l.SHA256 != "" && digest(text) != l.SHA256:
			return fmt.Errorf("%s is another version than the plan was made of: its line numbers may have moved",
				file(l.Call))
		}
	}
	return nil
}

// Denied returns the doubts of a plan that are not allowed.
func (p Plan) Denied(allow []string) (denied []Doubt) {
	for _, l := range p.Loaders {
		for _, d := range l.Doubts {
			if !slices.Contains(allow, d.Allow) {
				denied = append(denied, d)
			}
		}
	}
	if len(p.Program) > 0 && !slices.Contains(allow, Precision) {
		denied = append(denied, Doubt{Precision, fmt.Sprintf("%s changes numbers", p.Program[0])})
	}
	return denied
}

// Unset describes the changes of a plan that the hook does not set, one sentence each.
func (p Plan) Unset() (lines []string) {
	for _, l := range p.Loaders {
		for _, c := range l.Changes {
			if !slices.Contains(settable, c.Setting) {
				p.Elsewhere = append(p.Elsewhere, explainElsewhere(c, l.Call))
			}
		}
	}
	for _, e := range p.Elsewhere {
		line := fmt.Sprintf("%s is not set: %s", e.Change, e.Why)
		if e.Where != "" {
			line += ". Write it at " + e.Where
		}
		lines = append(lines, line)
	}
	return lines
}

// JSON returns the text of the plan's file.
func (p Plan) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// file returns the file of a file:line; "" if it names none.
func file(call string) string {
	at := strings.LastIndexByte(call, ':')
	return call[:max(0, at)]
}

// digest returns the SHA-256 of a text in hexadecimal.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// script returns the first Python file of a command line; "" if it names none.
func script(command []string) string {
	for _, word := range command {
		if filepath.Ext(word) == ".py" {
			return word
		}
	}
	return ""
}
