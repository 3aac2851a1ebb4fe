package predict

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/spelling"
	"github.com/stoker-dev/stoker/predict/device"
)

func TestEveryProfileIsComplete(t *testing.T) {
	seen := map[string]string{}
	for _, p := range Profiles {
		for what, a := range map[string]Amount{
			"stored": p.Stored, "decoded": p.Decoded, "prepare": p.Prepare,
			"spread": p.Spread,
		} {
			if !(a.Low >= 0 && a.Low <= a.Point && a.Point <= a.High) || math.IsInf(a.High, 0) {
				t.Errorf("%s: %s is %v", p.Name, what, a.Interval)
			}
			if len(a.Source) < 20 {
				t.Errorf("%s: %s has source %q", p.Name, what, a.Source)
			}
		}
		if p.Sample == "" || p.Access == "" || (p.Access == NoStorage) != (p.Stored.High == 0) {
			t.Errorf("%s: sample %q, access %q, stored %v", p.Name, p.Sample, p.Access, p.Stored.Interval)
		}
		for _, name := range p.names() {
			if other, taken := seen[spelling.Plain(name)]; taken && other != p.Name {
				t.Errorf("%q is both %s and %s", name, other, p.Name)
			}
			seen[spelling.Plain(name)] = p.Name
			if got, known := FindProfile(name); !known || got.Name != p.Name {
				t.Errorf("%q finds %q, %v, want %s", name, got.Name, known, p.Name)
			}
		}
	}
	if _, known := FindProfile(""); known {
		t.Error("a profile without a name was found")
	}
	if names := NearestProfiles("imagnet"); len(names) != 3 || names[0] != "imagenet-jpeg" {
		t.Errorf("nearest to imagnet are %q", names)
	}
}

func ExampleProfile_For() {
	p, _ := FindProfile("llm-tokens")
	w, _ := device.FindWorkload("gpt2")
	p = p.For(w)
	fmt.Printf("%s: %.0f to %.0f bytes stored, %.0f copied\n", p.Title, p.Stored.Low, p.Stored.High, p.Decoded.Point)
	// Output: LLM tokens: 2048 to 4096 bytes stored, 16384 copied
}

// Each network names a kind of data that is known.
func TestNetworksReadKnownData(t *testing.T) {
	for _, w := range device.Workloads {
		if _, known := FindProfile(w.Profile); !known {
			t.Errorf("%s: profile %q", w.Name, w.Profile)
		}
	}
}

// The prior spans the processors that were measured, and one of them narrows it.
func TestPrepareOnAProcessor(t *testing.T) {
	jpegs, _ := FindProfile("imagenet-jpeg")
	for _, cpu := range hardware.Known.CPUs {
		on := jpegs.PrepareOn(cpu)
		pillow := 1 / cpu.DecodeRate("pillow").Value
		if on.Point != pillow+1.04e-3 || on.Low >= on.Point || on.High <= on.Point {
			t.Errorf("%s: %+v", cpu.Name, on)
		}
		if on.Low < 0.9*jpegs.Prepare.Low || on.Point > 1.1*jpegs.Prepare.High {
			t.Errorf("%s: %+v is not inside of the prior %+v", cpu.Name, on, jpegs.Prepare)
		}
	}
	films, _ := FindProfile("video")
	if on := films.PrepareOn(hardware.Known.CPUs[0]); on.Point != 0 {
		t.Errorf("films are decoded as JPEGs are: %+v", on)
	}
}

// A sample that is larger than usual costs more, one of the usual size what it always did.
func TestCostGrowsWithSize(t *testing.T) {
	jpeg, _ := FindProfile("imagenet-jpeg")
	at := func(bytes float64) stoker.Interval { return jpeg.PrepareOf(stoker.Exactly(bytes)).Interval }
	if at(110e3) != jpeg.Prepare.Interval {
		t.Errorf("110 KB cost %v, expected %v", at(110e3), jpeg.Prepare.Interval)
	}
	// A photograph of 12 megapixels, 5 MB, took 72 to 87 ms to decode and 18 ms to resize.
	if !at(5e6).Contains(0.09) || !(at(50e6).Point > 9*at(5e6).Point) {
		t.Errorf("5 MB cost %v, 50 MB %v", at(5e6), at(50e6))
	}
	tokens, _ := FindProfile("llm-tokens")
	model, _ := device.FindWorkload("llama-1b")
	counted := tokens.For(model)
	if counted.PrepareOf(stoker.Exactly(1)).Interval != counted.Prepare.Interval {
		t.Error("the cost of tokens goes with their bytes")
	}
}
