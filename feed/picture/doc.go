// Package picture makes the pixels of pictures that a script only described: a Program
// lists what Pillow and torchvision were asked to do with one picture, and Run gives
// their bytes. Each operation means what Pillow 13's does on x86-64, in its own
// arithmetic, single or double precision included; what is not done here to the byte
// is refused, for Pillow to do.
//
//	Parse     program.go    JSON → checked steps: mode and size are followed from op to op
//	            argument.go   what an op may be given
//	Run       worker.go     source → planes → step by step → bytes
//	            geometry.go   crop, resize, flip, expand: folded, by feed/transform
//	            convert.go, hsv.go, enhance.go, table.go, filter.go, warp.go
//	            tensor.go     planes → pixels or a tensor
//
// It knows no file, no batch and no chance: numbers were drawn where the script runs.
// Files are decoded by feed/decode, resized by feed/transform; feed/serve calls it.
package picture
