package observe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// What a collector gets can be read by OpenTelemetry's types, and has the verdict's values.
func TestCollectorGetsFigures(t *testing.T) {
	run, err := recording.Open("../../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	var got metrics.MetricsData
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := protojson.Unmarshal(body, &got); err != nil || r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.URL, r.Header, err)
		}
	}))
	defer server.Close()
	c, err := newCollector(server.URL, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)
	c.send(run, v)
	c.close()
	found := map[string]float64{}
	for _, m := range got.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		found[m.GetName()] = m.GetGauge().GetDataPoints()[0].GetAsDouble()
	}
	if found["stoker.stall_ratio"] != v.Stall || found["stoker.step_seconds"] != v.Costs.Step || found["stoker.verdict"] != 1 {
		t.Errorf("got %v", found)
	}
}

// An unreachable collector is reported in one line only.
func TestUnreachableCollector(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var said []string
	c, err := newCollector(server.URL, func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.send(&recording.Run{}, diagnose.Verdict{})
	}
	c.close()
	if len(said) != 1 || !strings.Contains(said[0], "404") {
		t.Errorf("said %q", said)
	}
	for _, address := range []string{"localhost:4318", "ftp://a/", "http://", ":"} {
		if _, err := newCollector(address, nil); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
	}
}
