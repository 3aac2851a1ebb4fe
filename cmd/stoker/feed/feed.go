// Package feed is the verb that prepares the batches of a training.
package feed

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/check"
	"github.com/stoker-dev/stoker/feed/serve"
	set "github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker feed.
func Command(a *cli.App) *cobra.Command {
	var f feedFlags
	cmd := &cobra.Command{
		Use:   "feed (-- CMD... | --check FOLDER | --fd N | --socket PATH --ranks N)",
		Short: "Make the batches of a training: read, decode, augment",
		Long: `Run a PyTorch program as it is and let Stoker's daemon make its pictures, with the batches that it
would have got. With --check it reads a folder of images once and reports speed and bad files.
stoker.DataLoader starts the daemon by itself, so that nobody needs the other flags.`,
		Example: `  stoker feed -- python train.py                   the same batches with less CPU
  stoker feed --ray auto -- python train.py        its DataLoaders' workers on nodes of a Ray cluster
  stoker feed --check data/train                   samples/s on this machine, and bad files`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return cli.AsUsage(fmt.Errorf("feed takes no arguments but a command behind --: got %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.verify(cmd.Flags().Changed, len(args) > 0); err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			if len(args) > 0 {
				return runFed(a, f, args)
			}
			if f.check != "" {
				return checkFolder(cmd.Context(), a, f)
			}
			return serveFeed(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.check, "check", "",
		"read all images of a `FOLDER` with one subfolder per class once, and report")
	flags.IntVar(&f.compared, "verify", 0,
		"with a command: have Pillow make the pictures of the first `N` batches of each worker as well, and compare")
	flags.StringVar(&f.ray, "ray", "",
		"with a command: run the workers of its DataLoaders in the Ray cluster at an `ADDRESS` (auto, HOST:PORT), or in one of "+
			"this machine's own (local)")
	flags.IntVar(&f.workers, "workers", 0,
		"with --ray: `N` workers for each DataLoader that has some (random numbers of samples then differ from the script's)")
	flags.StringVar(&f.rayResources, "ray-resources", "",
		"with --ray: what each worker takes of its node, as `NAME=AMOUNT,…` (default CPU=1)")
	flags.StringVar(&f.rayLabels, "ray-labels", "", "with --ray: workers run on nodes with these labels, as `NAME=VALUE,…`")
	flags.IntVar(&f.size, "size", 224, "with --check: height and width that images are resized to")
	flags.BoolVar(&f.json, "json", false, "with --check: print one JSON object")
	flags.IntVar(&f.threads, "threads", 0,
		"threads that decode (default: one per core, one less from four cores on)")
	flags.IntVar(&f.nice, "nice", 0,
		"niceness of these threads on top of stoker's own, 1 to 19 (default 1, and with more they lose against other jobs too)")
	flags.StringVar(&f.quarantine, "quarantine", "", "append bad samples to a `FILE`, one JSON object a line")
	flags.StringVar(&f.record, "record", "", "write a recording of the daemon to a `FILE`, for diagnose and advise")
	flags.IntVar(&f.fd, "fd", 0, "serve the client at the other end of the socket that is descriptor `N`")
	flags.StringVar(&f.socket, "socket", "",
		"serve the ranks that connect to `PATH`, in a folder that you alone can write at every level")
	flags.IntVar(&f.ranks, "ranks", 1, "with --socket: ranks of this node")
	flags.IntVar(&f.parent, "parent", 0,
		"with --socket: end when process `PID`, which started this one, is gone and nobody is connected")
	cli.SetGroups(cmd,
		cli.Section{Title: "Run a program", Names: "verify ray workers ray-resources ray-labels"},
		cli.Section{Title: "Read a folder once", Names: "check size json"},
		cli.Section{Title: "Every daemon", Names: "threads nice quarantine record"},
		cli.Section{Title: "A daemon by hand", Names: "socket ranks parent fd"},
	)
	cli.SetExitCodes(cmd, "with CMD its own, 125 stoker failed before it, 126 CMD cannot be run, 127 CMD not found")
	return cmd
}

// serveFeed runs the daemon. It ignores SIGINT: the trainer gets the same Ctrl-C, and the daemon
// ends when the trainer's connection closes. It continues if its stderr is closed.
func serveFeed(ctx context.Context, a *cli.App, f feedFlags) error {
	signal.Ignore(os.Interrupt, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	o := serve.Options{
		Ranks: f.ranks, Parent: f.parent, Threads: f.threads, Nice: f.nice, Quarantine: f.quarantine,
		Record: f.record, Recorder: feedRecorder, Warn: func(text string) { a.Say("feed: %s", text) },
	}
	if f.socket != "" {
		listener, err := serve.Listen(f.socket)
		if err != nil {
			return err
		}
		return serve.Serve(ctx, nil, listener, o)
	}
	first, err := serve.Inherited(f.fd)
	if err != nil {
		return err
	}
	return serve.Serve(ctx, first, nil, o)
}

// checkFolder reads and decodes a whole data set once.
func checkFolder(ctx context.Context, a *cli.App, f feedFlags) error {
	root := f.check
	if !set.InBucket(root) {
		var err error
		if root, err = filepath.Abs(root); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(ctx, cli.HeededSignals(os.Interrupt)...)
	defer stop()
	context.AfterFunc(ctx, stop) // if the storage hangs, a second Ctrl-C kills this process
	p := a.NewProgress()
	r, err := check.Folder(ctx, root, check.Options{
		Size: f.size, Pool: feed.PoolOptions{Threads: f.threads, Nice: f.nice}, Quarantine: f.quarantine,
		Progress: func(done, total int64) { p.Say("%s", checkProgress(done, total)) },
	})
	p.End()
	if err != nil {
		return cli.Interrupted(ctx, err)
	}
	if f.json {
		err = wire.WriteObject(a.Stdout, struct {
			Schema int `json:"schema"`
			check.Report
		}{1, r})
	} else {
		err = printCheck(a.Stdout, r)
	}
	if err == nil && len(r.Bad) > 0 {
		return cli.ExitCode(cli.ExitError)
	}
	return err
}

func checkProgress(done, total int64) string {
	if total == 0 {
		return fmt.Sprintf("listing, %d files", done)
	}
	return fmt.Sprintf("decoding, %.0f %% of %d images", 100*float64(done)/float64(total), total)
}

func printCheck(w io.Writer, r check.Report) error {
	safe.Values(&r)           // names of files
	out := bufio.NewWriter(w) // keeps the first error
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	more := func(n int) {
		if n > cli.MostListed {
			line("  and %d more: --json lists them all", n-cli.MostListed)
		}
	}
	line("%s: %d samples in %d classes, listed in %.2f s", r.Root, r.Samples, r.Classes, r.ListSeconds)
	line("%.0f images/s on %d threads, resized to %d x %d, in %.1f s", r.ImagesPerSecond(), r.Threads, r.Size, r.Size,
		r.Seconds)
	if r.CPUSeconds > 0 {
		line("%.2f ms of CPU per image", 1e3*r.CPUPerImage())
	}
	n := float64(r.Samples)
	line("per image: read %.2f ms, decode %.2f ms, transform %.2f ms", 1e3*r.Stages.Read/n, 1e3*r.Stages.Decode/n,
		1e3*r.Stages.Transform/n)
	if len(r.Formats) > 0 {
		line("formats: %s", formats(r.Formats))
	}
	for _, note := range r.Notes {
		line("note: %s", note)
	}
	line("%s", quantity.Many(len(r.Bad), "bad file"))
	for _, b := range r.Bad[:min(cli.MostListed, len(r.Bad))] {
		line("  %s: %s", b.Path, b.Reason)
	}
	more(len(r.Bad))
	line("%s whose pixels may differ from Pillow's", quantity.Many(len(r.Inexact), "file"))
	for _, i := range r.Inexact[:min(cli.MostListed, len(r.Inexact))] {
		line("  %s: %s", i.Path, i.Reason)
	}
	more(len(r.Inexact))
	return out.Flush()
}

// formats lists the formats with their number of files, the most frequent first.
func formats(files map[string]int) string {
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(files[b], files[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", files[name], name)
	}
	return strings.Join(names, ", ")
}
