package advise

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
)

// noAnomalies proposes to switch autograd's anomaly detection off. What it costs is not measured: all that the
// device idles for bounds it.
func (a adviser) noAnomalies() (Fix, string) {
	found := slices.ContainsFunc(a.verdict.Findings, func(f diagnose.Finding) bool {
		return f.Name == diagnose.FindingAnomalyDetection
	})
	if !found || math.IsNaN(a.verdict.Idle) {
		return Fix{}, ""
	}
	return Fix{
		Name: diagnose.FindingAnomalyDetection, Title: "switch autograd's anomaly detection off",
		Effort: Code, Risk: NoRisk,
		Forecast: a.atMost(a.atIdle()), Cause: true,
		Notes: []string{diagnose.Anomalies.Advice()},
	}, ""
}
