// Package decode turns the bytes of an image file into planes of samples: of the
// part that a crop needs, and not more. JPEG is decoded here, without cgo, to the
// bytes that libjpeg-turbo gives (accurate integer IDCT, as with AVX2 or NEON) and
// so Pillow, and so are PNGs as most are written. Other PNGs, WebP, BMP and GIF come from
// libraries, with caps in front.
//
//	ReadHeader  sniff.go              which format
//	            header.go             markers up to the first scan: size, tables, components
//	Decode      layout.go             the MCUs that the part needs, planes for them
//	            baseline.go           one scan holds all:      restart interval by interval,
//	              bits.go               stuffing removed
//	              marks.go              where rows begin, of files that were decoded before
//	              huffman.go            tables: several symbols by one lookup
//	              scan.go               blocks of an MCU: bits → coefficients, or bits → nothing
//	              idct/                 two blocks at once: coefficients → samples of the planes
//	            coefficients.go       several scans:           coefficients of the whole image,
//	              progressive.go        scan by scan, then idct for the part
//	              cmyk.go               four components become RGB
//	            library.go            what libraries decode; png.go, gif.go, webp.go: where Pillow differs from them
//	              plainpng.go           PNGs as most are written: inflate/, then unfilter/
//	            refusal.go            what is refused, and why: limits, kinds of bad samples
//	planes/     upsample.go, colour.go  planes → rows of red, green, blue, when asked for
//
// What runs in assembly (scan_amd64.s, kernels of idct, planes and unfilter) is chosen by the
// processor's features; the Go beside it gives the same bytes, and is the reference
// in the tests.
//
// Words of the JPEG standard (ITU-T T.81), as they are used here:
//
//   - A component is a channel (Y, Cb, Cr) with a plane of its own. Sampling factors
//     h x v say how many samples it has where another one has others: 2x2, 1x1, 1x1 is
//     4:2:0, chroma of half the width and height.
//   - A block is 8x8 samples, in the file 64 coefficients of their cosine transform
//     (DCT): first the DC, their mean, as the difference from the block before; then the AC,
//     zigzag from coarse to fine, each a Huffman symbol (zeros before it: the run; bits
//     of its value: the size) and the value. EOB says that the rest is zero.
//   - An MCU (minimum coded unit) is the blocks of all components for one patch of the
//     image: four of Y, one of Cb, one of Cr for 16x16 pixels of 4:2:0.
//   - A scan is entropy-coded data behind an SOS marker: all MCUs (baseline), or part
//     of the components, coefficients or bits (progressive).
//   - Markers are 0xff and a byte: SOI and EOI begin and end the image, SOF is the frame
//     header with the size, DHT and DQT bring Huffman and quantisation tables, RST0 to 7
//     stand between restart intervals, whose DC begins anew. A data byte 0xff is
//     followed by a stuffed 0.
package decode
