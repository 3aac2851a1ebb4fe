package picture

import "github.com/stoker-dev/stoker/feed/transform"

func init() {
	operations = map[string]operation{
		"convert":     {1, 1, false, compileConvert},
		"crop":        {4, 4, false, compileCrop},
		"expand":      {5, 5, false, compileExpand},
		"pad":         {5, 5, false, compilePad},
		"resize":      {3, 5, false, compileResize},
		"reduce":      {2, 3, false, compileReduce},
		"transpose":   {1, 1, false, compileTranspose},
		"affine":      {4, 5, false, compileWarp(affine)},
		"perspective": {4, 5, false, compileWarp(perspective)},
		"quad":        {4, 5, false, compileWarp(quad)},

		"point":        {1, 1, false, compilePoint},
		"posterize":    {1, 1, false, compileTable(posterize)},
		"solarize":     {1, 1, false, compileTable(solarize)},
		"invert":       {0, 0, false, compileTable(invert)},
		"autocontrast": {0, 2, false, compileAutocontrast},
		"equalize":     {0, 0, false, compileEqualize},
		"grayscale":    {1, 1, false, compileGrayscale},
		"hue":          {1, 1, false, compileHue},

		"brightness":    {1, 1, false, compileBrightness},
		"color":         {1, 1, false, compileColor},
		"contrast":      {1, 1, false, compileContrast},
		"sharpness":     {1, 1, false, compileSharpness},
		"gaussian_blur": {2, 2, false, compileBlur(gaussianRadius, passes)},
		"box_blur":      {2, 2, false, compileBlur(boxRadius, 1)},

		"torch_bilinear":   {2, 2, false, compileTorchResize(transform.TorchBilinear)},
		"torch_bicubic":    {2, 2, false, compileTorchResize(transform.TorchBicubic)},
		"torch_grayscale":  {1, 1, false, compileTorchGrayscale},
		"torch_saturation": {1, 1, false, compileTorchSaturation},
		"torch_contrast":   {1, 1, false, compileTorchContrast},
		"torch_hue":        {1, 1, false, compileTorchHue},
		"torch_channels":   {1, 1, false, compileTorchChannels},

		"tobytes":       {0, 0, false, compileEnd("uint8", false)},
		"asarray":       {0, 0, false, compileEnd("uint8", false)},
		"pil_to_tensor": {0, 0, false, compileEnd("uint8", true)},
		"tensor":        {0, 0, false, compileEnd("float32", true)},

		"to":        {1, 1, true, compileTo},
		"add":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v + by })},
		"sub":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v - by })},
		"mul":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v * by })},
		"div":       {1, 1, true, compileArithmetic(func(v, by float32) float32 { return v / by })},
		"normalize": {2, 2, true, compileNormalize},
		"erase":     {5, 5, true, compileErase},
	}
}
