package idle

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/kernels.tsv")

// The kernels of public traces, as far as 200 letters: what each computes, whether on Tensor
// Cores, and its name. Look at the difference line by line before -update.
func TestKernelsOfPublicTraces(t *testing.T) {
	const file = "testdata/kernels.tsv"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	n := 0
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		name := fields[len(fields)-1]
		fmt.Fprintf(&got, "%s\t%s\t%s\n", FamilyOf(name), [...]string{"-", "tensor", "plain"}[CoresOf(name)], name)
		if want := strings.TrimSuffix(line, "\n"); !*update && !strings.HasSuffix(strings.TrimSuffix(got.String(), "\n"), want) {
			t.Errorf("%s is %s, want %s", name, FamilyOf(name), fields[0])
		}
		n++
	}
	if n < 400 {
		t.Errorf("%d names: the list was cut off", n)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A word is no part of another one, and a library's name no kernel's.
func TestWordsOfKernels(t *testing.T) {
	for name, want := range map[string]Family{
		"loop_convert_fusion_3": Fused,
		"wrapped_convert":       Elementwise,
		"input_reduce_fusion_7": Reduction,
		"void fbgemm_gpu::permute_2D_data_kernel<true, long, float, float>(int, int)":              Moving,
		"void fbgemm_gpu::bounds_check_indices_kernel<long>(x)":                                    Moving,
		"split_embedding_nobag_codegen_forward_unweighted_small_kernel":                            Moving,
		"std::enable_if<vllm::_typeConvert<c10::BFloat16>::exists>::type vllm::fused_add_rms_norm": Fused,
		"volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_exp_small_nhwc_tn_v1":                         Convolution,
		"volta_scudnn_128x64_relu_interior_nn_v1":                                                  Convolution,
		"void implicit_convolve_sgemm<float, float, 128, 5, 5>":                                    Convolution,
		"miopenSp3AsmConv_v21_1_2_gfx9_fp32_stride1":                                               Convolution,
		"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn":                              Matmul,
		"void gemv2T_kernel_val<int, int, float>":                                                  Matmul,
		"Cijk_Ailk_Bljk_SB_MT128x128x16_MI32x32":                                                   Matmul,
		"void splitKreduce_kernel<32, 16, int, float>":                                             Matmul,
		"fbgemm::f8f8bf16_rowwise_gemm_kernel":                                                     Matmul,
		"void flash_fwd_splitkv_kernel<x>":                                                         Attention,
		"void vllm::reshape_and_cache_flash_kernel<x>":                                             Moving,
		"nchwToNhwcKernel":              Moving,
		"CatArrayBatchedCopy_aligned16": Moving,
		"LeakyReluBackward":             Elementwise,
		"my_kernel":                     Other,
	} {
		if got := FamilyOf(name); got != want {
			t.Errorf("%s is %s, want %s (%s)", name, got, want, wordsOf(name))
		}
	}
}

// Attention, batch norms of inference and experts' products for few tokens are known by their names.
func TestKernelsThatWereTakenForOthers(t *testing.T) {
	if f := FamilyOf("sage_fwd"); f != Attention {
		t.Errorf("sage_fwd is %s", f)
	}
	const norm = "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float, cudnnTensorStruct)"
	if f := FamilyOf(norm); f != Elementwise || !ScalesChannels(norm) {
		t.Errorf("a batch norm of inference is %s", f)
	}
	if !MultipliesVector("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x128x1_swiglu") || MultipliesVector("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x64x1") {
		t.Error("a product for few tokens waits for memory, one for many does not")
	}
}
