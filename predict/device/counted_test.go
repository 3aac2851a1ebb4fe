package device

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

// Published rates of networks that are counted, of a repository that nothing was learnt from, lie
// within the interval.
func TestCountedNetworksArePublished(t *testing.T) {
	file, err := os.Open("testdata/pairs.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	judged, inside := 0, 0
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = cells[i]
		}
		w, known := FindWorkload(row["workload"])
		if row["workload"] == "resnet50" || w.Family != ConvNet || !known {
			continue
		}
		gpu, _ := hardware.FindGPU(row["gpu"])
		l := Load{Workload: w, GPU: gpu, Precision: hardware.Precision(row["precision"]), Software: Software(row["software"])}
		curve, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		batch, _ := strconv.ParseFloat(row["batch"], 64)
		rate, _ := strconv.ParseFloat(row["rate"], 64)
		at := curve.At(batch)
		t.Logf("%s %s batch %v: %v, published %.4g s", w.Name, gpu.Name, batch, at, batch/rate)
		judged++
		if at.Contains(batch / rate) {
			inside++
		}
	}
	if judged < 20 || inside < judged*8/10 {
		t.Errorf("%d of %d published rates are inside", inside, judged)
	}
}

// Names are found as people write them.
func TestCountedNetworksAreFound(t *testing.T) {
	for _, name := range []string{"resnet152", "ResNet-152", "vgg16", "efficientnet-b0", "swin_b", "convnext-tiny"} {
		w, known := FindWorkload(name)
		if !known || !(w.Forward.Value > 1e8) || !(w.Params.Value > 1e6) || !(w.Layers > 5) {
			t.Errorf("%s: %+v, %v", name, w, known)
		}
	}
	if n := len(Counted()); n < 75 {
		t.Errorf("%d networks", n)
	}
}
