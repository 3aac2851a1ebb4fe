package nsight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// IsExport reports whether a file begins as an SQLite database does and can be read at
// any place, which a pipe cannot.
func IsExport(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	start := make([]byte, len(magic))
	_, err = f.ReadAt(start, 0)
	return err == nil && string(start) == magic
}

// ReadFile reads an export from a file that no other program is writing. It takes no
// lock, and creates no file. It stops at ctx and at a fault of the disk;
// damage is left out and said in a warning.
func ReadFile(ctx context.Context, f *os.File, o Options) (*Trace, error) {
	if err := ensureQuiet(f); err != nil {
		return nil, err
	}
	defer panicOnFault()()
	ctx, stop := limitSeconds(ctx, f)
	defer stop()
	db, err := openDatabase(ctx, f)
	if err != nil {
		return nil, err
	}
	defer db.close()
	return readDatabase(ctx, db, o)
}

// An export is read at 80 MB a second and more (2 cores, 2026-11-28). One that takes this long was made so. [J]
const (
	leastSeconds = 20
	bytesASecond = 1 << 20
	tookTooLong  = "it takes longer to read than any export of its size: its pages refer to each other again and again"
)

// limitSeconds ends a context when reading takes longer than it can. It counts the beats of
// a clock, not the time: a program that is stopped for an hour (Ctrl-Z) may go on.
func limitSeconds(ctx context.Context, f *os.File) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	info, err := f.Stat()
	if err != nil {
		return ctx, func() { cancel(nil) }
	}
	most := leastSeconds + info.Size()/bytesASecond
	go func() {
		beat := time.NewTicker(time.Second)
		defer beat.Stop()
		for range most {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
		}
		cancel(damaged(tookTooLong))
	}()
	return ctx, func() { cancel(nil) }
}

// ensureQuiet refuses a database that is being written, or that a writer left before it
// was done: part of its newest rows is in another file.
func ensureQuiet(f *os.File) error {
	if pid, locked := findWriter(f); locked {
		who := ""
		if pid > 0 {
			who = fmt.Sprintf(" (process %d)", pid)
		}
		return &DamagedError{
			"another program" + who + " has locked the database to write it",
			"wait until the export is done",
		}
	}
	for _, beside := range []struct{ suffix, what string }{
		{"-wal", "the newest rows lie in %s (write-ahead log)"},
		{"-journal", "a program stopped in the middle of writing it and left %s"},
	} {
		info, err := os.Stat(f.Name() + beside.suffix)
		if err == nil && info.Size() > 0 {
			return &DamagedError{
				fmt.Sprintf(beside.what, f.Name()+beside.suffix),
				"close the program that has it open, or let SQLite settle it: sqlite3 " + f.Name() +
					" 'PRAGMA journal_mode = DELETE'",
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // a folder that cannot be looked into: the file itself was opened
		}
	}
	return nil
}
