package metrics

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// figures are what a page says. NaN is unknown.
type figures struct {
	running, waiting, cache          float64
	preempted, done, passes, samples float64
	seconds                          float64  // of all requests that were answered
	within                           []bucket // of a histogram, in order
}

// bucket is how many requests were answered within a time, seconds.
type bucket struct{ most, count float64 }

// Limits of a page.
const (
	mostBytes  = 4 << 20
	mostLines  = 4096 // of the metrics that are read
	mostBucket = 64
)

var errTooLong = fmt.Errorf("its page is longer than %d MiB", mostBytes>>20)

// parse reads a page of a server's metrics.
func parse(page io.Reader, s *server) (figures, error) {
	text, err := keepLines(page, s)
	if err != nil {
		return figures{}, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return figures{}, fmt.Errorf("parse metrics: %w", err)
	}
	of := func(names string) *dto.MetricFamily {
		for _, name := range strings.Fields(names) {
			if family := families[name]; family != nil {
				return family
			}
		}
		return nil
	}
	f := figures{
		running: add(of(s.running)), waiting: add(of(s.waiting)), cache: mean(of(s.cache)),
		preempted: add(of(s.preempted)), passes: add(of(s.passes)), samples: add(of(s.samples)),
		done: math.NaN(),
	}
	for _, name := range s.done {
		f.done = plus(f.done, add(families[name]))
	}
	f.seconds, f.within = times(families[s.time], s.unit)
	if n := len(f.within); math.IsNaN(f.done) && n > 0 {
		f.done = f.within[n-1].count
	}
	if math.IsNaN(f.done) { // TGI tells of none before the first
		f.done = 0
	}
	if s.running != "" && math.IsNaN(f.running) {
		f.running = 0
	}
	return f, nil
}

// keepLines returns the lines of a page that are about metrics that are read, which bounds what the parser is given.
func keepLines(page io.Reader, s *server) ([]byte, error) {
	limited := &io.LimitedReader{R: page, N: mostBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	var kept bytes.Buffer
	count, its, names := 0, false, s.names()
	for lines.Scan() {
		name, isType := strings.CutPrefix(lines.Text(), "# TYPE ")
		if rest, found := strings.CutPrefix(name, s.other); found && s.other != "" {
			name = s.prefix + rest
		}
		its = its || strings.HasPrefix(name, s.prefix)
		if !its || !slices.ContainsFunc(names, func(n string) bool { return isOf(name, n) }) {
			continue
		}
		if count++; count > mostLines {
			return nil, fmt.Errorf("its page has more than %d series of them", mostLines)
		}
		if isType {
			kept.WriteString("# TYPE ")
		}
		kept.WriteString(name)
		kept.WriteByte('\n')
	}
	if limited.N <= 0 {
		return nil, errTooLong
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	if !its {
		return nil, fmt.Errorf("its page has no metrics of %s", s.name)
	}
	return kept.Bytes(), nil
}

func (s *server) names() []string {
	all := []string{s.running, s.waiting, s.cache, s.preempted, s.passes, s.samples, s.time}
	return strings.Fields(strings.Join(append(all, s.done...), " "))
}

// isOf reports whether a line is one of a metric, or of a part of a histogram.
func isOf(line, name string) bool {
	rest, found := strings.CutPrefix(line, name)
	if !found || name == "" {
		return false
	}
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		rest = strings.TrimPrefix(rest, part)
	}
	return rest == "" || strings.ContainsRune("{ \t", rune(rest[0]))
}

// add adds up the series of a metric; NaN without one.
func add(family *dto.MetricFamily) float64 {
	sum := math.NaN()
	for _, m := range countOnce(family) {
		if v := valueOf(m); v >= 0 && !math.IsInf(v, 0) {
			sum = plus(sum, v)
		}
	}
	return sum
}

func mean(family *dto.MetricFamily) float64 {
	sum, n := 0.0, 0.0
	for _, m := range countOnce(family) {
		if v := valueOf(m); v >= 0 && v <= 1 {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// countOnce returns a metric's series without those that repeat another one: of the ranks that hold parts of one
// model it keeps the lowest of each replica, and it drops the series of single priorities, as one counts them all.
func countOnce(family *dto.MetricFamily) []*dto.Metric {
	least := map[string][2]int{}
	for _, m := range family.GetMetric() {
		replica, rank := rankOf(m)
		if other, found := least[replica]; !found || slices.Compare(rank[:], other[:]) < 0 {
			least[replica] = rank
		}
	}
	return slices.DeleteFunc(slices.Clone(family.GetMetric()), func(m *dto.Metric) bool {
		replica, rank := rankOf(m)
		return rank != least[replica] || label(m, "priority") != ""
	})
}

// rankOf returns the replica that a series is of, and the rank within it.
func rankOf(m *dto.Metric) (replica string, rank [2]int) {
	for i, name := range []string{"pp_rank", "tp_rank"} {
		rank[i], _ = strconv.Atoi(label(m, name))
	}
	return label(m, "model_name") + " " + label(m, "dp_rank"), rank
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func plus(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

// valueOf is the value of a counter or gauge, and of a histogram how often it was told.
func valueOf(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetUntyped() != nil:
		return m.GetUntyped().GetValue()
	case m.GetHistogram() != nil:
		return float64(m.GetHistogram().GetSampleCount())
	case m.GetSummary() != nil:
		return float64(m.GetSummary().GetSampleCount())
	}
	return math.NaN()
}

// times returns the sum of all requests' times, and how many took how long at most.
func times(family *dto.MetricFamily, unit float64) (seconds float64, within []bucket) {
	seconds = math.NaN()
	counts := map[float64]float64{}
	for _, m := range family.GetMetric() {
		h := m.GetHistogram()
		sum := unit * valueOf(m)
		if h != nil {
			sum = unit * h.GetSampleSum()
		}
		if !(sum >= 0) || math.IsInf(sum, 0) {
			continue
		}
		seconds = plus(seconds, sum)
		for _, b := range h.GetBucket() {
			if most := unit * b.GetUpperBound(); most > 0 {
				counts[most] += float64(b.GetCumulativeCount())
			}
		}
	}
	for most, count := range counts {
		within = append(within, bucket{most, count})
	}
	slices.SortFunc(within, func(a, b bucket) int {
		if a.most < b.most {
			return -1
		}
		return 1
	})
	if len(within) > mostBucket {
		within = nil
	}
	return seconds, within
}
