package diagnose

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A server on a machine without a GPU is advised in words that speak of none.
func TestAdviceForAServerWithoutAGPU(t *testing.T) {
	advice := []string{onceAndKept + besideModel}
	for _, hint := range workOfRequest {
		advice = append(advice, hint)
	}
	for _, kind := range slices.Concat(HoldRequests, []Kind{
		PerRequest, RequestData, Encoding, Packing, Tokenizes, Templates, Sampler, HTTP, Engine, Messages, Loads, Database,
		RequestLogs, DeepCopies, Programs, Compiling, Garbage, OfLibrary,
	}) {
		advice = append(advice, kind.Words(), kind.Advice())
	}
	for _, class := range []Class{NoLoad, BatchTooSmall, ServerHost, Tokenizing, ServerWaits, CacheFull} {
		advice = append(advice, class.Do())
		for _, setting := range serverSettings[class] {
			advice = append(advice, setting)
		}
	}
	v := Verdict{Grounds: Grounds{NoDevice: true}}
	v.Measured.Requests.None = 0
	device := regexp.MustCompile(`(?i:device|cuda)|GPU`)
	for _, text := range advice {
		if said := strings.ReplaceAll(v.FitServer(text), "workers_per_device", ""); device.MatchString(said) {
			t.Errorf("%s", said)
		}
	}
	v.Measured.Requests.None = math.NaN()
	if do := ServerHost.Do(); v.FitServer(do) != do {
		t.Error("advice for what is no server is reworded")
	}
}
