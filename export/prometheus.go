package export

import (
	"io"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Forecast is what a fix is worth, by its name.
type Forecast struct {
	Fix     string
	Speedup stoker.Interval
}

// Prometheus writes what only Stoker knows of a run, in Prometheus' text format, as
// node_exporter's textfile collector takes it. Ratios are 0 to 1, times are seconds; what
// is not known is left out. Gauges all: they speak of the judged window, not of the
// whole run.
func Prometheus(w io.Writer, run *recording.Run, v diagnose.Verdict, forecasts []Forecast) error {
	p := families{labels: judgedLabels(run, v)}
	for _, f := range Figures(run, v) {
		p.set("stoker_"+f.Name, f.Help, f.Value)
	}
	p.set("stoker_verdict_info", "The class of the verdict, with the value 1.", 1, "class", string(v.Class), "state", string(v.State))
	for _, f := range forecasts {
		for i, value := range []float64{f.Speedup.Low, f.Speedup.Point, f.Speedup.High} {
			p.set("stoker_forecast_speedup_ratio", "Time per sample as it is over that with the fix.", value, "fix", f.Fix, "bound", []string{"low", "point", "high"}[i])
		}
	}
	p.set("stoker_run_end_timestamp_seconds", "Unix time of the newest thing that was recorded.", run.Facts.Started+run.End())
	p.set("stoker_build_info", "The Stoker that recorded the run, with the value 1.", 1, "version", run.Facts.Version)
	for _, family := range p.all {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return nil
}

// families are gauges in the order in which they were set.
type families struct {
	labels []*dto.LabelPair
	all    []*dto.MetricFamily
}

// set adds a gauge with labels of its own, name and value in turn; one that is not
// known is left out.
func (p *families) set(name, help string, value float64, labels ...string) {
	if !stat.Finite(value) {
		return
	}
	if n := len(p.all); n == 0 || p.all[n-1].GetName() != name {
		p.all = append(p.all, &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum()})
	}
	family := p.all[len(p.all)-1]
	metric := &dto.Metric{Label: p.labels, Gauge: &dto.Gauge{Value: &value}}
	for i := 0; i+1 < len(labels); i += 2 {
		metric.Label = append(slices.Clip(metric.Label), label(labels[i], labels[i+1]))
	}
	family.Metric = append(family.Metric, metric)
}

func label(name, value string) *dto.LabelPair {
	value = safe.Text(value, 200)
	return &dto.LabelPair{Name: &name, Value: &value}
}

// judgedLabels name the judged rank and its device as dcgm-exporter does.
func judgedLabels(run *recording.Run, v diagnose.Verdict) []*dto.LabelPair {
	labels := []*dto.LabelPair{label("rank", strconv.Itoa(v.Rank))}
	p := run.Process(v.Costs.Window.PID)
	for _, g := range run.Facts.GPUs {
		if p != nil && p.Device == g.Index || len(run.Facts.GPUs) == 1 {
			labels = append(labels, label("gpu", strconv.Itoa(g.Index)), label("UUID", g.UUID))
		}
	}
	return labels
}
