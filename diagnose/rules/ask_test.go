package rules

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// starving is a Case of a job whose workers cannot keep up.
func starving() *diagnose.Case {
	c := diagnose.NewCase()
	c.HasSteps, c.IsTraining, c.Stall, c.StallSource = true, true, 0.4, diagnose.DeviceEvents
	c.Costs.Workers = 2
	c.InputShort = diagnose.AskShare("Does the device wait for input?", c.Stall, diagnose.InputStall, "")
	c.WorkersLoad = diagnose.AskFact("Are there worker processes?", true, "2")
	c.WorkersSaturated = diagnose.AskShare("Do they always have a batch to prepare?", 0.95, diagnose.WorkersAtWork, "")
	c.LoadingWaitsForStorage = diagnose.AskShare("Is loading waiting for storage?", 0.01, diagnose.StorageWait, "")
	c.LoadingLacksCores = diagnose.AskFact("Are the cores full?", false, "2 of 8")
	return c
}

// A Case is all that rules need: no recording is behind these.
func TestRulesAskACaseAlone(t *testing.T) {
	workers, storage, cores := starving(), starving(), starving()
	storage.LoadingWaitsForStorage = diagnose.AskShare("Is loading waiting for storage?", 0.8, diagnose.StorageWait, "")
	storage.StorageRemote = diagnose.AskShare("Does it come over a network?", 0.9, diagnose.RemoteWait, "")
	cores.LoadingLacksCores = diagnose.AskFact("Are the cores full?", true, "8 of 8")
	for want, c := range map[diagnose.Class]*diagnose.Case{
		diagnose.TooFewWorkers: workers, diagnose.RemoteFS: storage, diagnose.CPUExhausted: cores,
	} {
		a := AskAll(c)
		if a.Class != want || len(a.Scores) != len(rules) || !math.IsNaN(a.Most) {
			t.Errorf("%s of %d scores, want %s: %v", a.Class, len(a.Scores), want, a.Scores)
		}
		if q := a.Questions[0]; q.Rule != "" {
			t.Errorf("the first question is of %s, want the classic three first", q.Rule)
		}
	}
	if a := AskAll(diagnose.NewCase()); a.Class != diagnose.Unknown && a.Class != diagnose.NotTraining {
		t.Errorf("a Case that knows nothing is %s", a.Class)
	}
}

// A thread that launches many small kernels is at work all the time as well. Of the two classes the better one is named.
func TestLaunchesAndOwnWorkAreOneLack(t *testing.T) {
	for first, second := range map[diagnose.Class]diagnose.Class{
		diagnose.LaunchBound: diagnose.CPUBound, diagnose.CPUBound: diagnose.LaunchBound,
	} {
		if got := decide([]diagnose.Score{{Class: first, Value: 1}, {Class: second, Value: 0.95}}); got != first {
			t.Errorf("%s before %s is %s", first, second, got)
		}
	}
	if got := decide([]diagnose.Score{{Class: diagnose.LaunchBound, Value: 1}, {Class: diagnose.NetworkBound, Value: 0.95}}); got != diagnose.Unknown {
		t.Errorf("launches beside exchanges are %s", got)
	}
}

// A start's words are about what the file shows of it.
func TestWhatAStartIsMadeOf(t *testing.T) {
	for want, change := range map[string]func(*diagnose.Case){
		startUp.Text: func(*diagnose.Case) {},
		onceText:     func(c *diagnose.Case) { c.InsteadOfSteps = "graph capture" },
		gapsText:     func(c *diagnose.Case) { c.Causes = []diagnose.Cause{{Cause: "python", Share: 0.7}} },
	} {
		c := diagnose.NewCase()
		c.IsStartUp, c.Shares.Kernel, c.Shares.Communication = true, 0.1, 0
		c.Causes = []diagnose.Cause{{Cause: "warm-up", Share: 0.6}}
		change(c)
		a := AskAll(c)
		_, text, _ := Describe(diagnose.Verdict{Class: a.Class, Evidence: a.Evidence})
		if a.Class != diagnose.StartUp || text != want {
			t.Errorf("%s: %q, want %q", a.Class, text, want)
		}
	}
}

// On a machine without a GPU the model's work on the CPU is the limit of a server if it takes more than anything else, and
// nothing is said of a device.
func TestAServerWithoutAGPU(t *testing.T) {
	for name, c := range map[string]struct {
		passes, host, waits, nobody float64
		want                        diagnose.Class
	}{
		"passes take most": {0.44, 0.38, 0, 0, diagnose.ComputeOnCPU},
		"the host's work":  {0.2, 0.6, 0, 0, diagnose.ServerHost},
		"a wait":           {0.2, 0, 0.7, 0, diagnose.ServerWaits},
		"nobody asks":      {0.3, 0.1, 0, 0.6, diagnose.NoLoad},
	} {
		of := diagnose.NewCase()
		of.IsTraining, of.HasUnfedSteps, of.Model = true, true, &diagnose.ModelFacts{Device: "cpu"}
		of.Requests.None, of.Requests.PassShare = c.nobody, c.passes
		of.Parts = diagnose.Parts{Unasked: c.nobody, Long: c.host, Awaited: c.waits}
		of.HostServes = diagnose.AskShare("Does the host work?", c.host, diagnose.HostForRequests, "")
		of.NobodyWorks = diagnose.AskShare("Does nobody work?", c.waits, diagnose.Awaited, "")
		of.NobodyAsks = diagnose.AskShare("Does nobody ask?", c.nobody, diagnose.Unasked, "")
		a := AskAll(of)
		title, text, _ := Describe(diagnose.Verdict{Class: a.Class, Evidence: a.Evidence})
		if a.Class != c.want || strings.Contains(title+text, "device") {
			t.Errorf("%s: %s: %s. %s", name, a.Class, title, text)
		}
	}
}
