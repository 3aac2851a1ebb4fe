package advise

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Proposals for the device's side of a step. [J]
const (
	mostMemory = 0.9 // of the device's memory that a larger batch may reserve: the allocator's blocks do not all fit
	leastRoom  = 1.5 // times the batch that must fit before a larger one is spoken of
	mostBatch  = 16  // times the batch that is spoken of at most
	goodBatch  = 0.95
)

// multiples are what batch sizes are rounded down to: whole tiles of Tensor Cores.
var multiples = []int{64, 32, 8}

// room is the largest batch that surely fits, by the device memory that PyTorch reserved
// at most: all of it is taken to grow with the batch, so that more may fit. False where
// batch or memory is not known.
func (a adviser) room() (fits, batch int, used, total float64, ok bool) {
	size, known := a.base.Settings.Float(stoker.BatchSize)
	device := a.findDevice()
	subject := fmt.Sprintf("gpu/%d", device.Index)
	used = a.run.Find(recording.PeakReserved, subject).Largest()
	if math.IsNaN(used) { // of all programs on the device
		used = a.run.Find(recording.GPUMemory, subject).Largest()
	}
	if device.MemoryBytes != nil {
		total = *device.MemoryBytes
	}
	if !known || size < 1 || !(used > 0) || !(total > 0) {
		return 0, 0, 0, 0, false
	}
	return roundBatch(math.Min(mostBatch, mostMemory*total/used) * size), int(size), used, total, true
}

// findDevice returns the judged trainer's device, the first if that is not known. Its index alone is
// set where nothing else of it was recorded.
func (a adviser) findDevice() recording.GPU {
	device := recording.GPU{}
	if p := a.run.FindProcess(a.costs.Window.PID); p != nil && p.Device >= 0 {
		device.Index = p.Device
	}
	for _, g := range a.run.Facts.GPUs {
		if g.Index == device.Index {
			return g
		}
	}
	return device
}

// roundBatch returns the largest good batch size up to n.
func roundBatch(n float64) int {
	for _, m := range multiples {
		if n >= float64(2*m) {
			return int(n) / m * m
		}
	}
	return int(n)
}

// proposeBatchSize proposes more work per launch where the device's side of a step is the limit.
func (a adviser) proposeBatchSize() (Fix, string) {
	fits, now, used, total, ok := a.room()
	class := a.verdict.Class
	if !ok || !class.Is(diagnose.GPUBound) && class != diagnose.LaunchBound && class != diagnose.NetworkBound {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.BatchSize), Title: "more work per launch", Effort: Flag, Risk: a.riskOfBatches(),
		Lossless: a.verdict.Grounds.Program == diagnose.Inference,
	}
	filled := fmt.Sprintf("PyTorch has reserved %s of the device's %s at most", quantity.AboutBytes(used),
		quantity.AboutBytes(total))
	if float64(fits) < leastRoom*float64(now) {
		return fix, fmt.Sprintf("%s: no room for batches of much more than %d. %s", filled, now, accumulate(now))
	}
	best := fits
	for b := fits; b >= 2*now; b = roundBatch(float64(b) / 2) {
		if a.batchGain(b) < goodBatch*a.batchGain(fits) {
			break
		}
		best = b
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.BatchSize, best)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{
		fmt.Sprintf("%s at batch %d: %d fit, even if all of it grows with the batch. Multiples of 8, and of 64 for "+
			"large batches, fill Tensor Cores", filled, now, fits),
		accumulate(now),
		"per sample. The learning rate follows, and results are those of another batch size",
	}
	if !worthIt(fix.Forecast) {
		return fix, fmt.Sprintf("%s. There is room for %d (%s at batch %d)", notWorth(fix.Forecast), fits, filled, now)
	}
	return fix, ""
}

// accumulate says what to do where a batch does not fit.
func accumulate(now int) string {
	return fmt.Sprintf("What does not fit can be accumulated: 8 batches of %d are one of %d to the optimizer (8 x %d "+
		"= %d), in the memory of %d and no faster", now, 8*now, now, 8*now, now)
}

func (a adviser) batchGain(batch int) float64 {
	return a.forecast(a.makeChange(stoker.BatchSize, batch)).Speedup.Point
}

// How many times as fast a whole step gets at most by a format of numbers: the peak is one of products alone. [J] A
// GPT-2 of 124 million parameters takes 1,000 ms in float32, 333 ms in TF32 and 300 ms in bf16 on an A100 (Karpathy,
// build-nanogpt), and PyTorch's recipe for autocast says two to three times.
const (
	mostByTF32   = 3.5
	mostBy16Bits = 4.0
)

// proposePrecision proposes the number formats that the device has units for, if it computes
// all the time. Without a trace it is not known how much of that is matrix work, so that
// their worth is only bounded.
func (a adviser) proposePrecision(to stoker.Change, format hardware.Precision) (Fix, string) {
	gpu := measure.MachineOf(a.run).GPU
	if !a.verdict.Class.Is(diagnose.GPUBound) || a.kernelsSeen() || a.verdict.Costs.Feed != nil {
		return Fix{}, ""
	}
	if now := a.base.Settings.Text(stoker.Precision); now != "float32" {
		return Fix{}, "" // in 16 bits already, or not known
	}
	fix := Fix{Name: string(to.Setting), Effort: Code, Risk: NumericsRisk}
	peak, plain := gpu.Peak(format), gpu.Peak(hardware.FP32)
	if !plain.Known() {
		return Fix{}, ""
	}
	if !peak.Known() {
		return fix, fmt.Sprintf("%s has no units for %s", gpu.Title, format)
	}
	fix.Title = fmt.Sprintf("compute in %s, for which %s has %.0f times the peak of float32", format, gpu.Title,
		peak.Value/plain.Value)
	fix.Changes = []stoker.Change{to}
	most := mostBy16Bits
	if format == hardware.TF32 {
		most = mostByTF32
	}
	fix.Forecast = a.base.Faster(min(most, peak.Value/plain.Value))
	fix.Notes = []string{"an upper bound, for a step that is mostly matrix work: what moves data gains twofold at most, " +
		"and a trace tells the two apart (stoker observe --trace 5)"}
	return fix, ""
}

// tf32 proposes Tensor Cores for float32.
func (a adviser) tf32() (Fix, string) {
	if on, known := a.base.Settings.Bool(stoker.TF32); !known || on {
		return Fix{}, ""
	}
	fix, why := a.proposePrecision(a.makeChange(stoker.TF32, true), hardware.TF32)
	if why == "" && fix.Name != "" {
		fix.Mind = "whether 16 bits will do: they speed up the same work, and the two gains are one"
		fix.Notes = append(fix.Notes,
			`torch.set_float32_matmul_precision("high"): ten bits of mantissa in products, sums stay float32`)
	}
	return fix, why
}

// half proposes 16 bits: bf16 where there is such a unit, else fp16, which needs a scaler.
func (a adviser) half() (Fix, string) {
	gpu, format := measure.MachineOf(a.run).GPU, hardware.BF16
	if !gpu.HasBF16() {
		format = hardware.FP16
	}
	if a.base.Settings.Text(stoker.Precision) == "float16" && format == hardware.BF16 && gpu.ComputeMajor > 0 {
		return Fix{Name: string(stoker.Precision)}, "it is 16 bits already. If a loss overflows (NaN), take bf16, which is " +
			"as fast here and has the range of float32"
	}
	fix, why := a.proposePrecision(a.makeChange(stoker.Precision, string(format)), format)
	if why != "" || fix.Name == "" {
		return fix, why
	}
	note := "torch.autocast(\"cuda\", torch.bfloat16) around forward and loss. bf16 has the range of float32: " +
		"losses that overflow in fp16 stay finite, and no scaler is needed"
	if format == hardware.FP16 {
		note = "torch.autocast(\"cuda\", torch.float16) around forward and loss, with torch.amp.GradScaler against " +
			"overflow: this device has no bf16"
	}
	fix.Notes = append(fix.Notes, note)
	return fix, ""
}

// kernelsSeen reports whether a trace tells which kernels run: it says more than the law does.
func (a adviser) kernelsSeen() bool { return a.verdict.Traced != nil || a.verdict.Device >= 0 }

// compile says why compiling is not promised anything without a trace of kernels.
func (a adviser) compile() (Fix, string) {
	if !a.verdict.Class.Is(diagnose.GPUBound) || a.kernelsSeen() || a.base.Settings.Text(stoker.Compile) != "" {
		return Fix{}, ""
	}
	return Fix{Name: string(stoker.Compile)},
		"only a trace tells what fusing kernels is worth (torch.compile, scaled_dot_product_attention, fused=True of " +
			"optimizers): stoker observe --trace 5"
}

// decodes reports whether the judged loader's samples are pictures that are decoded.
func (a adviser) decodes() bool {
	l := a.judgedLoader()
	if l == nil {
		return false
	}
	for _, name := range l.Transforms {
		if strings.HasPrefix(name, vision) {
			return true
		}
	}
	return l.Reader == folderReader
}

// proposeDecoding proposes to decode pictures once and to store their pixels, if the cores cannot
// decode as fast as the device computes.
func (a adviser) proposeDecoding() (Fix, string) {
	if !a.verdict.Class.LacksCores() || !a.decodes() || a.costs.Feed != nil || !a.base.PrepareCPU.Known() {
		return Fix{}, ""
	}
	fix := Fix{Name: "pixels", Title: "decode the pictures once and store their pixels", Effort: Data, Risk: NoRisk}
	cost := predict.PixelsCost()
	fix.Forecast = a.base.Cheaper(cost)
	fix.Notes = []string{
		"stoker pack FOLDER -o packed --decoded writes Pillow's pixels into shards that WebDataset reads. --resize N first " +
			"shrinks them, and --dry-run says what that costs and saves",
		fmt.Sprintf("assumes that preparing one needs %s of today's core time (crop, flip and normalise stay)",
			quantity.Around(cost, quantity.Percent)),
		"it costs disk, and reading that much: three bytes a pixel, about five times a JPEG (500 x 375: 0.56 MB for " +
			"0.11), and less if they are scaled down once to what the crop needs",
	}
	return fix, ""
}

// onGPU proposes to decode on the device, where the cores cannot and it has time left.
func (a adviser) onGPU() (Fix, string) {
	if !a.verdict.Class.LacksCores() || !a.decodes() || a.costs.Feed != nil || !a.base.PrepareCPU.Known() ||
		len(a.run.Facts.GPUs) == 0 {
		return Fix{}, ""
	}
	fix := Fix{Name: "gpu-decode", Title: "decode on the device (DALI, nvJPEG)", Effort: Code, Risk: NumericsRisk}
	fix.Forecast = keepBound(a.base.Cheaper(predict.DeviceDecodeCost()))
	fix.Forecast.Notes = nil
	fix.Notes = []string{
		fmt.Sprintf("an upper bound: the cores keep reading alone, and the device, which is idle %s of the time, "+
			"decodes and transforms meanwhile at no cost", quantity.Percent(a.verdict.Idle)),
		`nvidia.dali: fn.decoders.image_random_crop(device="mixed") or torchvision.io.decode_jpeg(list, device="cuda"). It takes device memory and kernels' time, and its pixels are not Pillow's`,
	}
	return fix, ""
}

// riskOfBatches is what another number of samples to an optimizer step may break: training learns from them, inference
// takes more memory. A trace shows that nothing is differentiated. A live run may take its gradients in its own way.
func (a adviser) riskOfBatches() Risk {
	if a.verdict.Grounds.Program == diagnose.Inference && a.kernelsSeen() {
		return MemoryRisk
	}
	return LearningRisk
}
