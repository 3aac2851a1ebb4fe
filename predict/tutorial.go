package predict

import (
	"fmt"
	"math"
	"strings"

	"stoker"
	"stoker/hardware"
)

// Lesson is one part of the tutorial: a question with its figures.
type Lesson struct {
	Title string
	Given string // the inputs
	Lines []LessonLine
}

// LessonLine is one figure of the tutorial three times: as it is published, as
// its own formula gives it here, and as we estimate the same thing.
type LessonLine struct {
	What      string
	Published string  // what the tutorial prints, says, or has its reader work out
	Computed  string  // the same from its formulas, at the published number of digits; "unknown" is an answer
	Value     float64 // of Computed, unrounded, in Unit; NaN where Computed is a word
	Unit      string  // "ms", "%", "GB/s", "x", "images/s", "workers", "" for counts
	Differs   bool    // Computed is not what is published: the tutorial contradicts itself, or should not have answered
	Ours      string  // our estimate and its computation
	Why       string  // one sentence: why the two differ, or that they do not
}

// Tutorial recomputes the published tutorial of mlsysim on the data wall
// ("Starving the GPU", harvard-edge/cs249r_book, mlsysim/docs/tutorials, 2026)
// with its own formulas, and puts our estimate beside each figure. The formulas'
// constants are those of the release that prints these figures (flat core/ folder);
// later releases changed them. Exercises count as published with the answer that
// the tutorial's own formulas give.
func Tutorial() []Lesson {
	return []Lesson{
		oneBatch(), storageCheck(), sixBatches(), headline(), moreWorkers(),
		exercise1(), exercise2(), exercise3(), selfCheck(),
	}
}

// What the tutorial assumes: its text, and its package's tables of that time.
const (
	taughtSample = stoker.Bytes(500e3) // "ImageNet images average ~500 KB"
	taughtWorker = stoker.Rate(250e6)  // one CPU worker, stored bytes/s
	taughtCPU    = 8 * taughtWorker

	taughtPeak      = 312e12   // A100, fp16, FLOP/s
	taughtMemory    = 2039e9   // A100, bytes/s
	taughtShare     = 0.5      // of the peak that is reached, whatever the network
	taughtForward   = 4.1e9    // ResNet-50, one image forward, a multiply-add counted once
	taughtWeights   = 51.2e6   // bytes: 25.6 M parameters in fp16
	taughtTraffic   = 0.1      // activations of one image over the weights
	taughtDispatch  = 0.015e-3 // seconds per step
	taughtLayerTime = 0.10e-3  // seconds of launching per layer, "assumed"
	taughtLayers    = 50
)

// What is measured, for our estimates.
const (
	// Training rate of ResNet-50 v1.5, one A100 80 GB, mixed precision, batch 256,
	// images/s: NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets/
	// resnet50v1.5, README, pytorch-21.03 container.
	trainedRate = 2470.0

	// Mean size of an ImageNet training image, bytes: record_length of the
	// ResNet-50 workload of DLIO and MLPerf Storage.
	imageNetSample = stoker.Bytes(114660)

	// Images that one core decodes per second: Pillow on Neoverse-N1 and
	// torchvision on Zen 5, ImageNet files, ternaus/imread_benchmark. Crops and
	// tensors come on top.
	decodeSlow, decodeFast = 360.0, 864.0

	// Inference of ResNet-50, mixed precision, V100, seconds per step at batch 1 and
	// 32: the same README, pytorch-21.03.
	inferred1, inferred32 = 12.78e-3, 15.84e-3
)

// Why our figures differ; one sentence each.
const (
	whyStep      = "its step is a forward pass called training: backward and update are missing, a multiply-add counts once, and half the peak is assumed where ResNet-50 training reaches a fifth"
	whyTransform = "decoding goes by image, not by byte: one core decodes 360 to 864 ImageNet files/s (ternaus/imread_benchmark), and crops and tensors come on top"
	whySample    = "ImageNet's files are 110 KB, not 500: 114,660 bytes on average (DLIO, MLPerf Storage)"
)

// whyUse counts the cores that decode what a measured device takes.
var whyUse = fmt.Sprintf("a device that takes %s images/s needs %s cores to decode them; crops, tensors and everything else come on top", thousands(trainedRate), decoders())

// taughtStep is the tutorial's step time: the roofline of a forward pass, plus a
// launch time per layer that never overlaps.
func taughtStep(batch float64) stoker.Seconds {
	compute := batch * taughtForward / (taughtPeak * taughtShare)
	memory := taughtWeights * (1 + taughtTraffic*batch) / taughtMemory
	return stoker.Seconds(max(compute, memory) + taughtDispatch + taughtLayers*taughtLayerTime)
}

// taught solves the tutorial's model with its own step time; its inputs are
// constants, which Solve accepts.
func taught(batch float64, sample stoker.Bytes, cpu stoker.Rate) Transformation {
	t, _ := TransformationModel{}.Solve(stoker.Count(batch), sample, cpu, taughtStep(batch))
	return t
}

// asPrinted is the tutorial's step as it prints it, in hundredths of a
// millisecond: its prose and its exercises go on from there.
func asPrinted(batch float64) stoker.Seconds {
	return stoker.Seconds(math.Round(float64(taughtStep(batch))*1e5) / 1e5)
}

func oneBatch() Lesson {
	t := taught(256, taughtSample, taughtCPU)
	lines := fourFigures("", 256, 8, t, [4]string{"11.74 ms", "64.00 ms", "18.3 %", "5.45x"})
	bound := word("binding", "the CPU", bound(t),
		"the accelerator, if decoding were all: "+oursTransform(256, 8)+" against "+oursStep(256), whyUse)
	launch := figure("launching in the step", "5.00 ms", taughtLayers*taughtLayerTime*1e3, "ms",
		fmt.Sprintf("0 ms at this batch: launches take up to %s (V100, inference, batch 1) and run ahead; batch 32 takes %s, not the sum", milli(inferred1), milli(inferred32)),
		"0.10 ms per layer is assumed, not measured, and added although launches overlap with what the device computes")
	size := figure("sample", "500 KB", float64(taughtSample)/1e3, "KB", imageNetSample.String(), whySample)
	return Lesson{
		Title: "One batch", Given: "ResNet-50 on an A100, batch 256 of 500 KB, 2 GB/s of CPU",
		Lines: append(lines, bound, launch, size),
	}
}

// fourFigures are step, transform time, utilisation and slowdown of one setting.
func fourFigures(prefix string, batch, workers float64, t Transformation, published [4]string) []LessonLine {
	return []LessonLine{
		figure(prefix+"accelerator step", published[0], 1e3*float64(t.AcceleratorStepTime), "ms", oursStep(batch), whyStep),
		figure(prefix+"CPU transform", published[1], 1e3*float64(t.TransformTime), "ms", oursTransform(batch, workers), whyTransform),
		figure(prefix+"accelerator utilisation", published[2], 100*float64(t.AcceleratorUtilization), "%", oursUse(workers), whyUse),
		figure(prefix+"slowdown", published[3], t.SlowdownFactor, "x", oursSlowdown(workers), whyUse),
	}
}

func storageCheck() Lesson {
	demand := stoker.Rate(256 * float64(taughtSample) / float64(taughtStep(256)))
	a100, _ := hardware.FindGPU("a100-80gb-sxm")
	link, _ := hardware.FindLink(a100.Link)
	without, _ := DataModel{}.Solve(demand, hardware.Machine{GPU: a100, Link: link})
	nvme, _ := hardware.FindStorage("nvme")
	with, _ := DataModel{}.Solve(demand, hardware.Machine{GPU: a100, Link: link, Storage: nvme})
	drive := stoker.Rate(nvme.Rate.Value).String()
	smaller := float64(imageNetSample) / float64(taughtSample)
	actual := trainedRate * float64(imageNetSample)

	demanded := figure("storage demand", "10.90 GB/s", float64(demand)/1e9, "GB/s",
		fmt.Sprintf("%.2f GB/s: %s images/s of %s", actual/1e9, thousands(trainedRate), imageNetSample),
		fmt.Sprintf("%s; at the tutorial's step that alone makes it %.2f GB/s", whySample, float64(demand)*smaller/1e9))
	supply := word("storage supply", "0.00 GB/s", without.Supply.String(),
		fmt.Sprintf("%s from one NVMe drive, if there is one", drive),
		"its table has no storage for the A100, and what nobody has entered counts as 0; unknown is not 0")
	supply.Differs = true
	use := word("storage utilisation", "inf %", percentOr(without.Utilization),
		fmt.Sprintf("%s of one NVMe drive: %.2f of %s; with the tutorial's demand %s", percent(actual/nvme.Rate.Value), actual/1e9, drive, percent(with.Utilization)),
		"without a supply there is no share of it")
	use.Differs = true
	stalled := word("stalled by storage", "True", string(without.IsStalled),
		fmt.Sprintf("no; with the tutorial's own demand on one NVMe drive %s", with.IsStalled),
		"the tutorial's text says that storage is fine, while its model prints that it stalls: one drive is too slow for its demand, and more than enough for the real one")
	stalled.Differs = true
	return Lesson{Title: "Storage", Given: "the same batch, no storage in the machine's description", Lines: []LessonLine{demanded, supply, use, stalled}}
}

func sixBatches() Lesson {
	published := [][4]string{
		{"5.86 ms", "8.00 ms", "73.2 %", "1.37x"},
		{"6.70 ms", "16.00 ms", "41.9 %", "2.39x"},
		{"8.38 ms", "32.00 ms", "26.2 %", "3.82x"},
		{"11.74 ms", "64.00 ms", "18.3 %", "5.45x"},
		{"18.47 ms", "128.00 ms", "14.4 %", "6.93x"},
		{"31.93 ms", "256.00 ms", "12.5 %", "8.02x"},
	}
	var lines []LessonLine
	for i, row := range published {
		batch := math.Ldexp(32, i)
		t := taught(batch, taughtSample, taughtCPU)
		lines = append(lines, fourFigures(fmt.Sprintf("batch %.0f: ", batch), batch, 8, t, row)...)
	}
	crossover := figure("first batch that the CPU stalls", "small batches are accelerator-bound", stallsFrom(taughtSample, taughtCPU), "",
		fmt.Sprintf("none: an image takes the device %s and eight decoding cores %s, whatever the batch", milli(1/trainedRate), between(1/(8*decodeFast), 1/(8*decodeSlow), milli)),
		"the text calls small batches accelerator-bound, but the crossover of its own formulas lies outside its table, whose six rows are all CPU-bound")
	crossover.Differs = true
	return Lesson{Title: "Six batch sizes", Given: "500 KB, 2 GB/s of CPU", Lines: append(lines, crossover)}
}

// stallsFrom is the smallest batch for which the CPU takes longer than the
// tutorial's step. Above some batch it does wherever preparing one more image
// takes longer than computing it; a million is far above.
func stallsFrom(sample stoker.Bytes, cpu stoker.Rate) float64 {
	for batch := 1.0; batch < 1e6; batch++ {
		if taught(batch, sample, cpu).IsBottleneck {
			return batch
		}
	}
	return math.NaN()
}

func headline() Lesson {
	gpu := figure("images that the GPU takes", "5,300 images/s", 32/float64(asPrinted(32)), "images/s",
		fmt.Sprintf("%s images/s, measured (NVIDIA/DeepLearningExamples, A100 80 GB, mixed precision)", thousands(trainedRate)),
		fmt.Sprintf("the headline is about the row of batch 32; at the batch of 256 that the text speaks of the same formula gives %s images/s", thousands(256/float64(taughtStep(256)))))
	cpu := figure("images that 8 workers decode", "850 images/s", float64(taughtCPU)/float64(taughtSample), "images/s",
		fmt.Sprintf("%s images/s: 8 x 360 to 864, decoding alone", between(8*decodeSlow, 8*decodeFast, thousands)),
		"850 contradicts the tutorial's own 2 GB/s over 500 KB")
	gpu.Differs, cpu.Differs = true, true
	return Lesson{Title: "Its headline", Given: "5,300 images/s against 850", Lines: []LessonLine{gpu, cpu}}
}

func moreWorkers() Lesson {
	var lines []LessonLine
	for _, row := range []struct {
		workers         float64
		transform, used string
	}{{8, "64.00 ms", "18.3 %"}, {16, "32.00 ms", "36.7 %"}, {32, "16.00 ms", "73.4 %"}} {
		t := taught(256, taughtSample, stoker.Rate(row.workers)*taughtWorker)
		four := fourFigures(fmt.Sprintf("%.0f workers: ", row.workers), 256, row.workers, t, [4]string{"11.74 ms", row.transform, row.used, "1x"})
		lines = append(lines, four[1], four[2])
	}
	lines = append(lines, figure("workers that close the gap", "44", math.Ceil(workersWorth(256, taughtSample)), "",
		fmt.Sprintf("%s for decoding alone: %s images/s over 864 to 360", decoders(), thousands(trainedRate)), "workers do not scale without end: one process collects their batches, and cores run out"))
	return Lesson{Title: "More workers", Given: "batch 256 of 500 KB, 250 MB/s each", Lines: lines}
}

// workersWorth is how many workers of the tutorial prepare a batch in one step of
// the length that it prints.
func workersWorth(batch float64, sample stoker.Bytes) float64 {
	return batch * float64(sample) / float64(asPrinted(batch)) / float64(taughtWorker)
}

func exercise1() Lesson {
	t := taught(64, taughtSample, taughtCPU)
	four := fourFigures("", 64, 8, t, [4]string{"6.70 ms", "16.00 ms", "41.9 %", "2.39x"})
	return Lesson{Title: "Exercise 1", Given: "batch 64, 2 GB/s of CPU", Lines: []LessonLine{
		word("binding", "the CPU", bound(t), "the accelerator, if decoding were all: "+oursTransform(64, 8)+" against "+oursStep(64), whyUse),
		four[1], four[0], four[2],
	}}
}

func exercise2() Lesson {
	const sample = stoker.Bytes(5e6)
	worth := workersWorth(256, sample)
	exact := 256 * float64(sample) / float64(taughtStep(256)) / float64(taughtWorker)
	images := float64(taughtWorker) / float64(sample)
	ours := fmt.Sprintf("%.1f: %s images/s over the tutorial's %.0f per worker", trainedRate/images, thousands(trainedRate), images)
	return Lesson{Title: "Exercise 2", Given: "samples of 5 MB, 2 GB/s of CPU", Lines: []LessonLine{
		figure("first batch that the CPU stalls", "3", stallsFrom(sample, taughtCPU), "",
			fmt.Sprintf("1: a sample takes the CPU %s and the device %s", milli(float64(sample)/float64(taughtCPU)), milli(1/trainedRate)),
			"below batch 3 only the assumed launch time keeps the tutorial's device busy"),
		figure("workers' worth at batch 256", "436.1", worth, "", ours, whyStep),
		figure("workers at batch 256", "437", math.Ceil(worth), "", fmt.Sprintf("%.0f", math.Ceil(trainedRate/images)),
			fmt.Sprintf("from the step as it is printed, 11.74 ms; from the unrounded one it is %.1f, a reminder that a worker more or less is below the error of any such model", exact)),
	}}
}

func exercise3() Lesson {
	const cpu = stoker.Rate(50e9)
	t := taught(512, taughtSample, cpu)
	nvme, _ := hardware.FindStorage("nvme")
	read := 512 * float64(taughtSample) / nvme.Rate.Value
	step := float64(t.AcceleratorStepTime)
	read110 := 512 * float64(imageNetSample) / nvme.Rate.Value
	drive := fmt.Sprintf("storage on one %s NVMe drive: reading 256 MB takes %s", stoker.Rate(nvme.Rate.Value), milli(read))
	moved := "freeing the CPU moves the bottleneck to a stage that the tutorial's model does not have"
	return Lesson{Title: "Exercise 3", Given: "batch 512 of 500 KB, 50 GB/s of CPU (decoding on the GPU)", Lines: []LessonLine{
		figure("CPU transform", "5.12 ms", 1e3*float64(t.TransformTime), "ms", "unknown: decoding moves to the GPU and takes time there", "50 GB/s stands for a decoder that costs nothing; on the GPU it competes with the step"),
		figure("accelerator step", "18.47 ms", 1e3*step, "ms", oursStep(512), whyStep),
		word("binding", "the accelerator", bound(t), drive, moved),
		figure("accelerator utilisation", "100.0 %", 100*float64(t.AcceleratorUtilization), "%",
			fmt.Sprintf("%s with the tutorial's step: %s of %s; %s with the measured one: files of %s are read in %s", percent(step/max(step, read)), milli(step), milli(read),
				percent(min(1, 512/trainedRate/read110)), imageNetSample, milli(read110)), moved),
	}}
}

func selfCheck() Lesson {
	const compute, prepare = 20e-3, 35e-3
	return Lesson{Title: "Self-check", Given: "a GPU step of 20 ms, 35 ms of preparation", Lines: []LessonLine{
		figure("accelerator utilisation", "57 %", 100*compute/Overlapped(prepare, compute), "%",
			fmt.Sprintf("%s with workers, as here; %s without (num_workers 0 and a loop that waits for its step), where the two follow one another", percent(compute/Overlapped(prepare, compute)), percent(compute/Serial(prepare, compute))),
			"the same where preparation overlaps with the step"),
	}}
}

// figure computes at as many digits as are published.
func figure(what, published string, value float64, unit, ours, why string) LessonLine {
	text := thousands(value)
	if _, fraction, found := strings.Cut(published, "."); found {
		digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
		text = fmt.Sprintf("%.*f", digits, value)
	}
	if unit != "" && unit != "x" {
		text += " "
	}
	return LessonLine{What: what, Published: published, Computed: text + unit, Value: value, Unit: unit, Ours: ours, Why: why}
}

// word is a line whose answer is not a number.
func word(what, published, computed, ours, why string) LessonLine {
	return LessonLine{What: what, Published: published, Computed: computed, Value: math.NaN(), Ours: ours, Why: why}
}

func bound(t Transformation) string {
	if t.IsBottleneck {
		return "the CPU"
	}
	return "the accelerator"
}

func oursStep(batch float64) string {
	return fmt.Sprintf("%s: %.0f images at %s/s (NVIDIA, measured at batch 256)", milli(batch/trainedRate), batch, thousands(trainedRate))
}

func oursTransform(batch, workers float64) string {
	return fmt.Sprintf("%s: %.0f images by %.0f cores", between(batch/(workers*decodeFast), batch/(workers*decodeSlow), milli), batch, workers)
}

func oursUse(workers float64) string {
	low, high := min(1, workers*decodeSlow/trainedRate), min(1, workers*decodeFast/trainedRate)
	return fmt.Sprintf("up to %s: %s images/s decoded, %s taken", between(low, high, percent), between(workers*decodeSlow, workers*decodeFast, thousands), thousands(trainedRate))
}

func oursSlowdown(workers float64) string {
	low, high := max(1, trainedRate/(workers*decodeFast)), max(1, trainedRate/(workers*decodeSlow))
	return "from " + between(low, high, func(v float64) string { return fmt.Sprintf("%.2fx", v) })
}

// decoders is how many cores decode what a measured device takes: "3 to 7".
func decoders() string {
	return between(math.Ceil(trainedRate/decodeFast), math.Ceil(trainedRate/decodeSlow), thousands)
}

// between prints a range, or one figure where both ends read the same.
func between(low, high float64, text func(float64) string) string {
	a, b := text(low), text(high)
	if a == b {
		return a
	}
	if number, unit, found := strings.Cut(a, " "); found && strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " to " + b
}

func milli(seconds float64) string {
	digits := 1
	if seconds < 1e-3 {
		digits = 3
	}
	return fmt.Sprintf("%.*f ms", digits, seconds*1e3)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func percentOr(share float64) string {
	if math.IsNaN(share) {
		return "unknown"
	}
	return percent(share)
}

// thousands prints a whole number as people read it: 21,800.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
