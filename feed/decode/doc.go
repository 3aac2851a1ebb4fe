// Package decode turns the bytes of an image file into planes of samples, for the part that a
// crop needs. It decodes JPEGs without cgo to the same bytes as libjpeg-turbo (accurate integer
// IDCT, as with AVX2 or NEON), and so as Pillow. It also decodes the usual kinds of PNG. Go's
// library decodes the others, after a check of their limits.
//
//	ReadHeader  sniff.go              which format
//	            header.go             markers up to the first scan: size, tables, components
//	Decode      layout.go             the MCUs that the part needs, and their planes
//	            baseline.go           files of one scan:       restart interval by interval,
//	              bits.go               removes stuffing
//	              marks.go              where rows begin, for files that were decoded before
//	              huffman.go            tables: several symbols by one lookup
//	              scan.go               blocks of an MCU: bits → coefficients, or skipped
//	              idct/                 two blocks at once: coefficients → samples of the planes
//	            coefficients.go       files of several scans:  coefficients of the whole image,
//	              progressive.go        scan by scan, then idct for the part
//	              cmyk.go               four components → RGB
//	            library.go            PNGs; png.go, chunks.go where Pillow differs from Go's library
//	              plainpng.go           the usual PNGs: inflate/, then unfilter/
//	            refusal.go            refused files, and why: limits, kinds of bad samples
//	planes/     upsample.go, colour.go  planes → rows of red, green, blue, on request
//
// Assembly (scan_amd64.s, kernels of idct, planes and unfilter) is chosen by the processor's
// features. The Go code next to it gives the same bytes, and is the reference in the tests.
//
// Terms of the JPEG standard (ITU-T T.81), as used here:
//
//   - A component is a channel (Y, Cb, Cr) with its own plane. Sampling factors h x v give
//     its number of samples relative to the others: 2x2, 1x1, 1x1 is 4:2:0, chroma of half
//     the width and height.
//   - A block is 8x8 samples. The file holds 64 coefficients of their cosine transform (DCT):
//     first the DC, their mean, as the difference from the block before; then the AC, in
//     zigzag order from coarse to fine. Each is a Huffman symbol (the run of zeros before it,
//     and the size of its value in bits) followed by the value. EOB says that the rest is zero.
//   - An MCU (minimum coded unit) is the blocks of all components for one patch of the
//     image: four of Y, one of Cb, one of Cr for 16x16 pixels of 4:2:0.
//   - A scan is the entropy-coded data after an SOS marker: all MCUs (baseline), or only some
//     components, coefficients or bits (progressive).
//   - Markers are 0xff and a byte: SOI and EOI begin and end the image, SOF is the frame
//     header with the size, DHT and DQT define Huffman and quantisation tables, RST0 to 7
//     separate restart intervals, each of which begins with DC 0. A data byte 0xff is
//     followed by a stuffed 0.
package decode
