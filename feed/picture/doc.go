// Package picture makes the pixels of pictures that a script only described: a Program
// lists what Pillow and torchvision were asked to do with one picture, and Run gives
// their bytes. Each operation means what Pillow's does on x86-64, in its own
// arithmetic, single or double precision included; what is not done here to the byte
// is refused, for Pillow to do.
//
//	Parse     program.go    JSON → checked steps: mode and size are followed from op to op
//	            operations.go the table of ops, argument.go what they may be given
//	Run       worker.go     source → planes → step by step → bytes
//	            geometry.go   crop, resize, flip, expand: folded, by feed/transform
//	            convert.go, hsv.go, enhance.go, table.go, filter.go, warp.go
//	            torch.go      what torchvision does to tensors of bytes
//	            tensor.go     planes → pixels or a tensor
//
// A program is {"mode": "RGB", "size": [width, height], "ops": [[name, arguments…], …]}.
// Resizes follow Pillow 13, or with "pillow": 12 what all versions before it do.
// The ops, with null for Python's None:
//
//	convert mode                                 Image.convert, to "1" with dithering
//	crop l t r b                                 Image.crop, rounded already
//	resize w h filter box|null gap|null          Image.resize; filters by their numbers
//	reduce x y box|null                          Image.reduce
//	transpose method                             Image.transpose
//	expand l t r b [fill]                        ImageOps.expand
//	pad "edge"|"reflect"|"symmetric" l t r b     numpy.pad, as torchvision calls it
//	affine w h [6] filter [fill]|null            Image.transform; rotate ends in it as well
//	perspective, quad w h [8] filter [fill]|null quad: the numbers that Pillow's Python makes
//	point [256 per band]                         Image.point
//	posterize bits, solarize threshold, invert, equalize, autocontrast [low high]
//	brightness, color, contrast, sharpness factor
//	gaussian_blur, box_blur x y                  Image.filter
//	grayscale 1|3, hue shift                     torchvision's; shift is the byte that NumPy adds
//	torch_bilinear, torch_bicubic w h            torch's resizes of bytes, with antialias
//	torch_grayscale 1|3, torch_channels [3]      torchvision's v2 of tensors of bytes, as are
//	torch_saturation, torch_contrast, torch_hue factor
//
// and at the end, where the pixels are not to come as Image.tobytes has them:
//
//	asarray, pil_to_tensor, tensor               tensor is torchvision's to_tensor
//	to dtype; add, sub, mul, div number|[per band]; normalize [mean] [std]
//	erase top left height width number|[per band]|{"f32": base64}
//
// It knows no file, no batch and no chance: numbers were drawn where the script runs.
// Files are decoded by feed/decode, resized by feed/transform; feed/serve calls it.
package picture
