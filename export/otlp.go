package export

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/recording"
)

// OTLPType is the content type of the body that OTLP returns.
const OTLPType = "application/json"

// OTLP returns the body of a request to an OpenTelemetry collector: Figures as gauges, in JSON,
// with resource attributes named as OpenTelemetry does.
func OTLP(run *recording.Run, v diagnose.Verdict, host string) ([]byte, error) {
	at := uint64((run.Facts.Started + run.End()) * 1e9)
	rank := attribute("rank", fmt.Sprint(v.Rank))
	var all []*metrics.Metric
	gauge := func(name, help string, value float64, more ...*common.KeyValue) {
		point := &metrics.NumberDataPoint{
			TimeUnixNano: at, Attributes: append(more, rank),
			Value: &metrics.NumberDataPoint_AsDouble{AsDouble: value},
		}
		all = append(all, &metrics.Metric{
			Name: "stoker." + name, Description: help,
			Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{point}}},
		})
	}
	for _, f := range Figures(run, v) {
		gauge(f.Name, f.Help, f.Value)
	}
	gauge("verdict", "The class of the verdict, with the value 1.", 1, attribute("class", string(v.Headline())),
		attribute("state", string(v.State)))
	return protojson.Marshal(&metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{
			attribute("service.name", "stoker"), attribute("service.version", run.Facts.Version),
			attribute("host.name", host),
		}},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: all}},
	}}})
}

// attribute returns a key with a text.
func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{
		Key:   key,
		Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: safe.Text(value, 200)}},
	}
}
