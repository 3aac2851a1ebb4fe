package hardware_test

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

func ExampleFindGPU() {
	gpu, _ := hardware.FindGPU("NVIDIA A100-SXM4-80GB") // as NVML names it; "a100-80gb-sxm" does as well
	fmt.Println(gpu.Name, quantity.FLOPRate(gpu.Peak(hardware.FP16).Value), quantity.Rate(gpu.MemoryRate.Value))
	fmt.Printf("%.0f FLOP/B\n", gpu.FP16.Value/gpu.MemoryRate.Value)
	// Output:
	// a100-80gb-sxm 312 TFLOP/s 2.039 TB/s
	// 153 FLOP/B
}

func ExampleNearest() {
	if _, found := hardware.FindGPU("h100"); !found {
		fmt.Println("did you mean", strings.Join(hardware.Nearest("h100", hardware.Known.GPUNames()), " or ")+"?")
	}
	// Output: did you mean h100-pcie or h100-sxm?
}

func ExampleParse() {
	file := `{
	  "gpus": [{
	    "name": "h100-ours", "like": "h100-sxm",
	    "price": {"value": "$1.10/h", "source": "our books, 2026-10: hardware over 4 years"}
	  }],
	  "storages": [{
	    "name": "nvme", "source": "fio on node 7, 2026-10",
	    "rate": "3.1 GB/s", "iops": "410,000", "latency": "90 us"
	  }]
	}`
	own, err := hardware.Parse("hardware.json", []byte(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	table := hardware.Known.With(own)
	gpu, _ := table.FindGPU("h100-ours")
	nvme, _ := table.FindStorage("nvme")
	fmt.Println(quantity.Price(gpu.Price.Value), quantity.FLOPRate(gpu.FP16.Value), quantity.Rate(nvme.Rate.Value))

	_, err = hardware.Parse("hardware.json", []byte(`{"storages": [{"name": "nvme", "source": "fio", "rat": "3 GB/s"}]}`))
	fmt.Println(err)
	// Output:
	// 1.1 $/h 989.4 TFLOP/s 3.1 GB/s
	// hardware.json: storages row 1 (nvme): unknown field "rat", did you mean rate?
}
