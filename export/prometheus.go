package export

import (
	"io"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Forecast is the predicted speed-up of a fix.
type Forecast struct {
	Fix     string
	Speedup stoker.Interval
}

// Prometheus writes what only Stoker knows about a run in Prometheus' text format, as the
// textfile collector of node_exporter reads it. Ratios are 0 to 1, times are in seconds;
// unknown values are left out. All metrics are gauges: they describe the judged window, not the
// whole run.
func Prometheus(w io.Writer, run *recording.Run, v diagnose.Verdict, forecasts []Forecast) error {
	p := Metrics{labels: judgedLabels(run, v)}
	for _, f := range Figures(run, v) {
		p.Set("stoker_"+f.Name, f.Help, f.Value)
	}
	p.Set("stoker_verdict_info", "The class of the verdict, with the value 1.", 1, "class", string(v.Headline()), "state",
		string(v.State))
	if k := v.Costs.Cluster; k != nil {
		for _, node := range k.Nodes {
			p.Set("stoker_remote_node_fetch_seconds", "Mean time in which a worker on the node prepares a batch.", node.Fetch, "node", node.Name)
		}
	}
	for _, r := range v.Ledger.Rows {
		p.Set("stoker_run_row_seconds", "Time of the run by what it went into: the rows add up to it.", r.Seconds, "row", string(r.Name))
		p.Set("stoker_run_row_idle_seconds", "Of that, time in which no kernel ran on the device.", r.Idle, "row", string(r.Name))
	}
	for _, f := range forecasts {
		for i, value := range []float64{f.Speedup.Low, f.Speedup.Point, f.Speedup.High} {
			p.Set("stoker_forecast_speedup_ratio", "Time per sample as it is over that with the fix.", value, "fix",
				f.Fix, "bound", []string{"low", "point", "high"}[i])
		}
	}
	p.Set("stoker_run_end_timestamp_seconds", "Unix time of the newest thing that was recorded.",
		run.Facts.Started+run.End())
	p.Set("stoker_build_info", "The Stoker that recorded the run, with the value 1.", 1, "version", run.Facts.Version)
	return p.Write(w)
}

// Metrics collects metrics for Prometheus, in the order in which they are set.
type Metrics struct {
	labels []*dto.LabelPair // of every metric
	all    []*dto.MetricFamily
}

// Set adds a metric with labels, given as names and values in turn. It is a counter if its name
// ends in _total, else a gauge. A metric whose value is unknown is left out, and so is a label
// whose value is "".
func (m *Metrics) Set(name, help string, value float64, labels ...string) {
	if !stat.Finite(value) {
		return
	}
	metric := &dto.Metric{Label: m.labels, Gauge: &dto.Gauge{Value: &value}}
	kind := dto.MetricType_GAUGE
	if strings.HasSuffix(name, "_total") {
		metric.Gauge, metric.Counter, kind = nil, &dto.Counter{Value: &value}, dto.MetricType_COUNTER
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			metric.Label = append(slices.Clip(metric.Label), label(labels[i], labels[i+1]))
		}
	}
	at := slices.IndexFunc(m.all, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	if at < 0 {
		at, m.all = len(m.all), append(m.all, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind})
	}
	m.all[at].Metric = append(m.all[at].Metric, metric)
}

// Write writes the metrics in Prometheus' text format.
func (m *Metrics) Write(w io.Writer) error {
	for _, family := range m.all {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return nil
}

// label returns a label, its value made safe to print.
func label(name, value string) *dto.LabelPair {
	value = safe.Text(value, 200)
	return &dto.LabelPair{Name: &name, Value: &value}
}

// judgedLabels returns labels of the judged rank and its device, named as dcgm-exporter does.
func judgedLabels(run *recording.Run, v diagnose.Verdict) []*dto.LabelPair {
	labels := []*dto.LabelPair{label("rank", strconv.Itoa(v.Rank))}
	p := run.FindProcess(v.Costs.Window.PID)
	for _, g := range run.Facts.GPUs {
		if p != nil && p.Device == g.Index || len(run.Facts.GPUs) == 1 {
			labels = append(labels, label("gpu", strconv.Itoa(g.Index)), label("UUID", g.UUID))
		}
	}
	return labels
}
