package predict

import "github.com/stoker-dev/stoker"

// FeedCost returns what stoker's loader takes of the core time that PyTorch's
// DataLoader takes with torchvision and Pillow for the same batches. Measured
// 2026-11-21 on 2 cores AMD EPYC (AVX2), torch 2.15, Pillow 13, 1,500 JPEGs of
// examples/imagefolder, RandomResizedCrop 224, flip, normalise, core time of all
// processes, in turn, other work running: 0.22 to 0.27 of num_workers=0 (n = 9
// pairs), 0.18 to 0.20 of num_workers=2, whose workers also hand over (n = 5). [J]
// The high end is for processors without AVX2 and cheaper transforms.
func FeedCost() stoker.Interval { return stoker.Interval{Low: 0.17, Point: 0.25, High: 0.36} }

// DeferredCost returns the rest of the core time of an unchanged script's work on pixels
// where stoker feed does it. Measured 2026-11-22 on a busy machine (bench/loader/RESULTS.md),
// the script's own Python included: 0.26 to 0.36. [J] The high end is for processors
// without AVX2 and cheaper work.
func DeferredCost() stoker.Interval { return stoker.Interval{Low: 0.2, Point: 0.28, High: 0.45} }

// PixelsCost returns what preparing an image costs if it was decoded and stored once, as
// pixels, over the cost with decoding: the crop, the flip and the rest stay.
// Measured 2026-11-22 on 2 cores AMD EPYC, Pillow 13, torchvision 0.29, 300 JPEGs of
// 500 x 375 (examples/imagefolder), RandomResizedCrop 224, flip, normalise, core time of
// one thread: 0.34 to 0.45 (n = 3). [J] The high end is for reading several times the
// bytes and for transforms that cost more.
func PixelsCost() stoker.Interval { return stoker.Interval{Low: 0.3, Point: 0.43, High: 0.65} }

// DeviceDecodeCost returns the core time of an image that remains if the device decodes and
// transforms it: reading and passing on compressed bytes. [J]
func DeviceDecodeCost() stoker.Interval { return stoker.Interval{Low: 0.05, Point: 0.1, High: 0.3} }
