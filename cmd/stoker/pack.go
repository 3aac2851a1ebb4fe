package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/feed/pack"
	"github.com/stoker-dev/stoker/feed/pack/shards"
	set "github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// packFlags are the flags of the verb.
type packFlags struct {
	output, size         string
	samples, resize      int
	seed                 uint64
	decoded, skip        bool
	verify, dryRun, json bool
}

// measuredFiles of a data set tell what a pack of it costs: to some 5 % where sizes vary as ImageNet's do.
const measuredFiles = 200

func (a *app) packCommand() *cobra.Command {
	var f packFlags
	cmd := &cobra.Command{
		Use:   "pack (FOLDER | TAR) -o DIR",
		Short: "Write images into tar shards that are read in order",
		Long: `Write a folder or tar file of images, one folder per class, into tar shards that WebDataset reads. An
interrupted pack goes on with the same command, and the same input gives the same bytes.`,
		Example: `  stoker pack data/train --dry-run                 what it would cost in disk and save in cores
  stoker pack data/train -o packed --shuffle 1
  stoker pack -o packed --verify                   read every shard back`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.readOptions(cmd.Flags().Changed, len(args) > 0)
			if err != nil {
				return asUsage(err)
			}
			a.began = true
			ctx, stop := signal.NotifyContext(cmd.Context(), heeded(os.Interrupt)...)
			defer stop()
			context.AfterFunc(ctx, stop) // a second Ctrl-C ends it where the storage does not answer
			return interrupted(ctx, a.runPack(ctx, args, f, o))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` for the shards (an unfinished pack in it is continued)")
	flags.Uint64Var(&f.seed, "shuffle", 0, "shuffle the samples by a `SEED` (default: class by class)")
	flags.StringVar(&f.size, "shard-size", "1GB", "bytes that a shard has at most")
	flags.IntVar(&f.samples, "shard-samples", 0, "samples that a shard has at most (default: any number)")
	flags.IntVar(&f.resize, "resize", 0,
		"shrink pictures to a shorter side of `N` pixels (training results may change)")
	flags.BoolVar(&f.decoded, "decoded", false,
		"pack Pillow's pixels as PPM files (no decoding any more, several times the disk)")
	flags.BoolVar(&f.skip, "skip-bad", false,
		"leave out files that cannot be read or decoded, and list them (default: the first one ends it)")
	flags.BoolVar(&f.verify, "verify", false,
		"read every shard back and compare with the originals, which are read once more")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"say what it would cost in disk and save in cores, by a part of the files, and write nothing")
	flags.BoolVar(&f.json, "json", false,
		"print one JSON object: the index of the pack, or with --dry-run the estimate")
	cmd.MarkFlagsMutuallyExclusive("verify", "dry-run")
	setGroups(cmd,
		section{"Write", "output shuffle shard-size shard-samples skip-bad"},
		section{"Change the pictures", "resize decoded"},
		section{"Answer", "dry-run verify json"},
	)
	return cmd
}

// readOptions checks the flags.
func (f packFlags) readOptions(given func(flag string) bool, named bool) (pack.Options, error) {
	o := pack.Options{Form: pack.Form{Resize: f.resize, Decoded: f.decoded}, Samples: f.samples, SkipBad: f.skip}
	if given("shuffle") {
		o.Shuffle = &f.seed
	}
	size, err := quantity.ParseBytes(f.size)
	o.Bytes = int64(size)
	switch {
	case err != nil:
		return o, fmt.Errorf("--shard-size %s: %w", f.size, err)
	case o.Bytes < 1 || f.samples < 0:
		return o, fmt.Errorf("--shard-size %s --shard-samples %d: sizes above 0 are expected", f.size, f.samples)
	case given("resize") && (f.resize < 1 || f.resize > 1<<16):
		return o, fmt.Errorf("--resize %d: 1 to %d pixels are possible", f.resize, 1<<16)
	case !named && !f.verify:
		return o, errors.New("pack takes a folder or a tar file: stoker pack data/train -o packed")
	case f.output == "" && !f.dryRun:
		return o, errors.New("pack: -o names no folder for the shards")
	}
	return o, nil
}

// dataSet is one that can be closed.
type dataSet interface {
	pack.Source
	Notes() []string
	Close() error
}

// runPack does what was asked for.
func (a *app) runPack(ctx context.Context, args []string, f packFlags, o pack.Options) error {
	p := a.newProgress()
	defer p.end()
	if len(args) == 0 {
		o.Progress = counting(p, "verified")
		index, err := pack.Verify(ctx, nil, f.output, o)
		p.end()
		if err != nil {
			return err
		}
		return a.printPack(index, f)
	}
	from, err := listDataSet(ctx, args[0], f.output, p)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	for _, note := range from.Notes() {
		a.say("pack: %s", note)
	}
	if f.dryRun {
		o.Progress = counting(p, "measured")
		estimate, err := pack.Measure(ctx, from, o, measuredFiles)
		p.end()
		if err != nil {
			return a.whatNow(ctx, err, f)
		}
		return a.printEstimate(estimate, f)
	}
	if o.Resize > 0 {
		a.say("pack: --resize %d changes pixels: a training with the pack sees others than with the originals, and "+
			"its results are not theirs", o.Resize)
	}
	o.Progress = counting(p, "packed")
	index, err := pack.WriteShards(ctx, from, f.output, o)
	if err == nil && f.verify {
		o.Progress = counting(p, "verified")
		index, err = pack.Verify(ctx, from, f.output, o)
	}
	p.end()
	if err != nil {
		return a.whatNow(ctx, err, f)
	}
	return a.printPack(index, f)
}

func counting(p *progress, what string) func(done, total int) {
	return func(done, total int) { p.say("%s %d of %d", what, done, total) }
}

// listDataSet lists a folder or a tar file, which does not hold the folder that is written to.
func listDataSet(ctx context.Context, name, output string, p *progress) (dataSet, error) {
	o := set.Options{Progress: func(files int) { p.say("listing, %d files", files) }}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("pack: %w", err)
	case !info.IsDir():
		return toDataSet(set.ListTar(ctx, name, o))
	case output != "" && pack.Within(output, name):
		return nil, fmt.Errorf("pack %s: %s lies in it: the shards would belong to the data set", name, output)
	}
	return toDataSet(set.List(ctx, name, o))
}

// toDataSet keeps a nil pointer from being a data set.
func toDataSet[T dataSet](of T, err error) (dataSet, error) {
	if err != nil {
		return nil, err
	}
	return of, nil
}

// whatNow adds to an error with what the pack can be gone on with.
func (a *app) whatNow(ctx context.Context, err error, f packFlags) error {
	switch {
	case ctx.Err() != nil && !f.dryRun:
		a.say("pack: stopped: the same command goes on with %s", f.output)
		return err
	case errors.Is(err, pack.ErrOther):
		return hint.Add(err, "stoker pack … -o ANOTHER")
	case errors.Is(err, syscall.ENOSPC):
		return hint.Add(err, "the same command goes on from there, once there is room")
	case errors.Is(err, pack.ErrOutage):
		return hint.Add(err, "the same command goes on from there, once there is enough of what it lacked")
	case errors.Is(err, pack.ErrFault):
		return hint.Add(err, "without --decoded and --resize files are packed as they are")
	case errors.Is(err, pack.ErrBad):
		return hint.Add(err, "the same command with --skip-bad leaves such files out and goes on")
	}
	return err
}

func (a *app) printPack(index *shards.Index, f packFlags) error {
	if f.json {
		return wire.WriteObject(a.stdout, index)
	}
	state := ""
	if f.verify {
		state = ", verified"
	}
	classes := len(index.Classes)
	a.printLine("%s: %s of %d class%s in %s, %s%s", f.output, quantity.Many(index.Samples, "sample"), classes,
		quantity.Ending(classes, "", "es"),
		quantity.Many(len(index.Shards), "shard"), quantity.AboutBytes(float64(index.Bytes)), state)
	a.printLine("images: %s", index.Images)
	if index.Shuffle == nil {
		a.printLine("order: class by class, as it was listed: who reads in a row sees one class after the other, and " +
			"--shuffle SEED mixes them")
	} else {
		a.printLine("order: by chance, of seed %d", *index.Shuffle)
	}
	a.printBad(index.Bad)
	return nil
}

func (a *app) printBad(bad []shards.Bad) {
	if len(bad) == 0 {
		return
	}
	a.printLine("%s left out", quantity.Many(len(bad), "bad file"))
	for _, b := range bad[:min(namedFiles, len(bad))] {
		a.printLine("  %s", b.Reason)
	}
	if more := len(bad) - namedFiles; more > 0 {
		a.printLine("  and %d more: --json lists them all", more)
	}
}

func (a *app) printEstimate(e *pack.Estimate, f packFlags) error {
	if f.json {
		return wire.WriteObject(a.stdout, e)
	}
	a.printLine("%s, %d of them measured: %s", quantity.Many(e.Samples, "sample"), e.Measured, e.Images)
	a.printLine("disk: %s as they are, packed %s, %s", quantity.AboutBytes(float64(e.Bytes)),
		quantity.Around(e.Pack, quantity.AboutBytes), quantity.AboutRatio(e.Pack.Point/float64(e.Bytes)))
	a.printLine("cores for 1,000 images/s, as stoker reads and decodes whole pictures:")
	a.printLine("  now     %s to find and read files, %s to decode", quantity.AboutCores(1000*e.Read),
		quantity.AboutCores(1000*e.Decode))
	a.printLine("  packed  %s to decode. Shards are read in a row, with no file to find per image",
		quantity.AboutCores(1000*e.Packed))
	a.printLine("packing takes %s of one core", quantity.AboutSeconds(float64(e.Samples)*(e.Read+e.Packing)))
	a.printBad(e.Bad)
	return nil
}
