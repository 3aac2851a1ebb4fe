package predict

// Written by go test ./predict -run TestEfficiencies -fit; do not edit.
//
// Fitted to 477 rows of Measurements by least squares in logarithms with the
// priors of priorOf. Errors at groups of rows (one workload, GPU, precision,
// software and table) that were left out of fit and corrections:
//
//	all                          n = 477  median  13 %  80 % within  30 %
//	measured, training           n =  74  median   9 %  80 % within  21 %
//	measured, inference          n =  69  median   7 %  80 % within  24 %
//	alike, training              n =  88  median  12 %  80 % within  24 %
//	alike, inference             n = 229  median  16 %  80 % within  34 %
//	distant, training            n =   7  median  32 %  80 % within  36 %
//	distant, inference           n =  10  median  15 %  80 % within  18 %
//	batch up to 4, inference     n = 118  median  15 %  80 % within  34 %
//	resnet50, training           n =  40  median   9 %  80 % within  15 %
//	resnet50, inference          n =  90  median  14 %  80 % within  29 %
//	vit-b16, training            n =   6  median  27 %  80 % within  38 %
//	vit-b16, inference           n =  68  median  15 %  80 % within  38 %
//	bert-base, training          n =  18  median   9 %  80 % within  17 %
//	bert-base, inference         n =  81  median  13 %  80 % within  28 %
//	bert-large, training         n =  49  median  12 %  80 % within  26 %
//	bert-large, inference        n =  47  median  16 %  80 % within  35 %
//	gpt2, training               n =   8  median  38 %  80 % within  53 %
//	llama-1b, training           n =  10  median   3 %  80 % within  19 %
//	llama-8b, training           n =  17  median  11 %  80 % within  33 %
//	llama-8b, inference          n =  13  median  15 %  80 % within  18 %
//	unet3d, training             n =  21  median  14 %  80 % within  22 %
//	unet3d, inference            n =   9  median   8 %  80 % within  20 %
//	eager                        n =  90  median  15 %  80 % within  33 %
//	channels-last                n =  30  median  16 %  80 % within  27 %
//	compiled                     n = 235  median  10 %  80 % within  25 %
//	engine                       n = 122  median  18 %  80 % within  34 %

// efficient are the efficiencies that published steps reached.
var efficient = efficiency{
	"bandwidth/convnet":                0.446,
	"bandwidth/transformer":            0.5,
	"bandwidth/volume":                 0.46,
	"chip/ada/fp16":                    0.706,
	"chip/ada/tf32":                    0.825,
	"chip/ampere-graphics/fp16":        0.923,
	"chip/ampere-graphics/int8":        1.01,
	"chip/ampere-graphics/tf32":        0.99,
	"chip/ampere/fp16":                 1.04,
	"chip/ampere/fp32":                 1.01,
	"chip/ampere/int8":                 0.898,
	"chip/ampere/tf32":                 1.11,
	"chip/blackwell/fp8":               1.05,
	"chip/blackwell/tf32":              1.27,
	"chip/hopper/fp16":                 1.01,
	"chip/hopper/fp8":                  1.06,
	"chip/hopper/int8":                 0.673,
	"chip/hopper/tf32":                 1.02,
	"chip/turing/fp16":                 1.61,
	"chip/turing/fp32":                 1.3,
	"chip/turing/int8":                 1.18,
	"chip/volta/fp16":                  1.15,
	"chip/volta/fp32":                  0.881,
	"class/convnet/channels-last":      1.13,
	"class/convnet/compiled":           0.979,
	"class/convnet/eager":              1.47,
	"class/convnet/engine":             0.596,
	"class/transformer/channels-last":  1.08,
	"class/transformer/compiled":       1.19,
	"class/transformer/eager":          1.28,
	"class/transformer/engine":         0.889,
	"class/volume/channels-last":       1.07,
	"class/volume/compiled":            1.2,
	"class/volume/eager":               1.34,
	"launch/convnet/channels-last":     0.000229,
	"launch/convnet/compiled":          9.74e-05,
	"launch/convnet/eager":             0.000124,
	"launch/convnet/engine":            1.63e-05,
	"launch/transformer/channels-last": 0.00035,
	"launch/transformer/compiled":      0.000374,
	"launch/transformer/eager":         0.000681,
	"launch/transformer/engine":        0.000126,
	"launch/volume/channels-last":      0.0001,
	"launch/volume/compiled":           0.0001,
	"launch/volume/eager":              0.0001,
	"network/bert-base":                1.22,
	"network/bert-large":               1.22,
	"network/gpt2":                     0.784,
	"network/llama-1b":                 0.842,
	"network/llama-8b":                 0.954,
	"network/resnet50":                 0.998,
	"network/unet3d":                   1.05,
	"network/vit-b16":                  1.11,
	"pass/convnet/inference":           0.973,
	"pass/convnet/training":            1,
	"pass/transformer/inference":       1.12,
	"pass/transformer/training":        1.31,
	"pass/volume/inference":            1.36,
	"pass/volume/training":             1.26,
	"peak/convnet":                     0.832,
	"peak/transformer":                 0.964,
	"peak/volume":                      0.584,
	"scores/channels-last":             0.946,
	"scores/compiled":                  0.639,
	"scores/eager":                     2.48,
	"scores/engine":                    1.19,
	"start/convnet":                    1.57e-05,
	"start/transformer":                4.99e-05,
	"start/volume":                     1.6e-05,
}

// widths hold 85 % of the errors above.
var widths = map[level]map[training]width{
	exact: {
		false: {launch: 0.54, device: 0.17}, // inference
		true:  {launch: 0.41, device: 0.24}, // training
	},
	alike: {
		false: {launch: 0.54, device: 0.42}, // inference
		true:  {launch: 0.41, device: 0.29}, // training
	},
	distant: {
		false: {launch: 0.54, device: 0.42}, // inference
		true:  {launch: 0.41, device: 0.42}, // training
	},
}
