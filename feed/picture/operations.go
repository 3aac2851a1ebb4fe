package picture

import "github.com/stoker-dev/stoker/feed/transform"

// The table of operations. A row has the least and most arguments, whether the operation works on
// a tensor, its compile function, and the functions of Pillow and torchvision that the client
// records as this operation. An operation without such functions ends a program, or only the chains
// of testdata/chains.py use it.
//
// `make golden` writes the list of functions in docs/loader.md, and diagnose/live/recorded.txt, by
// which diagnose recognises work that stoker feed does. TestOperationsAreRecordedAndTried names
// what the Python client lacks.
func init() {
	operations = map[string]operation{
		"convert":     {1, 1, false, compileConvert, "Image.convert"},
		"crop":        {4, 4, false, compileCrop, "Image.crop ImageOps.fit"},
		"expand":      {5, 5, false, compileExpand, "ImageOps.expand ImageOps.pad"},
		"pad":         {5, 5, false, compilePad, "v1.pad"},
		"resize":      {3, 5, false, compileResize, "Image.resize Image.thumbnail"},
		"reduce":      {2, 3, false, compileReduce, "Image.reduce"},
		"transpose":   {1, 1, false, compileTranspose, "Image.transpose ImageOps.flip ImageOps.mirror ImageOps.exif_transpose"},
		"affine":      {4, 5, false, compileWarp(affine), "Image.transform Image.rotate"},
		"perspective": {4, 5, false, compileWarp(perspective), "Image.transform"},
		"quad":        {4, 5, false, compileWarp(quad), ""},

		"point":        {1, 1, false, compilePoint, "Image.point"},
		"posterize":    {1, 1, false, compileTable(posterize), "ImageOps.posterize"},
		"solarize":     {1, 1, false, compileTable(solarize), "ImageOps.solarize"},
		"invert":       {0, 0, false, compileTable(invert), "ImageOps.invert"},
		"autocontrast": {0, 2, false, compileAutocontrast, "ImageOps.autocontrast"},
		"equalize":     {0, 0, false, compileEqualize, "ImageOps.equalize"},
		"grayscale":    {1, 1, false, compileGrayscale, ""},
		"hue":          {1, 1, false, compileHue, "v1.adjust_hue"},

		"brightness":    {1, 1, false, compileBrightness, "ImageEnhance.enhance"},
		"color":         {1, 1, false, compileColor, "ImageEnhance.enhance"},
		"contrast":      {1, 1, false, compileContrast, "ImageEnhance.enhance"},
		"sharpness":     {1, 1, false, compileSharpness, "ImageEnhance.enhance"},
		"gaussian_blur": {2, 2, false, compileBlur(gaussianRadius, passes), "Image.filter"},
		"box_blur":      {2, 2, false, compileBlur(boxRadius, 1), ""},

		"torch_bilinear":   {2, 2, false, compileTorchResize(transform.TorchBilinear), "v2.resize_image"},
		"torch_bicubic":    {2, 2, false, compileTorchResize(transform.TorchBicubic), "v2.resize_image"},
		"torch_grayscale":  {1, 1, false, compileTorchGrayscale, "color.rgb_to_grayscale_image"},
		"torch_saturation": {1, 1, false, compileTorchSaturation, "color.adjust_saturation_image"},
		"torch_contrast":   {1, 1, false, compileTorchContrast, "color.adjust_contrast_image"},
		"torch_hue":        {1, 1, false, compileTorchHue, "color.adjust_hue_image"},
		"torch_channels":   {1, 1, false, compileTorchChannels, "color.permute_channels_image"},

		"tobytes":       {0, 0, false, compileEnd("uint8", false), ""},
		"asarray":       {0, 0, false, compileEnd("uint8", false), ""},
		"pil_to_tensor": {0, 0, false, compileEnd("uint8", true), ""},
		"tensor":        {0, 0, false, compileEnd("float32", true), ""},

		"to":        {1, 1, true, compileTo, ""},
		"add":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v + by }), ""},
		"sub":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v - by }), ""},
		"mul":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v * by }), ""},
		"div":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v / by }), ""},
		"normalize": {2, 2, true, compileNormalize, ""},
		"erase":     {5, 5, true, compileErase, ""},
	}
}
