package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stoker-dev/stoker/internal/readable"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/kineto"
	"github.com/stoker-dev/stoker/trace/nsight"
)

// Options say how files are read. The zero value is what one wants.
type Options struct {
	// Progress is called now and then with the number of bytes that were read of the files, as
	// stored on the disk, and the number of all their bytes. It is called from one
	// goroutine, not the caller's.
	Progress func(done, total int64)

	// Workers is how many processors scan; 0: all, at most four.
	Workers int

	// Stdin is read if a file is named "-".
	Stdin io.Reader
}

// Read reads one trace, several, or a folder of them: one per rank of one run.
// A file that is cut or damaged somewhere is read as far as it goes, and the Run
// warns of it.
func Read(ctx context.Context, paths []string, o Options) (*recording.Run, error) {
	parts, notes, err := readParts(ctx, paths, o)
	if err != nil {
		return nil, err
	}
	return combineParts(parts, notes)
}

func combineParts(parts []part, notes []string) (*recording.Run, error) {
	run, err := combine(parts)
	if err != nil {
		return nil, err
	}
	run.Warnings = append(notes, run.Warnings...)
	return run, nil
}

func readParts(ctx context.Context, paths []string, o Options) (parts []part, notes []string, err error) {
	files, notes, err := expand(paths)
	if err != nil {
		return nil, nil, err
	}
	meter := &meter{report: o.Progress}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			meter.total += info.Size()
		}
	}
	var foreign *unsupportedError
	for _, f := range files {
		if a := openArchive(f); a != nil {
			more, said, err := a.readTraces(ctx, meter, o)
			a.close()
			if err != nil {
				return nil, nil, err
			}
			parts, notes = append(parts, more...), append(notes, said...)
			continue
		}
		t, err := readFile(ctx, f, meter, o)
		if errors.As(err, &foreign) && !slices.Contains(paths, f) { // the user named the folder, not this file
			notes = append(notes, fmt.Sprintf("%s was left alone: it is %s.", f, foreign.Format))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, part{file: f, Trace: t})
	}
	if len(parts) == 0 {
		return nil, nil, foreign
	}
	return parts, notes, nil
}

// Pair reads two traces, each a file or a folder: into one Run if they are files that
// tell their ranks and those are of one run, into two if they are anything else.
func Pair(ctx context.Context, first, second string, o Options) ([]*recording.Run, error) {
	a, notes, err := readParts(ctx, []string{first}, o)
	if err != nil {
		return nil, err
	}
	b, more, err := readParts(ctx, []string{second}, o)
	if err != nil {
		return nil, err
	}
	if len(a) == 1 && len(b) == 1 && a[0].tellRank() && b[0].tellRank() && a[0].Rank != b[0].Rank {
		if run, err := combineParts(slices.Concat(a, b), slices.Concat(notes, more)); err == nil {
			return []*recording.Run{run}, nil
		}
	}
	before, err := combineParts(a, notes)
	if err != nil {
		return nil, err
	}
	after, err := combineParts(b, more)
	if err != nil {
		return nil, err
	}
	return []*recording.Run{before, after}, nil
}

func readFile(ctx context.Context, file string, m *meter, o Options) (*kineto.Trace, error) {
	if file == stdin && o.Stdin != nil {
		return readStream(ctx, "standard input", &countingReader{Reader: o.Stdin, m: m}, o)
	}
	f, err := readable.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return readOpened(ctx, file, f, m, o)
}

// readOpened reads a file that can be read at several places, by its content.
func readOpened(ctx context.Context, file string, f *os.File, m *meter, o Options) (*kineto.Trace, error) {
	if nsight.IsExport(f) {
		return readNsight(ctx, file, f, m)
	}
	if isXPlane(file, f) {
		return readXPlane(ctx, file, f, m)
	}
	t, err := readStream(ctx, file, &countingReader{Reader: f, m: m}, o)
	return t, nameFault(file, f, err)
}

func readStream(ctx context.Context, file string, raw *countingReader, o Options) (*kineto.Trace, error) {
	src, err := unpack(file, raw)
	if err != nil {
		return nil, err
	}
	defer src.close()
	if src.rocprof {
		return readRocprof(ctx, file, src)
	}
	t, err := kineto.Read(ctx, src, kineto.Options{Workers: o.Workers})
	switch {
	case raw.err != nil:
		return nil, fmt.Errorf("read trace: %w", raw.err)
	case src.bombError() != nil:
		return nil, explain(ctx, file, src.bombError())
	case err != nil:
		return nil, explain(ctx, file, err)
	}
	return t, nil
}

// explain gives an error of the reader the file's name and what to do.
func explain(ctx context.Context, file string, err error) error {
	var syntax *kineto.SyntaxError
	var foreign *kineto.ForeignError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read %s: %w", file, ctx.Err())
	case errors.As(err, &syntax):
		return &malformedError{
			file, syntax.Offset, syntax.Problem,
			"record the trace again, or give the file that torch.profiler wrote",
		}
	case errors.As(err, &foreign):
		return &unsupportedError{file, foreign.Format, foreign.Hint}
	case errors.Is(err, errBomb):
		return &malformedError{file, -1, err.Error(), "unpack it by hand if you trust it, and give the .json"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &malformedError{
			file, -1, "the compressed file ends before its first event",
			"copy it again, or record it again",
		}
	}
	return &malformedError{
		file, -1, "the compressed data is damaged before its first event: " + err.Error(),
		"copy it again, or record it again",
	}
}
