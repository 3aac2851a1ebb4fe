package question

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
)

// mostGPUs is how many GPUs one machine has at most: NVIDIA's HGX-2 and AWS's p2.16xlarge have 16.
const mostGPUs = 16

// mostEmulated is how many accelerators one host of MLPerf Storage may emulate. They only sleep, and a
// published result of v1.0 has 51.
const mostEmulated = 1024

// checkMachines asks for --nodes if one machine cannot have all GPUs, since --cores and
// --storage describe one machine.
func (d *job) checkMachines() error {
	gpus := []float64{max(1, d.GPUs)}
	for _, axis := range d.axes {
		if axis.Name == "gpus" {
			gpus = axis.Values
		}
	}
	nodes, most := max(1, d.Nodes), mostGPUs
	if d.Text("mlperf") != "" {
		most = mostEmulated
	}
	for _, n := range gpus {
		if n/nodes > float64(most) {
			return fmt.Errorf("--gpus %.0f on %.0f machine(s): expected at most %d on each, since --cores and "+
				"--storage are those of one machine: say how many machines there are: --nodes %.0f", n, nodes,
				most, evenNodes(n))
		}
		if math.Mod(n, nodes) != 0 {
			return RefuseUneven(n, nodes)
		}
	}
	return nil
}

// RefuseUneven returns the error for GPUs that machines cannot share evenly.
func RefuseUneven(gpus, nodes float64) error {
	return fmt.Errorf("--gpus %.0f and --nodes %.0f: expected as many GPUs on each machine, such as --nodes %.0f", gpus,
		nodes, evenNodes(gpus))
}

// evenNodes returns the fewest machines of at most 8 GPUs that share the GPUs evenly.
func evenNodes(gpus float64) float64 {
	each := 8.
	for math.Mod(gpus, each) != 0 && each > 1 {
		each--
	}
	return gpus / each
}

// checkStep refuses a --step that would need more than the GPU's peak.
func (d *job) checkStep() error {
	if d.Text("step") == "" || !(d.Batch > 0) || len(d.axes) > 0 {
		return nil
	}
	if err := d.Load.CheckStep(d.Batch, d.Step.Point); err != nil {
		return fmt.Errorf("--step %s: %w", d.Text("step"), err)
	}
	return nil
}

// readNetwork reads the network: by its name in the table, or by flags that describe it.
func readNetwork(d *job, _ string) error {
	switch {
	case d.hasOwnNetwork():
		return d.readOwn()
	case d.Text("model") != "":
		return d.readModel()
	}
	return nil
}

func readPrecision(d *job, flag string) (err error) {
	d.Load.Precision, err = precisionOf(d.Text(flag))
	return err
}

func readSoftware(d *job, flag string) (err error) {
	d.Load.Software, err = softwareOf(d.Text(flag))
	return err
}

func readGPU(d *job, flag string) error {
	name := d.Text(flag)
	if name == "" {
		return nil
	}
	gpu, err := FindGPU(flag, name, d.Table, d.Say)
	if err != nil {
		return err
	}
	if _, exact := d.Table.FindGPU(name); !exact {
		d.note("kind of GPU", gpu.Name, "assumed, --gpu names another")
	}
	d.Load.GPU = gpu
	d.noteGPU()
	return nil
}

// readKind reads whether the job trains, and begins the title.
func readKind(d *job, flag string) error {
	d.Load.Training = !d.On(flag)
	if d.describes() {
		d.name()
	}
	return nil
}

func readRecompute(d *job, flag string) error {
	if d.Load.Recompute = d.On(flag); d.Load.Recompute {
		d.note(flag, "activations", given)
	}
	return nil
}

func readShard(d *job, flag string) (err error) {
	if d.Load.Shard, err = shardOf(d.Text(flag)); err != nil {
		return err
	}
	if d.Text(flag) != "" {
		d.note(flag, string(d.Load.Shard), given)
	}
	return nil
}

// readConnection reads the network between machines, by name or rate.
func readConnection(d *job, flag string) error {
	text := d.Text(flag)
	if text == "" {
		return nil
	}
	network, known := d.Table.FindNetwork(text)
	if !known {
		rate, err := ReadRate(flag, text, d.Table.NetworkNames())
		if err != nil {
			return err
		}
		network.Rate = hardware.Figure{Value: float64(rate), Source: given}
	}
	d.Network = stoker.Exactly(network.Rate.Value)
	shown := strings.TrimSpace(network.Title + " " + quantity.AboutRate(network.Rate.Value))
	d.note(flag, shown, network.Rate.Source)
	return nil
}

func shardOf(text string) (device.Shard, error) {
	switch s := device.Shard(strings.ToLower(text)); {
	case s == device.NoShard || slices.Contains(device.Shards, s):
		return s, nil
	case s == "fsdp":
		return device.ZeRO3, nil
	}
	return "", fmt.Errorf("--shard %q: expected %s, %s, %s or fsdp, or leave it out for a copy on each GPU", text,
		device.ZeRO1, device.ZeRO2, device.ZeRO3)
}

// noteGPU lists the GPU with its peak in the precision as an input.
func (d *job) noteGPU() {
	gpu, p := d.Load.GPU, d.Load.Precision
	memory := "memory " + quantity.AboutRate(stat.PositiveOrNaN(gpu.MemoryRate.Value))
	if p == device.AnyPrecision {
		d.note("gpu", gpu.Title+", "+memory, cmp.Or(gpu.MemoryRate.Source, given))
		return
	}
	peak := gpu.Peak(p)
	d.note("gpu", fmt.Sprintf("%s, %s in %s, %s", gpu.Title,
		quantity.AboutFLOPs(stat.PositiveOrNaN(peak.Value)), p, memory),
		cmp.Or(peak.Source, given))
}

// name begins the title with network, kind, precision and software.
func (d *job) name() {
	kind := "training"
	if !d.Load.Training {
		kind = "inference"
	}
	d.named = append(d.named, d.Load.Workload.Title, kind)
	if d.Load.Precision == device.AnyPrecision {
		d.note("precision", "unnamed: from 16 bits to what PyTorch takes by itself", "--precision narrows it")
	} else {
		d.named = append(d.named, string(d.Load.Precision))
		d.note("precision", string(d.Load.Precision), given)
	}
	if d.Load.Software == device.AnySoftware {
		d.note("software", "unnamed: the whole spread of public measurements", "--software narrows it")
		return
	}
	d.named = append(d.named, string(d.Load.Software))
	d.note("software", string(d.Load.Software), given)
}

// addRemedy adds flags that work to an error: another precision, or a way to need less memory.
func addRemedy(err error) error {
	var precision *device.PrecisionError
	var memory *predict.MemoryError
	switch {
	case hint.FindLine(err) != "":
	case errors.As(err, &precision):
		return hint.Attach(err, "--precision "+string(precision.Instead))
	case errors.As(err, &memory):
		if remedy := findRoom(memory); remedy != "" {
			return hint.Attach(err, remedy)
		}
	}
	return err
}

// findRoom returns flags with which a batch fits into memory, "" if none are known.
func findRoom(memory *predict.MemoryError) string {
	if memory.Largest >= 1 {
		return fmt.Sprintf("--batch %.0f", memory.Largest)
	}
	shard, recompute := memory.Remedy()
	switch {
	case shard != device.NoShard:
		return "--shard " + string(shard) + " --gpus 8 --recompute"
	case recompute:
		return "--recompute"
	}
	return ""
}

// describeSharing returns the words of the title for sharding and recomputation.
func (d *job) describeSharing() (words []string) {
	if d.Load.Shard != device.NoShard {
		words = append(words, string(d.Load.Shard))
	}
	if d.Load.Recompute {
		words = append(words, "recomputed")
	}
	return words
}

// readModel reads a network of the table, with the size of its samples.
func (d *job) readModel() error {
	w, known := device.FindWorkload(d.Text("model"))
	if !known {
		return unknownModel(d.Text("model"))
	}
	if d.Text("tokens") != "" {
		n, _, err := d.value("tokens")
		if err != nil {
			return err
		}
		if w.Tokens == 0 || w.Side > 0 {
			return fmt.Errorf("--tokens: samples of %s are no sequences of tokens", w.Title)
		}
		w = w.WithTokens(n)
	}
	if d.Text("side") != "" {
		n, _, err := d.value("side")
		if err != nil {
			return err
		}
		if w.Side == 0 {
			return fmt.Errorf("--side: samples of %s have no sides", w.Title)
		}
		w = w.WithSide(n)
	}
	d.Load.Workload = w
	return nil
}

// shortestName is the length from which a model's name is compared with others: "t5" is in "resnet50".
const shortestName = 3

// unknownModel returns the error for an unknown model. It lists similar names and the flags that
// describe one.
func unknownModel(name string) error {
	own := "describe a network of your own by --flops, --bytes and --params, which stoker.count(model, input) " +
		"prints in Python"
	near := device.NearestWorkloads(name)
	if len(name) >= shortestName && len(hardware.Nearest(name, near)) > 0 {
		return fmt.Errorf("--model %q is not in the table, nearest: %s, all: stoker predict --list models, or %s", name,
			strings.Join(near, ", "), own)
	}
	return hint.Attach(
		fmt.Errorf("--model %q is not in the table (stoker predict --list models): %s", name, own),
		"stoker predict --list models",
	)
}

// readKindOfData fills in the figures of a sample that were not given.
func readKindOfData(d *job, _ string) (err error) {
	if d.data, err = d.readProfile(); err != nil {
		return err
	}
	if d.data.Access == predict.NoStorage {
		d.Cached = 1 // nothing is read
		d.data.Stored = predict.Amount{}
	}
	return nil
}

// readPrepareRate reads --cpu as a rate, which replaces the cost of preparing.
func readPrepareRate(d *job, flag string) error {
	if d.Text(flag) != "" && d.Text("prepare") != "" {
		return errors.New("--cpu and --prepare say the same in two ways: give one")
	}
	if !d.givesPrepareRate() {
		return nil
	}
	read := usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.PrepareRate, predict.Amount{} })
	return read(d, flag)
}

// givesPrepareRate reports whether --cpu is a rate, and not the name of a processor.
func (d *job) givesPrepareRate() bool {
	text := d.Text("cpu")
	return text == unknownWord || text != "" && strings.ContainsAny(text[:1], "0123456789.-")
}

// readProcessor fills in the cost of preparing a sample on the processor that --cpu names.
func (d *job) readProcessor() error {
	name := d.Text("cpu")
	if name == "" {
		return nil
	}
	cpu, known := d.Table.FindCPU(name)
	if !known || strings.Contains(name, ",") { // FindCPU finds a name within longer ones
		return UnknownName("cpu", name, d.Table.CPUNames())
	}
	if d.data.Prepare = d.data.PrepareOn(cpu); d.data.Prepare.Point > 0 {
		return nil
	}
	if !cpu.DecodeRate("pillow").Known() {
		return fmt.Errorf("--cpu %s: its row has no rate of pillow: add it, or give --prepare", cpu.Name)
	}
	return fmt.Errorf("--cpu %s: the table tells how fast a core decodes JPEGs, and these samples are not known to "+
		"be JPEGs: give --prepare, or --data imagenet-jpeg", cpu.Name)
}

func readPrepare(d *job, flag string) error {
	if d.givesPrepareRate() {
		return nil
	}
	if err := d.readProcessor(); err != nil {
		return err
	}
	if n, failed := quantity.ParseNumber(d.single(flag)); failed == nil && n == 0 {
		d.PrepareCPU = stoker.Exactly(predict.NoWork)
		d.note(flag, "0 s", given)
		return nil
	}
	read := usually(func(d *job) (*stoker.Interval, predict.Amount) {
		return &d.PrepareCPU, d.data.PrepareOf(bounds.Given(d.Sample))
	})
	return read(d, flag)
}

func readHandOver(d *job, flag string) error {
	if d.givesPrepareRate() {
		return nil
	}
	read := usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.HandOver, predict.Amount{} })
	return read(d, flag)
}

func readSpread(d *job, flag string) error {
	switch text := d.Text(flag); {
	case d.givesPrepareRate():
	case text == "":
		if d.Spread = d.data.Spread.Point; d.Spread > 0 {
			d.note(flag, quantity.About(d.Spread), d.data.Spread.Source)
		}
	default:
		n, err := quantity.ParseNumber(text)
		if err != nil {
			return fmt.Errorf("--spread: %w", err)
		}
		if err := checkCount(flag, float64(n)); err != nil {
			return err
		}
		d.Spread = float64(n)
		d.note(flag, n.String(), given)
	}
	return nil
}

// readProfile returns the kind of data that --data names, or that the model usually reads.
func (d *job) readProfile() (predict.Profile, error) {
	name, source := d.Text("data"), given
	if name == "" {
		name, source = d.Load.Workload.Profile, "what "+d.Load.Workload.Title+" usually reads, --data"
	}
	if name == "" {
		return predict.Profile{}, nil
	}
	profile, known := predict.FindProfile(name)
	if !known && slices.Contains(shardFormats, strings.ToLower(name)) {
		return predict.Profile{}, hint.Attach(fmt.Errorf("--data %q is a format: --access says how samples are stored, and "+
			"--data what they are", name), "--access sequential")
	}
	if !known {
		return predict.Profile{}, fmt.Errorf("--data %q is not in the table, nearest: %s, all: stoker predict "+
			"--list profiles", name, strings.Join(predict.NearestProfiles(name), ", "))
	}
	if profile.PerToken && d.Load.Workload.Tokens == 0 {
		return predict.Profile{}, fmt.Errorf("--data %s is counted by the token: name a --model whose samples are "+
			"sequences", profile.Name)
	}
	d.note("data", profile.Title, source)
	return profile.For(d.Load.Workload), nil
}

// readWorkers reads num_workers, which may be 0.
func readWorkers(d *job, flag string) error {
	text := d.single(flag)
	if text == "" || text == unknownWord {
		return nil
	}
	v, err := quantity.ParseCount(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if err := checkCount(flag, float64(v)); err != nil {
		return err
	}
	d.Setup = d.WithWorkers(float64(v))
	d.note(flag, v.String(), given)
	return nil
}

// readStorage reads what storage delivers: a class with its rate, reads and latency, or a rate that holds
// for samples as they are.
func readStorage(d *job, flag string) error {
	text := d.single(flag)
	if text == "" || text == unknownWord {
		if !isRange(d.Text(flag)) {
			d.Setup = d.WithStorage(hardware.Storage{}, d.usual)
		}
		return nil
	}
	access := d.usual
	class, known := d.Table.FindStorage(text)
	if !known {
		rate, err := ReadRate(flag, text, d.Table.StorageNames())
		if err != nil {
			return err
		}
		access, class = predict.Sequential, hardware.Storage{Rate: hardware.Figure{Value: float64(rate), Source: given}}
	}
	d.Setup = d.WithStorage(class, access)
	d.noteStorage(class, access)
	return nil
}

func (d *job) noteStorage(row hardware.Storage, access predict.Access) {
	d.note("storage", strings.TrimSpace(row.Title+" "+quantity.AboutRate(stat.PositiveOrNaN(row.Rate.Value))),
		row.Rate.Source)
	if access != predict.Files {
		return
	}
	d.note("reads", quantity.About(stat.PositiveOrNaN(row.IOPS.Value))+" reads/s",
		cmp.Or(row.IOPS.Source, "not in the table, --reads"))
	least, likely, most := row.LatencyBetween()
	latency := stoker.Interval{
		Low: stat.PositiveOrNaN(least), Point: stat.PositiveOrNaN(likely),
		High: stat.PositiveOrNaN(most),
	}
	d.note("latency", quantity.Around(latency, quantity.AboutSeconds),
		cmp.Or(row.Latency.Source, "not in the table, --latency"))
}

// shardFormats are formats in which many samples share a file that is read in a row.
var shardFormats = []string{
	"shards", "shard", "tar", "webdataset", "wds", "tfrecord", "mds", "parquet", "arrow", "lmdb",
}

// readAccess reads how samples are stored: as given, as is usual for the kind of data, or as a file each.
func readAccess(d *job, flag string) error {
	access := predict.Access(strings.ToLower(d.Text(flag)))
	if slices.Contains(shardFormats, string(access)) {
		access = predict.Sequential
	}
	switch access {
	case "":
		d.usual = predict.Files
		if d.data.Access != "" {
			d.usual = d.data.Access
		}
	case predict.Files, predict.Sequential:
		d.usual = access
		d.note(flag, string(access), given)
	default:
		return fmt.Errorf("--access %q: expected %s (one for each sample) or %s (shards, or one large file)",
			access, predict.Files, predict.Sequential)
	}
	return nil
}

// readCached reads the share of the data set in memory: as given, or as the memory over the data set's size.
func readCached(d *job, _ string) error {
	if text := d.single("cached"); text != "" {
		if d.Text("dataset") != "" || d.Text("memory") != "" {
			return errors.New("--cached and --dataset with --memory say the same in two ways: give one")
		}
		v, err := quantity.ParseShare(text)
		if err != nil {
			return fmt.Errorf("--cached: %w", err)
		}
		d.Cached = float64(v)
		d.note("cached", v.String(), given)
		return nil
	}
	if d.Text("dataset") == "" && d.Text("memory") == "" {
		return nil
	}
	if d.Text("dataset") == "" || d.Text("memory") == "" {
		return errors.New("--dataset and --memory go together: what the samples take in storage, and the memory " +
			"of a machine that is left to keep them")
	}
	size, sizeText, err := d.value("dataset")
	if err != nil {
		return err
	}
	memory, memoryText, err := d.value("memory")
	if err != nil {
		return err
	}
	d.Cached = math.Min(1, memory/size)
	d.note("cached", fmt.Sprintf("%s of %s in %s of memory", quantity.Percent(d.Cached), sizeText, memoryText), given)
	return nil
}

// readPinned reads whether batches are copied from page-locked memory.
func readPinned(d *job, flag string) error {
	kind, source := "pageable", "PyTorch's default, --pinned"
	if d.Pinned = d.On(flag); d.Pinned {
		kind, source = "pinned", given
	}
	d.note("memory", kind, source)
	return nil
}

// directLink is the value of --link for GPUDirect Storage, with which the GPU reads from storage itself.
const directLink = "gds"

// readDirectly sets up GPUDirect Storage: it refuses the CPU's flags and removes the CPU's work.
func (d *job) readDirectly() error {
	if d.Text("link") != directLink {
		return nil
	}
	for _, flag := range []string{"workers", "prepare", "cpu", "decoded", "hand-over", "spread"} {
		if d.Text(flag) != "" {
			return fmt.Errorf("--link gds: the device reads by itself, so the CPU prepares nothing: leave --%s out", flag)
		}
	}
	d.Setup = d.ReadDirectly()
	d.note("decoding", "on the device, whose time for it is not counted", "--link gds")
	return nil
}

func readLink(d *job, _ string) error {
	name := cmp.Or(d.Text("link"), d.Load.GPU.Link)
	if d.Text("link") == directLink {
		if name = d.Load.GPU.Link; name == "" {
			return errors.New("--link gds reads over the GPU's own link: name the --gpu")
		}
	}
	if name == "" {
		return nil
	}
	link, known := d.Table.FindLink(name)
	if !known {
		if d.Text("link") == "" {
			return UnknownName("link", name, d.Table.LinkNames())
		}
		rate, err := ReadRate("link", name, d.Table.LinkNames())
		if err != nil {
			return err
		}
		figure := hardware.Figure{Value: float64(rate), Source: given}
		link = hardware.Link{
			Name: "given", Nominal: figure, Pinned: figure,
			Pageable: [2]hardware.Figure{figure, figure},
		}
	}
	d.Link = link
	d.note("link", link.Name, cmp.Or(map[bool]string{true: given}[d.Text("link") != ""], "the GPU's"))
	return nil
}

func precisionOf(text string) (hardware.Precision, error) {
	switch p := hardware.ReadPrecision(text); {
	case p == "":
		return device.AnyPrecision, nil
	case slices.Contains(hardware.Precisions, p):
		return p, nil
	}
	return "", fmt.Errorf("--precision %q: expected fp32, tf32, fp16, bf16, fp8 or int8", text)
}

// softwarePrograms maps names of programs to their class of software.
var softwarePrograms = map[string]device.Software{
	"tensorrt": device.Engine, "trt": device.Engine, "openvino": device.Engine,
	"onnxruntime": device.Engine, "torch.compile": device.Compiled, "inductor": device.Compiled,
	"xla": device.Compiled, "jax": device.Compiled, "pytorch": device.Eager, "torch": device.Eager,
}

func softwareOf(text string) (device.Software, error) {
	all := []device.Software{device.Eager, device.ChannelsLast, device.Compiled, device.Engine}
	if class, known := softwarePrograms[strings.ToLower(text)]; known {
		return class, nil
	}
	switch s := device.Software(strings.ToLower(text)); {
	case s == device.AnySoftware || s == "any":
		return device.AnySoftware, nil
	case slices.Contains(all, s):
		return s, nil
	}
	return "", fmt.Errorf("--software %q: expected %s, %s, %s or %s, or leave it out for the whole spread", text,
		all[0], all[1], all[2], all[3])
}

// title returns the title of the answer.
func (d *job) title() string {
	words := append(append([]string{}, d.named...), d.describeSharing()...)
	if d.Batch > 0 && !slices.ContainsFunc(d.axes, func(a predict.Axis) bool { return a.Name == "batch" }) {
		words = append(words, fmt.Sprintf("batch %.0f", d.Batch))
	}
	if len(words) == 0 {
		words = []string{"a job"}
	}
	text := strings.Join(words, ", ")
	if d.Load.GPU.Title != "" {
		text += " on "
		if d.GPUs > 1 {
			text += fmt.Sprintf("%.0f x ", d.GPUs)
		}
		text += d.Load.GPU.Title
	}
	for i, axis := range d.axes {
		text += []string{" over ", " and "}[i] + axis.Name
	}
	return text
}
