package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stoker-dev/stoker/trace/kineto"
	"github.com/stoker-dev/stoker/trace/rocprof"
	"github.com/stoker-dev/stoker/trace/xplane"
)

// A trace packs 8 to 30 times. What unpacks to far more is no trace but an
// attempt on the memory; the limits leave room for a long run of equal steps.
const (
	mostRatio  = 500
	ratioFrom  = 256 << 20 // below this much output no ratio is too high
	mostOutput = 64e9      // bytes of JSON from one file
)

var errBomb = errors.New("it unpacks to far more than a trace would")

// source is a file's JSON.
type source struct {
	io.Reader
	close   func()
	limited *limited // nil if nothing is packed
	rocprof bool     // the JSON is rocprofv3's
}

// bombError is why unpacking was stopped, nil if it was not.
func (s *source) bombError() error {
	if s.limited == nil {
		return nil
	}
	return s.limited.tripped
}

// sniffed is how much of a file tells its format.
const sniffed = 4 << 10

// unpack finds out by its content what a file is and returns its JSON.
func unpack(file string, raw *countingReader) (*source, error) {
	out, err := openPacked(file, raw)
	if err != nil {
		return nil, err
	}
	inner := bufio.NewReaderSize(out.Reader, sniffed)
	start, _ := inner.Peek(sniffed) // an error comes again when the reader gets there
	err = recognise(file, start)
	if err == nil && protonStart.Match(trimSpaces(start)) {
		err = refuseProton(file, inner)
	}
	if err != nil {
		out.close()
		return nil, err
	}
	out.Reader, out.rocprof = inner, rocprof.IsStart(start)
	return out, nil
}

// openPacked returns what a file holds, unpacked.
func openPacked(file string, raw *countingReader) (*source, error) {
	in := bufio.NewReaderSize(raw, 256<<10)
	start, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) && (len(start) == 0 || !errors.Is(err, io.ErrUnexpectedEOF)) {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if len(start) == 0 {
		return nil, &malformedError{
			file, 0, "the file is empty, expected a trace of PyTorch's profiler",
			"record it again: a full disk or a killed run leaves such files",
		}
	}
	out := &source{Reader: in, close: func() {}}
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, &malformedError{
				file, 0, "the gzip header is damaged or cut: " + err.Error(),
				"copy it again, or record it again",
			}
		}
		out.limited = &limited{Reader: z, m: raw.m, from: raw.m.done - int64(in.Buffered())}
	case bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(256<<20),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, &malformedError{
				file, 0, "the zstd header is damaged: " + err.Error(),
				"copy it again, or record it again",
			}
		}
		out.limited, out.close = &limited{Reader: z, m: raw.m, from: raw.m.done - int64(in.Buffered())}, z.Close
	}
	if out.limited != nil {
		out.Reader = out.limited
	}
	return out, nil
}

// limited stops a stream that unpacks to far more than a trace would.
type limited struct {
	io.Reader
	m       *meter
	from    int64 // bytes of files that were read before it
	out     int64
	tripped error
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.out += int64(n)
	in := max(1, l.m.done-l.from)
	if l.out > mostOutput || l.out > ratioFrom && l.out/in > mostRatio {
		l.tripped = fmt.Errorf("%w: %d MB from %d kB so far", errBomb, l.out/1e6, in/1e3)
		return 0, l.tripped
	}
	return n, err
}

// sqliteHint is how to export what Nsight Systems recorded.
const sqliteHint = "export the report as SQLite: nsys export --type sqlite --output FILE.sqlite FILE.nsys-rep"

// foreign are formats that are recognised by their first bytes.
var foreign = []struct{ magic, format, hint string }{
	{
		"SQLite format 3\x00", "an SQLite database that came through a pipe or packed",
		"if Nsight Systems exported it, give the unpacked file itself: it is not read from front to back",
	},
	{"PK\x03\x04", "a zip archive", "unpack it and give the .json inside"},
	{"\x1f\x8b", "a file that was packed twice by gzip", "unpack it once: gunzip FILE"},
	{"BZh", "a file packed by bzip2", "unpack it: bunzip2 FILE"},
	{"\xfd7zXZ\x00", "a file packed by xz", "unpack it: unxz FILE"},
	{"\x04\x22\x4d\x18", "a file packed by lz4", "unpack it: unlz4 FILE"},
	{
		"PAR1", "an export of Nsight Systems as Parquet, or another table",
		sqliteHint,
	},
	{
		"\x89HDF\r\n", "an export of Nsight Systems as HDF5, or another one",
		sqliteHint,
	},
	{
		"ARROW1", "an export of Nsight Systems as Arrow, or another table",
		sqliteHint,
	},
	{"\x7fELF", "a program", "give the trace that torch.profiler wrote"},
	{"\x89PNG", "a picture", "give the trace that torch.profiler wrote"},
	{"%PDF", "a PDF document", "give the trace that torch.profiler wrote"},
	{"\x80\x02", "a Python pickle", "give the trace that torch.profiler wrote"},
	{"\x80\x04", "a Python pickle", "give the trace that torch.profiler wrote"},
	{"\x80\x05", "a Python pickle", "give the trace that torch.profiler wrote"},
	{lfsPointer, "a pointer of Git LFS, not the file itself", "fetch it: git lfs pull"},
	{`{"kind":"header"`, "a recording of Stoker", "open it with stoker diagnose"},
}

// lfsPointer begins what Git LFS leaves instead of a file.
const lfsPointer = "version https://git-lfs"

// isSnapshot reports whether a pickle is one of torch.cuda.memory._dump_snapshot.
func isSnapshot(start []byte) bool {
	return len(start) > 0 && start[0] == 0x80 && (bytes.Contains(start, []byte("device_traces")) ||
		bytes.Contains(start, []byte("segments")) && bytes.Contains(start, []byte("allocated_size")))
}

// foreignJSON are files in JSON of other kinds than a trace, by how they begin.
var foreignJSON = []struct {
	start        *regexp.Regexp
	format, hint string
}{
	{
		regexp.MustCompile(`^\[\s*\[\s*[0-9]{12,}[,\s]`), "torch.profiler's timeline of memory, without times of work",
		"give the trace of the same recording: prof.export_chrome_trace(\"trace.json\")",
	},
	{
		regexp.MustCompile(`^\{\s*"schema"[^\[]*"nodes"\s*:\s*\[`), "an execution trace (ExecutionTraceObserver, Chakra), " +
			"without the device's work",
		"give the trace that torch.profiler wrote of the same run",
	},
	{
		regexp.MustCompile(`^\[?\s*\{\s*"cols"\s*:\s*\[`), "a table of XProf or of TensorBoard's profiler",
		"give the .xplane.pb of the same recording",
	},
}

// extensions are formats that only their names tell.
var extensions = []struct{ suffix, format, hint string }{
	{
		".nsys-rep", "a report of Nsight Systems in its own format",
		"export it: nsys export --type sqlite --output FILE.sqlite FILE.nsys-rep",
	},
	{
		".qdrep", "a report of Nsight Systems in its own format",
		"export it: nsys export --type sqlite --output FILE.sqlite FILE.qdrep",
	},
	{
		".sqlite", "an SQLite database by its name only (it is encrypted, filled with zeros, or begins in the middle)",
		"export it again: nsys export --type sqlite --output FILE.sqlite FILE.nsys-rep",
	},
	{".ncu-rep", "a report of Nsight Compute", "record with torch.profiler instead"},
	{".perfetto-trace", "a trace of Perfetto in protobuf", "export it as Chrome JSON: traceconv json FILE"},
	{
		".pftrace", "a trace of Perfetto in protobuf",
		"of rocprofv3 record JSON: rocprofv3 --sys-trace --output-format json -- COMMAND. Others: traceconv json FILE",
	},
	{
		"_trace.csv", "a table of rocprofv3",
		"record as JSON, which holds all tables: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		".ntff", "a capture of AWS Neuron's profiler",
		"no program turns it into what is read here: record the host's side with torch.profiler",
	},
	{".jsonlines", "an export of Nsight Systems as lines of JSON", sqliteHint},
	{".parquet", "an export of Nsight Systems as Parquet, or another table", sqliteHint},
	{".h5", "an export of Nsight Systems as HDF5, or another one", sqliteHint},
}

// trimSpaces is what follows a byte order mark and spaces.
func trimSpaces(start []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
}

// isJSON reports whether data begin as JSON does. A line end and a bracket also begin
// an XSpace whose first plane has 91 or 123 bytes: that is asked before.
func isJSON(start []byte) bool {
	text := trimSpaces(start)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// isTar reports whether data begin as a tar archive does: the header of a member has a mark.
func isTar(start []byte) bool {
	const mark = 257 // pax and ustar, IEEE Std 1003.1 "pax"
	return len(start) > mark+5 && string(start[mark:mark+5]) == "ustar"
}

// refuseMarkup says what a file is that begins as a page or another document does.
func refuseMarkup(file string, text []byte) error {
	if !bytes.HasPrefix(text, []byte("<?xml")) || bytes.Contains(bytes.ToLower(text), []byte("<html")) {
		return &malformedError{
			file, 0, "this is a web page (HTML), expected a trace in JSON",
			"download the file itself, not the page that shows it (a raw or resolve link)",
		}
	}
	what := "a document in XML"
	if bytes.Contains(text, []byte("<session ")) {
		what = "a session of NVIDIA's Visual Profiler, without its events"
	}
	return &unsupportedError{file, what, "give the trace that the profiler itself wrote, or record it again"}
}

// recogniseLines refuses what nsys export --type jsonlines and dftracer write: an object in each line, the first
// of which names a type or a table, or a process of many.
func recogniseLines(file string, start []byte) error {
	line, _, _ := bytes.Cut(trimSpaces(start), []byte("\n"))
	if bytes.Contains(line, []byte(`"ph":"X"`)) && bytes.Contains(line, []byte(`"p_idx":`)) {
		return &unsupportedError{file, kineto.FilesTrace, kineto.FilesHint}
	}
	ends := bytes.HasSuffix(bytes.TrimRight(line, " \r"), []byte("}"))
	if ends && (bytes.Contains(line, []byte(`"globalTid"`)) || bytes.Contains(line, []byte(`"globalPid"`)) ||
		bytes.HasPrefix(line, []byte(`{"Type":`))) && !bytes.Contains(line, []byte("traceEvents")) {
		return &unsupportedError{file, "an export of Nsight Systems as lines of JSON", sqliteHint}
	}
	return nil
}

// recognise refuses other formats than JSON, and names them if it knows them.
func recognise(file string, start []byte) error {
	if isSnapshot(start) {
		return &unsupportedError{
			file, "a snapshot of PyTorch's memory, without times of work",
			"give the trace that torch.profiler wrote. https://pytorch.org/memory_viz shows snapshots",
		}
	}
	for _, f := range foreign {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return &unsupportedError{file, f.format, f.hint}
		}
	}
	if err := recogniseLines(file, start); err != nil {
		return err
	}
	if isTar(start) {
		return &unsupportedError{file, "a tar archive", "unpack it and give the folder: tar -xf FILE, stoker trace FOLDER"}
	}
	name := strings.ToLower(filepath.Base(file))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	if isJSON(start) {
		for _, f := range foreignJSON {
			if f.start.Match(trimSpaces(start)) {
				return &unsupportedError{file, f.format, f.hint}
			}
		}
		return nil
	}
	if xplane.IsStart(start) {
		return &unsupportedError{
			file, "an XSpace of XLA's profiler that came through a pipe",
			"give the file itself: it is read twice",
		}
	}
	text := trimSpaces(start)
	if strings.HasSuffix(name, "_stats.pb") || strings.HasSuffix(name, "_page.pb") {
		return &unsupportedError{
			file, "a table of TensorFlow's profiler, without times of work", "give the .xplane.pb that lies beside it",
		}
	}
	for _, e := range extensions {
		if strings.HasSuffix(name, e.suffix) {
			return &unsupportedError{file, e.format, e.hint}
		}
	}
	again := "record the trace again, or give the file that torch.profiler wrote"
	switch {
	case len(text) == 0 && len(start) == 0:
		return &malformedError{file, 0, "the compressed file holds nothing, or is cut before its first byte", again}
	case len(text) == 0:
		return nil // spaces so far: the reader continues
	case len(bytes.Trim(start, "\x00")) == 0:
		return &malformedError{
			file, 0, "the file holds zeros alone, expected a trace",
			"copy or record it again: an empty archive, a full disk or a crash leaves such files",
		}
	case text[0] == '<':
		return refuseMarkup(file, text)
	case start[0] == 0x0a && bytes.ContainsAny(start, "\x00\x12"):
		return &unsupportedError{
			file, "a file in protobuf that is no XSpace, such as Perfetto writes",
			"give a trace of torch.profiler in JSON, or an xplane.pb of JAX or TensorFlow",
		}
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return &unsupportedError{file, "text in UTF-16", "save it as UTF-8"}
	}
	return &malformedError{file, 0, fmt.Sprintf("expected JSON that begins with { or [, found %.20q", text), again}
}
