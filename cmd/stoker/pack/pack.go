// Package pack is the verb that writes images into tar shards.
package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
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

// measuredFiles is how many files are packed to estimate the size of a pack: to some 5 % if sizes
// vary as ImageNet's do.
const measuredFiles = 200

// Command makes the command stoker pack.
func Command(a *cli.App) *cobra.Command {
	var f packFlags
	cmd := &cobra.Command{
		Use:   "pack (FOLDER | TAR) -o DIR",
		Short: "Write images into tar shards that are read in order",
		Long: `Write a folder or tar file of images, one folder per class, into tar shards that WebDataset reads. An
interrupted pack goes on with the same command, and the same input gives the same bytes.`,
		Example: `  stoker pack data/train --dry-run                 what it would cost in disk and save in cores
  stoker pack data/train -o packed --shuffle 1
  stoker pack -o packed --verify                   read every shard back`,
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.readOptions(cmd.Flags().Changed, len(args) > 0)
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			ctx, stop := signal.NotifyContext(cmd.Context(), cli.HeededSignals(os.Interrupt)...)
			defer stop()
			context.AfterFunc(ctx, stop) // if the storage hangs, a second Ctrl-C kills this process
			return cli.Interrupted(ctx, runPack(ctx, a, args, f, o))
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
	cli.SetGroups(cmd,
		cli.Section{Title: "Write", Names: "output shuffle shard-size shard-samples skip-bad"},
		cli.Section{Title: "Change the pictures", Names: "resize decoded"},
		cli.Section{Title: "Answer", Names: "dry-run verify json"},
	)
	return cmd
}

// readOptions checks the flags and turns them into options of package pack.
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

// dataSet is a data set that can be closed.
type dataSet interface {
	pack.Source
	Notes() []string
	Close() error
}

// runPack writes, measures or verifies a pack.
func runPack(ctx context.Context, a *cli.App, args []string, f packFlags, o pack.Options) error {
	p := a.NewProgress()
	defer p.End()
	if len(args) == 0 {
		o.Progress = counting(p, "verified")
		index, err := pack.Verify(ctx, nil, f.output, o)
		p.End()
		if err != nil {
			return err
		}
		return printPack(a, index, f)
	}
	from, err := listDataSet(ctx, args[0], f.output, p)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	for _, note := range from.Notes() {
		a.Say("pack: %s", note)
	}
	if f.dryRun {
		o.Progress = counting(p, "measured")
		estimate, err := pack.Measure(ctx, from, o, measuredFiles)
		p.End()
		if err != nil {
			return whatNow(ctx, a, err, f)
		}
		return printEstimate(a, estimate, f)
	}
	if o.Resize > 0 {
		a.Say("pack: --resize %d changes pixels: a training with the pack sees others than with the originals, and "+
			"its results are not theirs", o.Resize)
	}
	o.Progress = counting(p, "packed")
	index, err := pack.WriteShards(ctx, from, f.output, o)
	if err == nil && f.verify {
		o.Progress = counting(p, "verified")
		index, err = pack.Verify(ctx, from, f.output, o)
	}
	p.End()
	if err != nil {
		return whatNow(ctx, a, err, f)
	}
	return printPack(a, index, f)
}

func counting(p *cli.Progress, what string) func(done, total int) {
	return func(done, total int) { p.Say("%s %d of %d", what, done, total) }
}

// listDataSet lists a folder or a tar file. It rejects a folder that contains the output.
func listDataSet(ctx context.Context, name, output string, p *cli.Progress) (dataSet, error) {
	o := set.Options{Progress: func(files int) { p.Say("listing, %d files", files) }}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("pack: %w", err)
	case !info.IsDir():
		return toDataSet(set.ListTar(ctx, name, o))
	case output != "" && pack.Within(output, name):
		return nil, fmt.Errorf("pack %s: %s is inside it: the shards would become a part of the data set", name, output)
	}
	return toDataSet(set.List(ctx, name, o))
}

// toDataSet avoids an interface with a nil pointer in it.
func toDataSet[T dataSet](of T, err error) (dataSet, error) {
	if err != nil {
		return nil, err
	}
	return of, nil
}

// whatNow adds a hint to an error: how to continue the pack.
func whatNow(ctx context.Context, a *cli.App, err error, f packFlags) error {
	switch {
	case ctx.Err() != nil && !f.dryRun:
		a.Say("pack: stopped: the same command goes on with %s", f.output)
		return err
	case errors.Is(err, pack.ErrOther):
		return hint.Attach(err, "stoker pack … -o ANOTHER")
	case errors.Is(err, syscall.ENOSPC):
		return hint.Attach(err, "the same command goes on from there, once there is room")
	case errors.Is(err, pack.ErrOutage):
		return hint.Attach(err, "the same command goes on from there, once there is enough of what it lacked")
	case errors.Is(err, pack.ErrFault):
		return hint.Attach(err, "without --decoded and --resize files are packed as they are")
	case errors.Is(err, pack.ErrBad):
		return hint.Attach(err, "the same command with --skip-bad leaves such files out and goes on")
	}
	return err
}

func printPack(a *cli.App, index *shards.Index, f packFlags) error {
	if f.json {
		return wire.WriteObject(a.Stdout, index)
	}
	state := ""
	if f.verify {
		state = ", verified"
	}
	classes := len(index.Classes)
	a.PrintLine("%s: %s of %d class%s in %s, %s%s", f.output, quantity.Many(index.Samples, "sample"), classes,
		quantity.Ending(classes, "", "es"),
		quantity.Many(len(index.Shards), "shard"), quantity.AboutBytes(float64(index.Bytes)), state)
	a.PrintLine("images: %s", index.Images)
	if index.Shuffle == nil {
		a.PrintLine("order: class by class, as it was listed: who reads in a row sees one class after the other, and " +
			"--shuffle SEED mixes them")
	} else {
		a.PrintLine("order: by chance, of seed %d", *index.Shuffle)
	}
	printBad(a, index.Bad)
	return nil
}

func printBad(a *cli.App, bad []shards.Bad) {
	if len(bad) == 0 {
		return
	}
	a.PrintLine("%s left out", quantity.Many(len(bad), "bad file"))
	for _, b := range bad[:min(cli.MostListed, len(bad))] {
		a.PrintLine("  %s", b.Reason)
	}
	if more := len(bad) - cli.MostListed; more > 0 {
		a.PrintLine("  and %d more: --json lists them all", more)
	}
}

func printEstimate(a *cli.App, e *pack.Estimate, f packFlags) error {
	if f.json {
		return wire.WriteObject(a.Stdout, e)
	}
	a.PrintLine("%s, %d of them measured: %s", quantity.Many(e.Samples, "sample"), e.Measured, e.Images)
	a.PrintLine("disk: %s as they are, packed %s, %s", quantity.AboutBytes(float64(e.Bytes)),
		quantity.Around(e.Pack, quantity.AboutBytes), quantity.AboutRatio(e.Pack.Point/float64(e.Bytes)))
	a.PrintLine("cores for 1,000 images/s, as stoker reads and decodes whole pictures:")
	a.PrintLine("  now     %s to find and read files, %s to decode", quantity.AboutCores(1000*e.Read),
		quantity.AboutCores(1000*e.Decode))
	a.PrintLine("  packed  %s to decode. Shards are read in a row, with no file to find per image",
		quantity.AboutCores(1000*e.Packed))
	a.PrintLine("packing takes %s of one core", quantity.AboutSeconds(float64(e.Samples)*(e.Read+e.Packing)))
	printBad(a, e.Bad)
	return nil
}
