package advise

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// on opens a case as if it had been recorded on another GPU.
func on(t *testing.T, name, gpu string) *recording.Run {
	t.Helper()
	path := "../testdata/cases/" + name
	run, err := recording.Open(path)
	if strings.HasSuffix(name, ".json.gz") {
		run, err = trace.Read(t.Context(), []string{path}, trace.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Facts.GPUs {
		run.Facts.GPUs[i].Name = gpu
	}
	return run
}

// sayings are all sentences of a verdict.
func sayings(v diagnose.Verdict) string {
	said := []string{v.Do()}
	for _, e := range v.Evidence {
		said = append(said, e.Text)
	}
	for _, f := range v.Findings {
		said = append(said, f.Text, f.Advice)
	}
	return strings.Join(said, "\n")
}

// What becomes of a copy from pageable memory depends on how the device gets at the host's
// memory: by PCIe, over NVLink-C2C, or by having one memory with it.
func TestCopiesByReach(t *testing.T) {
	for _, name := range []string{
		"labelled-pageable-copies/run.jsonl.gz", "blocking-copies-inside/run.jsonl.gz",
		"trace-pageable/trace.json.gz",
	} {
		for gpu, want := range map[string]struct{ says, not, do string }{
			"NVIDIA H100 80GB HBM3": {"the CPU stages", "NVLink-C2C", "pin_memory=True with"},
			"NVIDIA GH200 480GB":    {"over NVLink-C2C by itself", "the CPU", "fewer bytes"},
			"NVIDIA GB10":           {"have one memory", "the CPU", "fewer bytes"},
		} {
			v := judge.Judge(on(t, name, gpu))
			if v.Class != diagnose.TransferBound {
				if gpu != "NVIDIA GH200 480GB" { // there a copy that was estimated takes no time
					t.Errorf("%s on %s: %s", name, gpu, v.Class)
				}
				continue
			}
			if !strings.HasPrefix(v.Do(), want.do) {
				t.Errorf("%s on %s is told to %s", name, gpu, v.Do())
			}
			said := strings.ReplaceAll(sayings(v), "is staged by the CPU", "the CPU stages")
			said = strings.ReplaceAll(said, "staged by the CPU", "the CPU stages")
			if !strings.Contains(said, want.says) || strings.Contains(said, want.not) {
				t.Errorf("%s on %s, want %q and not %q:\n%s", name, gpu, want.says, want.not, said)
			}
		}
	}
}

// Where the copy is estimated from the link, pinning it gains nothing over NVLink-C2C. On a DGX
// Spark, where pageable copies were measured slow and nobody knows how slow on another driver, the
// gain is told with what is not known of it.
func TestPinningByReach(t *testing.T) {
	const name = "labelled-pageable-copies/run.jsonl.gz"
	for gpu, why := range map[string]string{
		"Tesla V100-SXM2-16GB": "", "NVIDIA GH200 480GB": "no measurable gain", "NVIDIA GB10": "too uncertain",
	} {
		run := on(t, name, gpu)
		plan := Rank(run, judge.Judge(run))
		is := func(name string) bool { return name == string(stoker.PinMemory) }
		fix := slices.ContainsFunc(plan.Fixes, func(f Fix) bool { return is(f.Name) })
		said := slices.ContainsFunc(plan.Rejected, func(r Rejected) bool { return is(r.Name) && strings.Contains(r.Why, why) })
		if fix != (why == "") || said != (why != "") {
			t.Errorf("%s: pin_memory is a fix: %v; rejected: %v", gpu, fix, plan.Rejected)
		}
	}
}
