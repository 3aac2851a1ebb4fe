package predict_test

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
)

// images is a job on one A100 whose step time was measured.
func images() predict.Setup {
	link, _ := hardware.FindLink("pcie4")
	return predict.Setup{
		Batch: 256, Step: stoker.Exactly(0.1),
		Sample: stoker.Exactly(110e3), Decoded: stoker.Exactly(3 * 224 * 224),
		Workers: 4, Cores: 16, PrepareCPU: stoker.Interval{Low: 1.2e-3, Point: 2e-3, High: 2.8e-3},
		Storage: stoker.Exactly(6.5e9), Link: link, Pinned: true,
	}
}

func ExampleSetup_Solve() {
	answer, err := images().Solve()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("step %.0f ms (%.0f to %.0f), the device computes %.0f %% of it\n",
		1e3*answer.Step.Point, 1e3*answer.Step.Low, 1e3*answer.Step.High, 100*answer.Utilization.Point)
	fmt.Printf("the limit: %s by %s; then %s, %.2fx faster\n", answer.Bound.Stage, answer.Bound.Resource,
		answer.Next.Resource, answer.Gain.Point)
	fmt.Println(answer.Wrong[0])
	// Output:
	// step 146 ms (100 to 226), the device computes 69 % of it
	// the limit: prepare by workers; then gpu, 1.46x faster
	// preparing a sample would have to take less than 1.3 ms instead of 1.2 ms to 2.8 ms before something else becomes the limit, the estimate allows that: measure this first
}

func ExampleSetup_Size() {
	sizing, err := images().Size(0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, need := range sizing.Changes {
		fmt.Printf("%s: %v to %.0f (%.0f to %.0f) %s\n", need.Input, need.From, need.To.Point, need.To.Low,
			need.To.High, need.Unit)
	}
	// Output:
	// workers: 4 to 6 (4 to 9) per GPU
}

func ExampleSweep() {
	axis, err := predict.ParseAxis("workers", "1..16")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = predict.Sweep(images(), []predict.Axis{axis}, func(p predict.Point) {
		fmt.Printf("%.0f workers: %.0f images/s, %s\n", p.X, p.Throughput.Point, p.Bound)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 workers: 452 images/s, workers
	// 2 workers: 878 images/s, workers
	// 4 workers: 1756 images/s, workers
	// 8 workers: 2560 images/s, gpu
	// 16 workers: 2560 images/s, gpu
}
