package tutorial

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
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
	Published string  // what the tutorial prints or says; "" if it has its reader work it out, or it only follows
	Computed  string  // the same from its formulas, at the published number of digits; "unknown" is an answer
	Value     float64 // of Computed, unrounded, in Unit; NaN where Computed is a word
	Unit      string  // "ms", "%", "GB/s", "x", "images/s", "workers", "" for counts
	Differs   bool    // Computed is not as published: the tutorial contradicts itself, or should not have answered
	Ours      string  // our estimate and its computation
	Why       string  // one sentence: why the two differ, or that they do not
}

// Tutorial recomputes the published tutorial of mlsysim on the data wall
// ("Starving the GPU", harvard-edge/cs249r_book, mlsysim/docs/tutorials, 2026)
// with its own formulas, and puts our estimate next to each figure. The formulas'
// constants are those of the release that prints these figures (flat core/ folder);
// later releases changed them. Its exercises have no printed answers.
//
// Our estimates are those of the same question to Setup.Solve: ResNet-50 training in
// fp16 on an A100 with 80 GB, in software that was not named.
func Tutorial() []Lesson {
	e := makeEstimates()
	return []Lesson{
		e.oneBatch(), e.storageCheck(), e.sixBatches(), e.headline(), e.moreWorkers(),
		e.exercise1(), e.exercise2(), e.exercise3(), selfCheck(),
	}
}

// Version says which release prints the published figures, and what the newest one prints instead:
// Engine.solve of ResNet-50 in fp16 on an A100, run 2026-11-28; 64 and 8 ms are the CPU's as published.
const Version = "The page is older than mlsysim 0.3.0, the newest release, whose accelerator step is 13.97 ms at " +
	"batch 256 and 2.20 ms at batch 32 (published: 11.74 and 5.86), so that its utilisation is 21.8 % and 27.5 % " +
	"(published: 18.3 % and 73.2 %)."

// follows returns a line whose figure the tutorial does not print.
func follows(l LessonLine) LessonLine {
	l.Published = ""
	return l
}

// What the tutorial assumes: its text, and its package's tables of that time.
const (
	taughtSample = quantity.Bytes(500e3) // "ImageNet images average ~500 KB"
	taughtWorker = quantity.Rate(250e6)  // one CPU worker, stored bytes/s
	taughtCPU    = 8 * taughtWorker

	taughtPeak      = 312e12   // A100, fp16, FLOP/s
	taughtMemory    = 2039e9   // A100, bytes/s
	taughtShare     = 0.5      // of the peak that is reached, regardless of the network
	taughtForward   = 4.1e9    // ResNet-50, one image forward, a multiply-add counted once
	taughtWeights   = 51.2e6   // bytes: 25.6 M parameters in fp16
	taughtTraffic   = 0.1      // activations of one image over the weights
	taughtDispatch  = 0.015e-3 // seconds per step
	taughtLayerTime = 0.10e-3  // seconds of launching per layer, "assumed"
	taughtLayers    = 50
)

// Measured figures, for our estimates.
const (
	// For comparison: training rate of ResNet-50 v1.5, one A100 80 GB, mixed precision, batch 256,
	// images/s: NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets/
	// resnet50v1.5, README, pytorch-21.03 container.
	trainedRate = 2470.0

	// Mean size of an ImageNet training image, bytes: record_length of the
	// ResNet-50 workload of DLIO and MLPerf Storage.
	imageNetSample = quantity.Bytes(114660)

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
	whyStep = "its step is a forward pass called training: backward and update are missing, a multiply-add " +
		"counts once, and half the peak is assumed where ResNet-50 training reaches a fifth"
	whyTransform = "decoding goes by image, not by byte: one core decodes 360 to 864 ImageNet files/s " +
		"(ternaus/imread_benchmark), and crops and tensors come on top"
	whySample = "ImageNet's files are 110 KB, not 500: 114,660 bytes on average (DLIO, MLPerf Storage)"
)

// estimates are our own figures of the tutorial's job.
type estimates struct{ device device.Curve }

func makeEstimates() estimates {
	load := device.Load{Precision: hardware.FP16, Training: true}
	load.Workload, _ = device.FindWorkload("resnet50")
	load.GPU, _ = hardware.FindGPU("a100-80gb-sxm")
	curve, _ := load.StepCurve() // all of it is in the tables
	return estimates{curve}
}

// stepTime returns the device's time for a batch, seconds.
func (e estimates) stepTime(batch float64) stoker.Interval { return e.device.At(batch) }

// takenRate returns what the device takes, images/s.
func (e estimates) takenRate(batch float64) stoker.Interval {
	return bounds.Divide(stoker.Exactly(batch), e.stepTime(batch))
}

// whyUse counts the cores that decode what the device takes.
func (e estimates) whyUse() string {
	return fmt.Sprintf("a device that takes %s images/s at batch 256 needs %s cores to decode them; crops, "+
		"tensors and everything else come on top", likelyOf(e.takenRate(256), thousands), e.decoders())
}

// taughtStep returns the tutorial's step time: the roofline of a forward pass, plus a
// launch time per layer that never overlaps.
func taughtStep(batch float64) quantity.Seconds {
	compute := batch * taughtForward / (taughtPeak * taughtShare)
	memory := taughtWeights * (1 + taughtTraffic*batch) / taughtMemory
	return quantity.Seconds(max(compute, memory) + taughtDispatch + taughtLayers*taughtLayerTime)
}

// taught solves the tutorial's model with its own step time; its inputs are
// constants, which Solve accepts.
func taught(batch float64, sample quantity.Bytes, cpu quantity.Rate) Transformation {
	t, _ := TransformationModel{}.Solve(quantity.Count(batch), sample, cpu, taughtStep(batch))
	return t
}

// asPrinted returns the tutorial's step as it prints it, in hundredths of a
// millisecond: its prose and its exercises go on from there.
func asPrinted(batch float64) quantity.Seconds {
	return quantity.Seconds(math.Round(float64(taughtStep(batch))*1e5) / 1e5)
}

func (e estimates) oneBatch() Lesson {
	t := taught(256, taughtSample, taughtCPU)
	lines := e.fourFigures("", 256, 8, t, [4]string{"11.74 ms", "64.00 ms", "18.3 %", "5.45x"})
	bound := wordLine("binding", "the CPU", nameBound(t), e.binding(256, 8), e.whyUse())
	launch := follows(figureLine("launching in the step", "5.00 ms", taughtLayers*taughtLayerTime*1e3, "ms",
		fmt.Sprintf("0 ms at this batch: launches take up to %s (V100, inference, batch 1) and run ahead; batch "+
			"32 takes %s, not the sum", milli(inferred1), milli(inferred32)),
		"0.10 ms per layer is assumed, not measured, and added although launches overlap with what "+
			"the device computes"))
	size := figureLine("sample", "500 KB", float64(taughtSample)/1e3, "KB", imageNetSample.String(), whySample)
	return Lesson{
		Title: "One batch", Given: "ResNet-50 on an A100, batch 256 of 500 KB, 2 GB/s of CPU",
		Lines: append(lines, bound, launch, size),
	}
}

// fourFigures are step, transform time, utilisation and slowdown of one setting.
func (e estimates) fourFigures(prefix string, batch, workers float64, t Transformation, published [4]string,
) []LessonLine {
	return []LessonLine{
		figureLine(prefix+"accelerator step", published[0], 1e3*float64(t.AcceleratorStepTime), "ms", e.ours(batch),
			whyStep),
		figureLine(prefix+"CPU transform", published[1], 1e3*float64(t.TransformTime), "ms",
			oursTransform(batch, workers), whyTransform),
		figureLine(prefix+"accelerator utilisation", published[2], 100*float64(t.AcceleratorUtilization), "%",
			e.use(batch, workers), e.whyUse()),
		figureLine(prefix+"slowdown", published[3], t.SlowdownFactor, "x", e.describeSlowdown(batch, workers),
			e.whyUse()),
	}
}

func (e estimates) storageCheck() Lesson {
	demand := quantity.Rate(256 * float64(taughtSample) / float64(taughtStep(256)))
	a100, _ := hardware.FindGPU("a100-80gb-sxm")
	link, _ := hardware.FindLink(a100.Link)
	without, _ := DataModel{}.Solve(demand, hardware.Machine{GPU: a100, Link: link})
	nvme, _ := hardware.FindStorage("nvme")
	with, _ := DataModel{}.Solve(demand, hardware.Machine{GPU: a100, Link: link, Storage: nvme})
	drive := quantity.Rate(nvme.Rate.Value).String()
	smaller := float64(imageNetSample) / float64(taughtSample)
	actual := bounds.Scale(e.takenRate(256), float64(imageNetSample))
	gigabytes := func(v float64) string { return fmt.Sprintf("%.2f", v/1e9) }
	share := bounds.Scale(actual, 1/nvme.Rate.Value)

	demanded := figureLine("storage demand", "10.90 GB/s", float64(demand)/1e9, "GB/s",
		fmt.Sprintf("%s GB/s: %s images/s of %s", likelyOf(actual, gigabytes), likelyOf(e.takenRate(256), thousands),
			imageNetSample),
		fmt.Sprintf("%s; at the tutorial's step that alone makes it %.2f GB/s", whySample, float64(demand)*smaller/1e9))
	supply := wordLine("storage supply", "0.00 GB/s", without.Supply.String(),
		fmt.Sprintf("%s from one NVMe drive, if there is one", drive),
		"its table has no storage for the A100, and what nobody has entered counts as 0; unknown is not 0")
	supply.Differs = true
	use := wordLine("storage utilisation", "inf %", percentOr(without.Utilization),
		fmt.Sprintf("%s of one NVMe drive of %s; with the tutorial's demand %s", likelyOf(share, percent), drive,
			percent(with.Utilization)), "without a supply there is no share of it")
	use.Differs = true
	stalled := wordLine("stalled by storage", "True", string(without.IsStalled),
		fmt.Sprintf("no; with the tutorial's own demand on one NVMe drive %s", with.IsStalled),
		"the tutorial's text says that storage is fine, while its model prints that it stalls: one drive is too "+
			"slow for its demand, and more than enough for the real one")
	stalled.Differs = true
	return Lesson{
		Title: "Storage", Given: "the same batch, no storage in the machine's description",
		Lines: []LessonLine{demanded, supply, use, stalled},
	}
}

func (e estimates) sixBatches() Lesson {
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
		four := e.fourFigures(fmt.Sprintf("batch %.0f: ", batch), batch, 8, t, row)
		if batch != 256 { // its table has no slowdown; it prints that of one batch
			four[3] = follows(four[3])
		}
		lines = append(lines, four...)
	}
	crossover := figureLine("first batch that the CPU stalls", "small batches are accelerator-bound",
		stallsFrom(taughtSample, taughtCPU), "",
		e.stalls(1/(8*decodeFast), 1/(8*decodeSlow))+fmt.Sprintf(": an image takes eight decoding cores %s",
			formatRange(1/(8*decodeFast), 1/(8*decodeSlow), milli)),
		"the text calls small batches accelerator-bound, but the crossover of its own formulas lies outside its "+
			"table, whose six rows are all CPU-bound")
	crossover.Differs = true
	return Lesson{Title: "Six batch sizes", Given: "500 KB, 2 GB/s of CPU", Lines: append(lines, crossover)}
}

// stallsFrom returns the smallest batch for which the CPU takes longer than the
// tutorial's step. Above some batch it does wherever preparing one more image
// takes longer than computing it; a million is far above.
func stallsFrom(sample quantity.Bytes, cpu quantity.Rate) float64 {
	for batch := 1.0; batch < 1e6; batch++ {
		if taught(batch, sample, cpu).IsBottleneck {
			return batch
		}
	}
	return math.NaN()
}

func (e estimates) headline() Lesson {
	gpu := figureLine("images that the GPU takes", "5,300 images/s", 32/float64(asPrinted(32)), "images/s",
		fmt.Sprintf("%s images/s at batch 256; NVIDIA/DeepLearningExamples measured %s (A100 80 GB, mixed precision)",
			likelyOf(e.takenRate(256), thousands), thousands(trainedRate)),
		fmt.Sprintf("the headline is about the row of batch 32; at the batch of 256 that the text speaks of the "+
			"same formula gives %s images/s", thousands(256/float64(taughtStep(256)))))
	cpu := figureLine("images that 8 workers decode", "850 images/s", float64(taughtCPU)/float64(taughtSample),
		"images/s",
		fmt.Sprintf("%s images/s: 8 x 360 to 864, decoding alone", formatRange(8*decodeSlow, 8*decodeFast, thousands)),
		"850 contradicts the tutorial's own 2 GB/s over 500 KB")
	gpu.Differs, cpu.Differs = true, true
	return Lesson{Title: "Its headline", Given: "5,300 images/s against 850", Lines: []LessonLine{gpu, cpu}}
}

func (e estimates) moreWorkers() Lesson {
	var lines []LessonLine
	for _, row := range []struct {
		workers         float64
		printed         string // at batch 512
		transform, used string // at batch 256, on which its other figures are
	}{{8, "14.4 %", "64.00 ms", "18.3 %"}, {16, "28.9 %", "32.00 ms", "36.7 %"}, {32, "57.7 %", "16.00 ms", "73.4 %"}} {
		cpu := quantity.Rate(row.workers) * taughtWorker
		title := fmt.Sprintf("%.0f workers: ", row.workers)
		printed := e.fourFigures(title, 512, row.workers, taught(512, taughtSample, cpu),
			[4]string{"18.47 ms", "1.00 ms", row.printed, "1x"})[2]
		printed.What += ", batch 512"
		four := e.fourFigures(title, 256, row.workers, taught(256, taughtSample, cpu),
			[4]string{"11.74 ms", row.transform, row.used, "1x"})
		lines = append(lines, printed, follows(four[1]), follows(four[2]))
	}
	lines = append(lines, follows(figureLine("workers that close the gap", "44",
		math.Ceil(workersWorth(256, taughtSample)), "",
		fmt.Sprintf("%s for decoding alone: %s images/s over 864 to 360", e.decoders(),
			likelyOf(e.takenRate(256), thousands)),
		"workers do not scale without end: one process collects their batches, and cores run out")))
	return Lesson{Title: "More workers", Given: "500 KB, 250 MB/s each; batch 256 where none is named", Lines: lines}
}

// workersWorth returns how many workers of the tutorial prepare a batch in one step of
// the length that it prints.
func workersWorth(batch float64, sample quantity.Bytes) float64 {
	return batch * float64(sample) / float64(asPrinted(batch)) / float64(taughtWorker)
}

func (e estimates) exercise1() Lesson {
	t := taught(64, taughtSample, taughtCPU)
	four := e.fourFigures("", 64, 8, t, [4]string{"6.70 ms", "16.00 ms", "41.9 %", "2.39x"})
	return Lesson{Title: "Exercise 1", Given: "batch 64, 2 GB/s of CPU", Lines: []LessonLine{
		wordLine("binding", "the CPU", nameBound(t), e.binding(64, 8), e.whyUse()),
		four[1], four[0], four[2],
	}}
}

func (e estimates) exercise2() Lesson {
	const sample = quantity.Bytes(5e6)
	worth := workersWorth(256, sample)
	exact := 256 * float64(sample) / float64(taughtStep(256)) / float64(taughtWorker)
	images := float64(taughtWorker) / float64(sample)
	ours := bounds.Scale(e.takenRate(256), 1/images)
	each := float64(sample) / float64(taughtCPU)
	return Lesson{Title: "Exercise 2", Given: "samples of 5 MB, 2 GB/s of CPU", Lines: []LessonLine{
		follows(figureLine("first batch that the CPU stalls", "3", stallsFrom(sample, taughtCPU), "",
			fmt.Sprintf("%s: a sample takes the CPU %s", e.stalls(each, each), milli(each)),
			"at small batches launches keep the device busy: in the tutorial 0.1 ms of each layer, assumed")),
		follows(figureLine("workers' worth at batch 256", "436.1", worth, "",
			fmt.Sprintf("%s: %s images/s over the tutorial's %.0f per worker", likelyOf(ours, oneDigit),
				likelyOf(e.takenRate(256), thousands), images), whyStep)),
		follows(figureLine("workers at batch 256", "437", math.Ceil(worth), "", likelyOf(stoker.Interval{
			Low: math.Ceil(ours.Low), Point: math.Ceil(ours.Point),
			High: math.Ceil(ours.High),
		}, thousands),
			fmt.Sprintf("from the step as it is printed, 11.74 ms; from the unrounded one it is %.1f, a reminder "+
				"that a worker more or less is below the error of any such model", exact))),
	}}
}

func (e estimates) exercise3() Lesson {
	const cpu = quantity.Rate(50e9)
	t := taught(512, taughtSample, cpu)
	nvme, _ := hardware.FindStorage("nvme")
	read := 512 * float64(taughtSample) / nvme.Rate.Value
	step := float64(t.AcceleratorStepTime)
	read110 := 512 * float64(imageNetSample) / nvme.Rate.Value
	drive := fmt.Sprintf("storage on one %s NVMe drive: reading 256 MB takes %s", quantity.Rate(nvme.Rate.Value),
		milli(read))
	moved := "freeing the CPU moves the bottleneck to a stage that the tutorial's model does not have"
	return Lesson{
		Title: "Exercise 3", Given: "batch 512 of 500 KB, 50 GB/s of CPU (decoding on the GPU)",
		Lines: []LessonLine{
			follows(figureLine("CPU transform", "5.12 ms", 1e3*float64(t.TransformTime), "ms",
				"unknown: decoding moves to the GPU and takes time there",
				"50 GB/s stands for a decoder that costs nothing; on the GPU it competes with the step")),
			figureLine("accelerator step", "18.47 ms", 1e3*step, "ms", e.ours(512), whyStep),
			follows(wordLine("binding", "the accelerator", nameBound(t), drive, moved)),
			follows(figureLine("accelerator utilisation", "100.0 %", 100*float64(t.AcceleratorUtilization), "%",
				fmt.Sprintf("%s with the tutorial's step: %s of %s; with ours %s: files of %s are read in %s",
					percent(step/max(step, read)), milli(step), milli(read),
					formatRange(min(1, e.stepTime(512).Low/read110), min(1, e.stepTime(512).High/read110), percent),
					imageNetSample, milli(read110)), moved)),
		},
	}
}

func selfCheck() Lesson {
	const compute, prepare = 20e-3, 35e-3
	return Lesson{Title: "Self-check", Given: "a GPU step of 20 ms, 35 ms of preparation", Lines: []LessonLine{
		figureLine("accelerator utilisation", "57 %", 100*compute/predict.StepOverlapped(prepare, compute), "%",
			fmt.Sprintf("%s with workers, as here; %s without (num_workers 0 and a loop that waits for its step), "+
				"where the two follow one another", percent(compute/predict.StepOverlapped(prepare, compute)),
				percent(compute/predict.StepSerial(prepare, compute))),
			"the same where preparation overlaps with the step"),
	}}
}

// figureLine computes at as many digits as are published.
func figureLine(what, published string, value float64, unit, ours, why string) LessonLine {
	text := thousands(value)
	if _, fraction, found := strings.Cut(published, "."); found {
		digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
		text = fmt.Sprintf("%.*f", digits, value)
	}
	if unit != "" && unit != "x" {
		text += " "
	}
	return LessonLine{
		What: what, Published: published, Computed: text + unit, Value: value, Unit: unit, Ours: ours,
		Why: why,
	}
}

// wordLine returns a line whose answer is not a number.
func wordLine(what, published, computed, ours, why string) LessonLine {
	return LessonLine{What: what, Published: published, Computed: computed, Value: math.NaN(), Ours: ours, Why: why}
}

func nameBound(t Transformation) string {
	if t.IsBottleneck {
		return "the CPU"
	}
	return "the accelerator"
}

// ours is our step time, as stoker predict prints it.
func (e estimates) ours(batch float64) string { return likelyOf(e.stepTime(batch), milli) }

// binding says which of decoding and the device takes longer, where that is known.
func (e estimates) binding(batch, workers float64) string {
	low, high, step := batch/(workers*decodeFast), batch/(workers*decodeSlow), e.stepTime(batch)
	which := "either, if decoding were all"
	switch {
	case high < step.Low:
		which = "the accelerator, if decoding were all"
	case low > step.High:
		which = "the CPU"
	}
	return fmt.Sprintf("%s: %s against %s", which, oursTransform(batch, workers), e.ours(batch))
}

// stalls returns the first batch that the CPU takes longer for than the device, where an
// image takes it so many seconds at least and at most.
func (e estimates) stalls(least, most float64) string {
	first := func(each float64, device device.Terms) string {
		for batch := 1.0; batch < 4096; batch++ {
			if each*batch > device.At(batch) {
				return thousands(batch)
			}
		}
		return "none"
	}
	return fmt.Sprintf("%s to %s", first(most, e.device.Low), first(least, e.device.High))
}

func oursTransform(batch, workers float64) string {
	return fmt.Sprintf("%s: %.0f images by %.0f cores",
		formatRange(batch/(workers*decodeFast), batch/(workers*decodeSlow), milli), batch, workers)
}

func (e estimates) use(batch, workers float64) string {
	taken := e.takenRate(batch)
	low, high := min(1, workers*decodeSlow/taken.High), min(1, workers*decodeFast/taken.Low)
	return fmt.Sprintf("at most %s: %s images/s decoded, %s taken", formatRange(low, high, percent),
		formatRange(workers*decodeSlow, workers*decodeFast, thousands), likelyOf(taken, thousands))
}

func (e estimates) describeSlowdown(batch, workers float64) string {
	taken := e.takenRate(batch)
	low, high := max(1, taken.Low/(workers*decodeFast)), max(1, taken.High/(workers*decodeSlow))
	return "at least " + formatRange(low, high, func(v float64) string { return fmt.Sprintf("%.2fx", v) })
}

// decoders returns how many cores decode what the device takes: "2 to 15".
func (e estimates) decoders() string {
	taken := e.takenRate(256)
	return formatRange(math.Ceil(taken.Low/decodeFast), math.Ceil(taken.High/decodeSlow), thousands)
}

// likelyOf prints a likely value and its range: "105.1 ms (47.3 to 234.0 ms)".
func likelyOf(i stoker.Interval, text func(float64) string) string {
	return fmt.Sprintf("%s (%s)", text(i.Point), formatRange(i.Low, i.High, text))
}

func oneDigit(v float64) string { return fmt.Sprintf("%.1f", v) }

// formatRange prints a range, or one figure where both ends read the same.
func formatRange(low, high float64, text func(float64) string) string {
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
