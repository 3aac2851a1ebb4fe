package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Advice on collectives names neither what the file shows to be done nor what so few of them gain nothing by.
func TestExchangesHearWhatFits(t *testing.T) {
	for _, c := range []struct {
		few, half bool
		absent    []string
		present   []string
	}{
		{false, false, nil, []string{"larger buckets", "bf16"}},
		{true, false, []string{"larger buckets"}, []string{"bf16"}},
		{false, true, []string{"bf16"}, []string{"larger buckets"}},
		{true, true, []string{"bf16", "larger buckets", ", ,"}, []string{"gradient accumulation, or ranks"}},
	} {
		v := diagnose.Verdict{
			Class: diagnose.NetworkBound, Device: -1, Grounds: diagnose.Grounds{FewSends: c.few, HalfSends: c.half},
		}
		for _, word := range c.absent {
			if strings.Contains(v.Do(), word) {
				t.Errorf("%+v: %q in %s", c, word, v.Do())
			}
		}
		for _, word := range c.present {
			if !strings.Contains(v.Do(), word) {
				t.Errorf("%+v: no %q in %s", c, word, v.Do())
			}
		}
	}
	for name, want := range map[string][2]bool{
		"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": {true, true},
		"ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)":                            {true, true},
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)":                          {false, true},
		"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)":              {false, false},
	} {
		if half, told := recording.SendsHalf(name); half != want[0] || told != want[1] {
			t.Errorf("%s: half %t, told %t", name, half, told)
		}
	}
}

// A program that gathers weights itself hears nothing of settings of FSDP.
func TestFSDPIsNamedWhereItIs(t *testing.T) {
	for _, sharded := range []bool{true, false} {
		g := diagnose.Grounds{
			Program: diagnose.Training, OwnReduce: true, Exchange: recording.Weights, Sharded: sharded,
		}
		if got := strings.Contains(g.ExchangeAdvice(), "FSDP"); got != sharded {
			t.Errorf("sharded %t: %s", sharded, g.ExchangeAdvice())
		}
	}
	for name, want := range map[string]bool{
		"FullyShardedDataParallel.forward": true, "torch/distributed/fsdp/_runtime_utils.py(1): unshard": true,
		"ncclDevKernel_AllGather_RING_LL": false, "Optimizer.step#NorMuon.step": false,
	} {
		if recording.ShardsWeights(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
