package predict

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/spelling"
	"github.com/stoker-dev/stoker/predict/device"
)

// Amount is a quantity that is known between two ends, with its source.
type Amount struct {
	stoker.Interval
	Source string // data sheet, paper or measurement, with date; "prior: …" if it is an assumption
}

// Access is the layout of samples in storage.
type Access string

// The layouts of samples in storage.
const (
	Files      Access = "files"      // one file per sample: opened, read and closed one by one, in shuffled order
	Sequential Access = "sequential" // shards or one large file, read in long pieces
	NoStorage  Access = "none"       // samples are computed, not read
)

// Profile is what a data set usually costs per sample. Forecasts use it for what was not
// measured, and the user's own figures replace it.
type Profile struct {
	Name    string // our key: "imagenet-jpeg"
	Title   string
	Aliases []string
	Sample  string // what one sample is
	Access  Access

	// PerToken says that the amounts below are for one token. For converts them to a sample.
	PerToken bool
	counted  bool // its cost is by the token, of a sample with so many

	Stored  Amount // bytes of one sample in storage
	Decoded Amount // bytes of one sample as it is copied to the device
	Prepare Amount // seconds of one CPU core to prepare one sample
	// Transforms is the part of Prepare other than decoding a JPEG; not set for samples that
	// are not JPEGs.
	Transforms stoker.Interval
	// Spread is the coefficient of variation of a sample's stored bytes. Prepare varies as
	// much.
	Spread Amount
}

const (
	imread = "github.com/ternaus/imread_benchmark, 2026: 360 images/s (Pillow, Neoverse N1) to 864 images/s " +
		"(torchvision, Zen 5), one core"
	transforms = "crop, resize, ToTensor and Normalize measured 2026-11-21, 1 core of an EPYC: 1.04 ms with " +
		"Pillow, about 0.3 ms on tensors"
	ours = "measured 2026-11-21, 1 core of an AMD EPYC virtual machine"
)

// Profiles are the known kinds of data.
var Profiles = []Profile{
	{
		Name: "imagenet-jpeg", Title: "ImageNet JPEG",
		Aliases: []string{"imagenet", "jpeg", "images", "imagenet-1k", "ilsvrc2012"},
		Sample:  "one JPEG file, 224x224 pixels after a random crop", Access: Files,
		Stored: Amount{
			stoker.Interval{Low: 110e3, Point: 114660, High: 115440},
			"mean record of MLPerf Storage v2.0 (DLIO, resnet50 workload): 114,660 B; above: the 147.9 GB archive " +
				"of 1,281,167 files with its headers; below: the rounded figure in common use",
		},
		Decoded: Amount{
			stoker.Interval{Low: 3 * 224 * 224, Point: 4 * 3 * 224 * 224, High: 4 * 3 * 224 * 224},
			"derived: 3x224x224 numbers, float32 after ToTensor; bytes where they are normalised on the GPU",
		},
		Prepare: Amount{
			stoker.Interval{Low: 1.5e-3, Point: 2.8e-3, High: 3.8e-3},
			"decode: " + imread + "; " + transforms,
		},
		Transforms: stoker.Interval{Low: 0.3e-3, Point: 1.04e-3, High: 1.04e-3},
		Spread: Amount{
			stoker.Interval{Low: 0.3, Point: 0.5, High: 1},
			"prior: photographs of different sizes; not measured on ImageNet itself",
		},
	},
	{
		Name: "llm-tokens", Title: "LLM tokens", Aliases: []string{"tokens", "llm", "pretokenized", "memmap"},
		Sample: "one sequence of token numbers, written beforehand", Access: Sequential, PerToken: true,
		Stored: Amount{
			stoker.Interval{Low: 2, Point: 4, High: 4},
			"derived: 16-bit numbers hold vocabularies up to 65,536 (GPT-2), else 32-bit; 2 M tokens/s on a " +
				"machine are 4 to 8 MB/s",
		},
		Decoded: Amount{
			stoker.Interval{Low: 8, Point: 16, High: 16},
			"derived: input and label as int64; below: one of them, shifted on the GPU",
		},
		Prepare: Amount{
			stoker.Interval{Low: 1.4e-9, Point: 9e-9, High: 50e-9},
			ours + ": slice of a memory map to int64 twice, 1.4 ns a token at 8,192 tokens, 8.6 ns at 1,024 (n = " +
				"5); above: prior, with packing and masks in Python",
		},
		Spread: Amount{stoker.Exactly(0), "derived: sequences of one length"},
	},
	{
		Name: "medical-volume", Title: "Medical volumes",
		Aliases: []string{"medical", "kits19", "volume", "volumes", "ct"},
		Sample:  "one scan with its labels, of which a patch of 128x128x128 is trained on", Access: Files,
		Stored: Amount{
			stoker.Interval{Low: 146.6e6, Point: 146.6e6, High: 146.6e6},
			"mean record of MLPerf Storage v2.0 (DLIO, unet3d workload): 146,600,628 B with standard deviation 68.3 MB",
		},
		Decoded: Amount{
			stoker.Interval{Low: 3 * 128 * 128 * 128, Point: 5 * 128 * 128 * 128, High: 12 * 128 * 128 * 128},
			"derived: a patch as float32 with labels as bytes; below: float16; above: labels as int64",
		},
		Prepare: Amount{
			stoker.Interval{Low: 23e-3, Point: 60e-3, High: 500e-3},
			ours + ": numpy load of 146 MB from memory, crop, flip, brightness 23 ms, with noise 59 ms (n = 5); " +
				"above: prior, with rotation and elastic deformation",
		},
		Spread: Amount{stoker.Exactly(0.47), "MLPerf Storage v2.0 (DLIO, unet3d workload): 68.3 of 146.6 MB"},
	},
	{
		Name: "video", Title: "Video clips", Aliases: []string{"kinetics", "kinetics-400", "kinetics-600", "mp4"},
		Sample: "16 frames out of a 10-second H.264 file of about 340x256, 224x224 pixels after a crop", Access: Files,
		Stored: Amount{
			stoker.Interval{Low: 0.5e6, Point: 1.47e6, High: 3e6},
			"Kinetics-600, CVDF copy: 779 GB in 530,266 files (docs.voxel51.com, dataset zoo, 2026); ends: prior",
		},
		Decoded: Amount{
			stoker.Interval{Low: 16 * 3 * 224 * 224, Point: 4 * 16 * 3 * 224 * 224, High: 4 * 16 * 3 * 224 * 224},
			"derived: 16x3x224x224 numbers, float32; bytes where they are normalised on the GPU",
		},
		Prepare: Amount{
			stoker.Interval{Low: 5e-3, Point: 45e-3, High: 200e-3},
			ours + ": 0.20 ms to decode and 0.58 ms to decode and convert a 340x256 frame (synthetic film, n = " +
				"4); published: 0.33 ms a 480x270 frame (meta-pytorch/torchcodec pull request 337, 2024-11). Low: " +
				"16 frames from a key frame; point: 125 frames skipped to a random start, key frames 250 apart; " +
				"high: the whole file",
		},
		Spread: Amount{
			stoker.Interval{Low: 0.3, Point: 0.6, High: 1},
			"prior: random starts lie at different distances from a key frame",
		},
	},
	{
		Name: "text-tokenized", Title: "Text tokenised on the fly",
		Aliases: []string{"text", "tokenize", "on-the-fly", "tokenized-text"},
		Sample:  "one sequence, stored as text and tokenised when it is read", Access: Sequential, PerToken: true,
		Stored: Amount{
			stoker.Interval{Low: 3.3, Point: 4.4, High: 4.7},
			"OpenWebText in GPT-2 tokens: 11,920 MB in 2,702 M tokens (github.com/marcelroed/gigatoken README, " +
				"2026); below: " + ours + ", code and manuals, 30,000 words",
		},
		Decoded: Amount{
			stoker.Interval{Low: 8, Point: 24, High: 24},
			"derived: token numbers, attention mask and types as int64; below: token numbers alone",
		},
		Prepare: Amount{
			stoker.Interval{Low: 0.25e-6, Point: 1.4e-6, High: 3e-6},
			ours + ": Hugging Face tokenizers, one thread, 2.4 MB/s, 1.38 us a token (byte-level BPE) and 1.49 us " +
				"(WordPiece), 13.6 MB of text; below: tiktoken, 3 to 6 times faster by its own README; above: " +
				"prior, padding and lists in Python",
		},
		Spread: Amount{
			stoker.Interval{Low: 0, Point: 0.2, High: 1},
			"prior: texts of different lengths, cut or packed to one",
		},
	},
	{
		Name: "rl-simulator", Title: "Simulator (reinforcement learning)",
		Aliases: []string{"simulator", "rl", "atari", "gym", "environment"},
		Sample:  "one step of an Atari environment, 4 frames of 84x84", Access: NoStorage,
		Stored:  Amount{stoker.Exactly(0), "derived: nothing is read"},
		Decoded: Amount{stoker.Exactly(4 * 84 * 84), "derived: four grey frames, a byte per pixel"},
		Prepare: Amount{
			stoker.Interval{Low: 0.82e-3, Point: 1e-3, High: 2.6e-3},
			"EnvPool README, 2021: Pong, frames/s over 4 frames a step. One Python loop 3,817 to 4,876; EnvPool " +
				"4,142 a core on 256 cores; above: Python subprocesses, 18,249 on the 12 logical cores of a " +
				"laptop. On 256 cores subprocesses cost 12.9 ms",
		},
		Spread: Amount{stoker.Interval{Low: 0.1, Point: 0.3, High: 1}, "prior: resets and scenes of different cost"},
	},
}

// For returns the profile with the amounts of one sample of a workload. A profile whose amounts
// are those of a sample is returned unchanged.
func (p Profile) For(w device.Workload) Profile {
	if !p.PerToken || w.Tokens == 0 {
		return p
	}
	p.PerToken, p.counted = false, true
	for _, a := range []*Amount{&p.Stored, &p.Decoded, &p.Prepare} {
		a.Interval = stoker.Interval{Low: a.Low * w.Tokens, Point: a.Point * w.Tokens, High: a.High * w.Tokens}
	}
	return p
}

// PrepareOn returns the core time of a sample on a processor whose decoding rate was measured:
// between the fastest library with transforms on tensors, and Pillow with its own transforms. It
// returns the zero Amount for samples that are not JPEGs.
func (p Profile) PrepareOn(cpu hardware.CPU) Amount {
	pillow, fastest := cpu.DecodeRate("pillow"), 0.0
	for _, library := range cpu.Decode {
		fastest = max(fastest, library.Rate.Value)
	}
	if !(p.Transforms.Point > 0) || !pillow.Known() {
		return Amount{}
	}
	likely := 1/pillow.Value + p.Transforms.Point
	return Amount{
		stoker.Interval{Low: 1/fastest + p.Transforms.Low, Point: likely, High: otherMachine * likely},
		"decode on " + cpu.Title + ": " + pillow.Source + "; " + transforms,
	}
}

// sizes says how the cost of a picture depends on its size. Stored bytes stand for pixels: a
// byte holds two to eleven, and large pictures do not fit into the cache.
const sizes = "scaled with the stored size; Pillow takes 3.5 to 7.2 ns a pixel to decode and 1.3 to 3.5 ns to resize, from " +
	"0.2 to 48 megapixels at 0.09 to 0.23 bytes a pixel (measured 2026-11-28, 1 core of an AMD EPYC virtual machine)"

// An additional byte costs half to one and a half of a byte of the usual sample: the ends of the
// ranges in sizes, over their middle.
const leastOfByte, mostOfByte = 0.5, 1.5

// PrepareOf returns the core time of a sample with so many stored bytes. It grows with them if
// the profile is that of a sample, not of a token.
func (p Profile) PrepareOf(stored stoker.Interval) Amount {
	if p.counted || !(p.Stored.Point > 0 && stored.Point > 0) || p.Stored.Contains(stored.Point) {
		return p.Prepare
	}
	ratio := stored.Point / p.Stored.Point
	return Amount{
		stoker.Interval{
			Low: leastOfByte * ratio * p.Prepare.Low, Point: ratio * p.Prepare.Point,
			High: mostOfByte * ratio * p.Prepare.High,
		},
		sizes + "; " + p.Prepare.Source,
	}
}

// otherMachine is how much longer a core takes that is loaded or clocked otherwise than the one measured. [J]
const otherMachine = 1.3

// FindProfile returns the profile of that name or alias, spelled as loosely as in
// FindWorkload.
func FindProfile(name string) (Profile, bool) { return spelling.Find(name, Profiles, Profile.names) }

// NearestProfiles returns the names of the three profiles that are spelled most
// like name, the nearest first.
func NearestProfiles(name string) []string { return spelling.Nearest(name, Profiles, Profile.names) }

func (p Profile) names() []string { return append([]string{p.Name, p.Title}, p.Aliases...) }
