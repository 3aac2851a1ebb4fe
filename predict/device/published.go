package device

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-dev/stoker/hardware"
)

// The tables of the package comment. go test ./predict/device -run
// Efficiencies -fit writes both.
var (
	//go:embed published.csv
	publishedTable string
	//go:embed fitted.csv
	fittedTable string

	publishedColumns = []string{
		"network", "kind", "gpu", "precision", "software", "tokens", "side", "batch",
		"weight", "error", "device", "source",
	}
	fittedColumns = []string{"key", "value"}
)

// knowledge is what step times are computed from: efficiencies, published steps
// next to them, and how far both were off at what was left out of the fit.
type knowledge struct {
	efficient efficiency
	widths    map[level]map[training]doubtWidth
	evidence  clues
}

// published is all that is known. It is read when it is asked for: most verbs never do.
var published = sync.OnceValue(func() knowledge { return mustRead(fittedTable, publishedTable) })

func mustRead(fitted, steps string) knowledge {
	k, err := readKnowledge(fitted, steps)
	if err != nil {
		panic(err)
	}
	return k
}

// readKnowledge reads both tables. An error names the file and the line.
func readKnowledge(fitted, steps string) (k knowledge, err error) {
	k.efficient, k.widths = efficiency{}, map[level]map[training]doubtWidth{}
	if err := parseRows("fitted.csv", fitted, fittedColumns, k.addFitted); err != nil {
		return knowledge{}, err
	}
	if err := k.checkWidths(); err != nil {
		return knowledge{}, fmt.Errorf("fitted.csv: %w", err)
	}
	if err := parseRows("published.csv", steps, publishedColumns, k.addStep); err != nil {
		return knowledge{}, err
	}
	return k, nil
}

// parseRows gives each row below the heading to add.
func parseRows(file, text string, columns []string, add func(fields []string) error) error {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.ReuseRecord = len(columns), true
	heading, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if !slices.Equal(heading, columns) {
		return fmt.Errorf("%s:1: the columns are %q: expected %q", file, heading, columns)
	}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := add(fields); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
}

// addFitted adds a row of fitted.csv.
func (k *knowledge) addFitted(fields []string) error {
	key := fields[0]
	value, err := parsePositive(key, fields[1])
	if err != nil {
		return err
	}
	if name, isWidth := strings.CutPrefix(key, "width/"); isWidth {
		return k.addWidth(name, value)
	}
	if _, twice := k.efficient[key]; twice {
		return fmt.Errorf("%s occurs twice", key)
	}
	k.efficient[key] = value
	return nil
}

// addWidth adds one side of a width: its name is "exact/training/launch".
func (k *knowledge) addWidth(name string, value float64) error {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return fmt.Errorf("width %q: expected level/kind/side", name)
	}
	near := level(slices.Index(levelNames[:], parts[0]))
	if near < 0 {
		return fmt.Errorf("level %q: expected one of %q", parts[0], levelNames)
	}
	isTraining, err := parseKind(parts[1])
	if err != nil {
		return err
	}
	kind := training(isTraining)
	if k.widths[near] == nil {
		k.widths[near] = map[training]doubtWidth{}
	}
	w := k.widths[near][kind]
	switch side := parts[2]; {
	case side == "launch" && w.launch == 0:
		w.launch = value
	case side == "device" && w.device == 0:
		w.device = value
	default:
		return fmt.Errorf("width %q: expected launch and device, once each", name)
	}
	k.widths[near][kind] = w
	return nil
}

// checkWidths returns an error if a width is missing.
func (k *knowledge) checkWidths() error {
	for near, name := range levelNames {
		for _, kind := range []training{false, true} {
			if w := k.widths[level(near)][kind]; w.launch == 0 || w.device == 0 {
				return fmt.Errorf("width/%s/%s is missing", name, kind)
			}
		}
	}
	return nil
}

// addStep adds a row of published.csv.
func (k *knowledge) addStep(fields []string) (err error) {
	c := clue{
		network: fields[0], gpu: fields[2], precision: hardware.Precision(fields[3]), software: Software(fields[4]),
		source: fields[11],
	}
	if c.training, err = parseKind(fields[1]); err != nil {
		return err
	}
	for i, number := range []*float64{&c.tokens, &c.side, &c.batch, &c.weight, &c.error, &c.device} {
		if *number, err = strconv.ParseFloat(fields[5+i], 64); err != nil {
			return fmt.Errorf("%s %q: expected a number", publishedColumns[5+i], fields[5+i])
		}
	}
	if err := c.checkFields(); err != nil {
		return err
	}
	k.evidence = append(k.evidence, c)
	return nil
}

// checkFields returns an error if a row cannot be.
func (c *clue) checkFields() error {
	switch {
	case !slices.ContainsFunc(Workloads, func(w Workload) bool { return w.Name == c.network }):
		return fmt.Errorf("network %q is not in the table", c.network)
	case !slices.ContainsFunc(hardware.GPUs, func(g hardware.GPU) bool { return g.Name == c.gpu }):
		return fmt.Errorf("GPU %q is not in the table", c.gpu)
	case !slices.Contains(hardware.Precisions, c.precision):
		return fmt.Errorf("precision %q: expected one of %q", c.precision, hardware.Precisions)
	case !slices.Contains(softwareClasses, c.software):
		return fmt.Errorf("software %q: expected one of %q", c.software, softwareClasses)
	case !(c.tokens >= 0) || !(c.side >= 0) || !positive(c.batch):
		return fmt.Errorf("batch %v, tokens %v, side %v: expected a batch above 0", c.batch, c.tokens, c.side)
	case !(c.weight > 0 && c.weight <= 1) || !(math.Abs(c.error) < 10) || !(c.device >= 0 && c.device <= 1):
		return fmt.Errorf("weight %v, error %v, device %v: expected shares, and a logarithm", c.weight, c.error,
			c.device)
	case c.source == "":
		return errors.New("the source is missing")
	}
	return nil
}

// parseKind reads "training" or "inference".
func parseKind(text string) (bool, error) {
	switch text {
	case training(true).String():
		return true, nil
	case training(false).String():
		return false, nil
	}
	return false, fmt.Errorf("kind %q: expected %s or %s", text, training(true), training(false))
}

// parsePositive reads a number above 0.
func parsePositive(name, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !positive(v) {
		return 0, fmt.Errorf("%s %q: expected a number above 0", name, text)
	}
	return v, nil
}
