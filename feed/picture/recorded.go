package picture

// recorded are the functions of libraries that the client records, by the operation that each
// becomes: a library's file and function. It is the table behind four others, and a test names
// what one of them lacks (TestOperationsAreTriedAndTold): the recorders and the trials at start-up
// of python/stoker/deferred, the table of docs/loader.md, and the list in diagnose/live/pixels.go.
//
// An operation of operations.go that is not here ends a program, or no recorder asks for it: the
// chains of testdata/chains.py alone do.
var recorded = map[string][]string{
	"convert": {"PIL/Image.py convert"},
	"crop":    {"PIL/Image.py crop", "PIL/ImageOps.py fit"},
	"resize":  {"PIL/Image.py resize", "PIL/Image.py thumbnail"},
	"reduce":  {"PIL/Image.py reduce"},
	"transpose": {
		"PIL/Image.py transpose", "PIL/ImageOps.py flip", "PIL/ImageOps.py mirror", "PIL/ImageOps.py exif_transpose",
	},
	"affine":      {"PIL/Image.py transform", "PIL/Image.py rotate"},
	"perspective": {"PIL/Image.py transform"},
	"point":       {"PIL/Image.py point"},

	"expand":       {"PIL/ImageOps.py expand", "PIL/ImageOps.py pad"},
	"pad":          {"torchvision/transforms/_functional_pil.py pad"},
	"autocontrast": {"PIL/ImageOps.py autocontrast"},
	"equalize":     {"PIL/ImageOps.py equalize"},
	"posterize":    {"PIL/ImageOps.py posterize"},
	"solarize":     {"PIL/ImageOps.py solarize"},
	"invert":       {"PIL/ImageOps.py invert"},

	"brightness":    {"PIL/ImageEnhance.py enhance"},
	"color":         {"PIL/ImageEnhance.py enhance"},
	"contrast":      {"PIL/ImageEnhance.py enhance"},
	"sharpness":     {"PIL/ImageEnhance.py enhance"},
	"gaussian_blur": {"PIL/Image.py filter"},
	"hue":           {"torchvision/transforms/_functional_pil.py adjust_hue"},

	"torch_bilinear":   {"torchvision/transforms/v2/functional/ resize_image"},
	"torch_bicubic":    {"torchvision/transforms/v2/functional/ resize_image"},
	"torch_saturation": {"torchvision/transforms/v2/functional/_color.py adjust_saturation_image"},
	"torch_contrast":   {"torchvision/transforms/v2/functional/_color.py adjust_contrast_image"},
	"torch_hue":        {"torchvision/transforms/v2/functional/_color.py adjust_hue_image"},
	"torch_grayscale":  {"torchvision/transforms/v2/functional/_color.py rgb_to_grayscale_image"},
	"torch_channels":   {"torchvision/transforms/v2/functional/_color.py permute_channels_image"},
}
