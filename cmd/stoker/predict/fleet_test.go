package predict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// One V100 needs as many cores to prepare its images as was measured (VLDB 2021, doi
// 10.14778/3446095.3446100): 3 to 4 for ResNet-50, 12 to 24 for ResNet-18.
func TestPredictCoresOfDataStalls(t *testing.T) {
	clitest.HideOwnRows(t)
	for model, measured := range map[string][2]float64{"resnet50": {3, 4}, "resnet18": {12, 24}} {
		_, out, _ := call(t, "predict", "--gpu", "v100-sxm-32gb", "--model", model, "--batch", "256", "--precision", "fp16",
			"--storage", "page-cache", "--json")
		var o struct {
			Prediction struct {
				Demand struct {
					Cores struct{ Low, Point, High float64 }
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &o); err != nil {
			t.Fatal(err)
		}
		cores := o.Prediction.Demand.Cores
		if cores.Low > measured[0] || cores.High < measured[1] || cores.Point < measured[0]/1.5 || cores.Point > measured[1]*1.5 {
			t.Errorf("%s: %+v cores, measured %v", model, cores, measured)
		}
	}
}

// A fleet is answered in eight lines, and what is missing or cannot be is said with the flag.
func TestPredictFleet(t *testing.T) {
	clitest.HideOwnRows(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--gpu h100-sxm --gpus 1024 --years 3 --util 40%", cli.ExitFine, "waits        $64,500,000 of it"},
		{"--gpu h100-sxm --gpus 1024 --years 3 --util 40%", cli.ExitFine, "1024 x NVIDIA H100 80GB HBM3 for 3 years"},
		{"--gpu b200 --util 80% --buy $50k --kwh 0.10 --all", cli.ExitFine, "sources"},
		{"--gpu h100-sxm --util 95% --mtbf 3h --checkpoint 30s --json", cli.ExitFine, `"mtbf_s"`},
		{"--gpu tpu-v5e --util 50%", cli.ExitFine, "unknown: say what a GPU costs (--price or --buy)"},
		{"--gpu h100-sxm", cli.ExitUsage, "hint: --util 40%"},
		{"--util 40%", cli.ExitUsage, "hint: --gpu h100"},
		{"--gpu h100-sxm --util 0%", cli.ExitUsage, "--util is 0 %"},
		{"--gpu h100-sxm --util 50% --gpus 1e9", cli.ExitUsage, "expected 1 to 10000000"},
		{"--gpu h100-sxm --util 50% --years 100", cli.ExitUsage, "at most 50"},
		{"--gpu h100-sxm --util 50% --years -1", cli.ExitUsage, "--years"},
		{"--gpu h100-sxm --util 50% --buy free", cli.ExitUsage, "hint: --buy '$45000'"},
		{"--gpu h100-sxm --util 50% --buy $9 --price $2/h", cli.ExitUsage, "give one"},
		{"--gpu h100-sxm --util 50% --mtbf 1s", cli.ExitUsage, "--mtbf: with a failure every 1 s no work lasts"},
		{"--gpu h100-sxm --util 50% --mtbf often", cli.ExitUsage, "--mtbf"},
	} {
		code, out, errs := call(t, append([]string{"predict", "fleet"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("stoker predict fleet %s: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
		if lines := strings.Count(strings.TrimSpace(out), "\n"); code == cli.ExitFine && lines > 9 &&
			!strings.Contains(c.args, "--all") && !strings.Contains(c.args, "--json") {
			t.Errorf("%s: %d lines below the title, expected 8 at most:\n%s", c.args, lines-1, out)
		}
	}
}
