package picture

import "github.com/stoker-dev/stoker/feed/transform"

// The table of operations. A row has the least and most arguments, its compile function, and the
// functions of Pillow and torchvision that the client records as this operation. An operation
// without such functions ends a program, or only the chains of testdata/chains.py use it.
//
// `make golden` writes the list of functions in docs/loader.md, and diagnose/live/recorded.txt, by
// which diagnose recognises work that stoker feed does. TestOperationsAreRecordedAndTried names
// what the Python client lacks.
func init() {
	operations = map[string]operation{
		"convert":     {1, 1, compileConvert, "Image.convert"},
		"crop":        {4, 4, compileCrop, "Image.crop ImageOps.fit"},
		"expand":      {5, 5, compileExpand, "ImageOps.expand ImageOps.pad"},
		"pad":         {5, 5, compilePad, "v1.pad"},
		"resize":      {3, 4, compileResize, "Image.resize Image.thumbnail"},
		"reduce":      {2, 3, compileReduce, "Image.reduce"},
		"transpose":   {1, 1, compileTranspose, "Image.transpose ImageOps.flip ImageOps.mirror ImageOps.exif_transpose"},
		"affine":      {4, 5, compileWarp(affine), "Image.transform Image.rotate"},
		"perspective": {4, 5, compileWarp(perspective), "Image.transform"},

		"point":        {1, 1, compilePoint, "Image.point"},
		"posterize":    {1, 1, compileTable(posterize), "ImageOps.posterize"},
		"solarize":     {1, 1, compileTable(solarize), "ImageOps.solarize"},
		"invert":       {0, 0, compileTable(invert), "ImageOps.invert"},
		"autocontrast": {0, 2, compileAutocontrast, "ImageOps.autocontrast"},
		"equalize":     {0, 0, compileEqualize, "ImageOps.equalize"},
		"hue":          {1, 1, compileHue, "v1.adjust_hue"},

		"brightness":    {1, 1, compileBrightness, "ImageEnhance.enhance"},
		"color":         {1, 1, compileColor, "ImageEnhance.enhance"},
		"contrast":      {1, 1, compileContrast, "ImageEnhance.enhance"},
		"sharpness":     {1, 1, compileSharpness, "ImageEnhance.enhance"},
		"gaussian_blur": {2, 2, compileBlur, "Image.filter"},

		"torch_bilinear":   {2, 2, compileTorchResize(transform.TorchBilinear), "v2.resize_image"},
		"torch_bicubic":    {2, 2, compileTorchResize(transform.TorchBicubic), "v2.resize_image"},
		"torch_grayscale":  {1, 1, compileTorchGrayscale, "color.rgb_to_grayscale_image"},
		"torch_saturation": {1, 1, compileTorchSaturation, "color.adjust_saturation_image"},
		"torch_contrast":   {1, 1, compileTorchContrast, "color.adjust_contrast_image"},
		"torch_hue":        {1, 1, compileTorchHue, "color.adjust_hue_image"},
		"torch_channels":   {1, 1, compileTorchChannels, "color.permute_channels_image"},

		"tobytes":       {0, 0, compileEnd(false), ""},
		"pil_to_tensor": {0, 0, compileEnd(true), ""},
	}
}
