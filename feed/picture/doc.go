// Package picture computes the pixels of pictures that a script has only described. A Program
// lists what the script asks Pillow and torchvision to do with one picture, and Run returns the
// bytes that they would give. Each operation repeats the arithmetic of Pillow on x86-64, in the
// same single or double precision. What is not exact to the byte is refused, and Pillow does
// it.
//
//	Parse     program.go    JSON → checked steps: follows mode and size from op to op
//	            operations.go the table of ops, argument.go their arguments
//	Run       worker.go     source → planes → step by step → bytes
//	            geometry.go   crop, resize, flip, expand: combined, and done by feed/transform
//	            convert.go, hsv.go, enhance.go, table.go, filter.go, warp.go
//	            torch.go      torchvision's operations on tensors of bytes
//	            tensor.go     planes → pixels or a tensor
//
// A program is {"mode": "RGB", "size": [width, height], "ops": [[name, arguments…], …]}.
// Resizes follow Pillow 13, or with "pillow": 12 all versions before it. These are the ops,
// with null for Python's None:
//
//	convert mode                                 Image.convert
//	crop l t r b                                 Image.crop, with a rounded box
//	resize w h filter box|null                   Image.resize; filters by their numbers
//	reduce x y box|null                          Image.reduce
//	transpose method                             Image.transpose
//	expand l t r b [fill]                        ImageOps.expand
//	pad "edge"|"reflect"|"symmetric" l t r b     numpy.pad, as torchvision calls it
//	affine w h [6] filter [fill]|null            Image.transform; rotate becomes it too
//	perspective w h [8] filter [fill]|null       the same
//	point [256 per band]                         Image.point
//	posterize bits, solarize threshold, invert, equalize, autocontrast [low high]
//	brightness, color, contrast, sharpness factor
//	gaussian_blur x y                            Image.filter
//	hue shift                                    torchvision's; shift is the byte that NumPy adds
//	torch_bilinear, torch_bicubic w h            torch's resizes of bytes, with antialias
//	torch_grayscale 1|3, torch_channels [3]      torchvision's v2 for tensors of bytes, as are
//	torch_saturation, torch_contrast, torch_hue factor
//
// and at the end pil_to_tensor, unless the pixels should come as from Image.tobytes. Pictures have
// the modes L and RGB; files in others must be converted to RGB first.
//
// The package knows no files, no batches and no randomness: the script draws the numbers.
// Package feed/decode decodes files, feed/transform resizes, feed/serve calls this package.
package picture
