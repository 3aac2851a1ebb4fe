package diagnose

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A server may be on a machine without a GPU: it is advised in words that speak of none.
func TestAdviceForServersSpeaksOfNoDevice(t *testing.T) {
	advice := []string{onceAndKept + besideModel}
	for _, hint := range workOfRequest {
		advice = append(advice, onModelsPlace(hint, false))
	}
	for _, kind := range slices.Concat(HoldRequests, []Kind{
		PerRequest, RequestData, Encoding, Packing, Tokenizes, Templates, Sampler, HTTP, Engine, Messages, Loads, Database,
		RequestLogs, DeepCopies, Programs, Compiling, Garbage, OfLibrary,
	}) {
		advice = append(advice, kind.Words(), LoopLine{Line: Line{Kind: kind}}.ServerAdvice(false))
	}
	for _, class := range []Class{NoLoad, BatchTooSmall, ServerHost, Tokenizing, ServerWaits, CacheFull} {
		advice = append(advice, class.Do())
		for _, setting := range serverSettings[class] {
			advice = append(advice, setting)
		}
	}
	device := regexp.MustCompile(`(?i:device|cuda)|GPU`)
	settings := regexp.MustCompile(`workers_per_device|--cuda-[a-z-]+`)
	for _, text := range advice {
		if said := settings.ReplaceAllString(text, ""); device.MatchString(said) {
			t.Errorf("%s", said)
		}
	}
	if text := (LoopLine{Line: Line{Kind: Sampler}}).ServerAdvice(true); !strings.HasPrefix(text, "choose tokens on the device, ") {
		t.Errorf("on a machine with a device: %s", text)
	}
}
