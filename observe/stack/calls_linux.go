package stack

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Bounds on the program's files that are read for what a line does.
const (
	mostSource  = 1 << 18 // bytes of one
	mostSources = 128
)

// calls are names of functions that have no frame, as they are native code, by what a line's text has of them. Only a
// name of these tables is recorded, and nothing else of the program's text. The first that fits counts.
var calls = []struct {
	name string
	text *regexp.Regexp
}{
	{"print", regexp.MustCompile(`\bprint\(|\bsys\.std(?:out|err)\.`)},
	{"write", regexp.MustCompile(`\b(?:imwrite|imsave|save_image|to_csv|to_parquet|to_json|savefig)\(|` +
		`\bopen\(.*["'][wax]b?\+?["']|\.(?:write\w*|tofile|flush|fsync|dump)\(|` +
		`\b(?:np|numpy)\.save\w*\(`)},
	{"cv2.video", regexp.MustCompile(`\bcv2\.VideoCapture\b|\b(?:\w*cap|capture|vid\w*|vc)\.(?:read|grab|retrieve)\(`)},
	{"cv2.imread", regexp.MustCompile(`\bcv2\.(?:imread|imdecode)\b`)},
	{"cv2", regexp.MustCompile(`\bcv2\.\w+\(`)},
	{"tokenizer", regexp.MustCompile(`\btokeni[sz]e\w*(?:\.\w+)?\(|\b(?:sp|spm|bpe)\.\w+\(|` +
		`\.(?:encode_batch|EncodeAsIds|encode_as_ids)\(`)},
	{"receive", regexp.MustCompile(`\.(?:recv\w*|accept|xread\w*|blpop|brpop|bzpop\w*|get_message|consume)\(`)},
	{"execute", regexp.MustCompile(`\.(?:execute|executemany|fetchall|fetchone|fetchmany|commit)\(`)},
	{"decompress", regexp.MustCompile(`\b(?:zlib|lz4|zstd|zstandard|blosc2?|snappy|bz2)\.\w|\.decompress\(`)},
	{"loads", regexp.MustCompile(`\b(?:orjson|ujson|simdjson|msgpack|pickle|dill|marshal)\.loads?\(`)},
	{"open.index", regexp.MustCompile(`\b(?:lmdb|dbm(?:\.\w+)?|shelve|h5py|zarr|netCDF4|sqlite3|duckdb|tarfile|zipfile)\.` +
		`(?:open|connect|File|Dataset|ZipFile|TarFile)\(`)},
	{"open", regexp.MustCompile(`\b(?:open|imread|fromfile|memmap|read_bytes|read_text|safe_open)\(|` +
		`\b(?:listdir|scandir|exists|isfile)\(|` +
		`\bfor\s.*\bin\s+(?:enumerate\()?(?:f|fp|fh|fin|file|infile|\w+_file)\)?\s*[:)\]}]|` +
		`\b(?:np|numpy|torch|joblib)\.load\(|\.(?:read|readline|readlines)\(`)},
	{"re", regexp.MustCompile(`\bre\.\w+\(|\.(?:findall|finditer|fullmatch)\(`)},
	{"gc", regexp.MustCompile(`\bgc\.collect\(`)},
	{"system", regexp.MustCompile(`\bos\.(?:system|popen)\(`)},
	{"nearest", regexp.MustCompile(`KDTree\(|\btree\w*\.query\w*\(|\.query_(?:ball_point|radius|pairs)\(|\.kneighbors\(|` +
		`\b(?:cdist|pdist|pairwise_distances|knn\w*)\(|\bfaiss\.`)},
	{"search", regexp.MustCompile(`\.(?:index|remove|count)\(|\.pop\(0\)|\.insert\(0,|` +
		`\bif\s+(?:not\s+)?[\w.\[\]]+\s+(?:not\s+)?in\s+[\w.]+\s*(?:[:\]),}]|and\b|or\b|$)`)},
	{"hashlib", regexp.MustCompile(`\bhashlib\.|\.hexdigest\(|\b(?:md5|sha1|sha256)\(`)},
	{"random", regexp.MustCompile(`\brandom\.\w+\(|\brng\.\w+\(|` +
		`\.(?:choice|choices|shuffle|permutation|multinomial|randint|randperm|randn?|rand_like|randn_like|bernoulli)\(|` +
		`\btorch\.normal\(|\.(?:normal|uniform|bernoulli|exponential)_\(`)},
	{"sort", regexp.MustCompile(`\bsorted\(|\.(?:sort|argsort|argpartition|topk)\(|\bheapq\.|` +
		`\b(?:np|numpy|torch)\.(?:unique|isin|in1d|\w+1d|percentile|quantile|median|lexsort)\(`)},
	{"device", regexp.MustCompile(`\.cuda\(|\.to\((?:self\.)?(?:\w+\.)?(?:device|["']cuda)`)},
	{readsValues, regexp.MustCompile(`\.(?:tolist|item|cpu|numpy)\(\)`)},
	{"numpy.join", regexp.MustCompile(`\b(?:np|numpy)\.(?:` + joins + `)\(`)},
	{"torch.join", regexp.MustCompile(`\b(?:torch|F|functional)\.(?:` + joins + `)\(|\bpad_sequence\(`)},
	{"text", regexp.MustCompile(`\.(?:split|rsplit|splitlines|replace|join|lower|upper|strip|startswith|endswith|` +
		`encode|decode|translate|isalpha|isdigit|strptime)\(`)},
}

// readsValues is the name of calls that take numbers out of a tensor.
const readsValues = "tolist"

// joins are functions of NumPy and torch that put arrays together or make them larger.
const joins = `stack|concatenate|concat|cat|[hvd]stack|column_stack|pad|tile|repeat|repeat_interleave|block`

// weakCalls are names of calls that say less than that the line is in a loop over elements.
var weakCalls = []struct {
	name string
	text *regexp.Regexp
}{
	{"array", regexp.MustCompile(`\btorch\.(?:as_tensor|tensor|Tensor|FloatTensor|LongTensor)\(|` +
		`\b(?:np|numpy)\.(?:array|asarray)\(`)},
	{"numpy.convert", regexp.MustCompile(`\.(?:astype|copy)\(|\bascontiguousarray\(`)},
	{"torch.convert", regexp.MustCompile(`\.(?:clone|contiguous|float|double|half|long|type)\(`)},
	{"numpy", regexp.MustCompile(`\b(?:np|numpy|scipy|ndimage|signal)\.\w`)},
	{"torch", regexp.MustCompile(`\b(?:torch|F|functional)\.\w`)},
}

// grows is an assignment of what arrays give when they are put together.
var grows = regexp.MustCompile(`^\s*([\w.]+)\s*=\s*(?:np|numpy|torch)\.(?:concatenate|append|vstack|hstack|cat)\((.*)`)

// ownMethod matches calls of the program's methods. They have frames, so their names do not tell of native code. A
// tokenizer's may.
var ownMethod = regexp.MustCompile(`\b(?:self|cls)\.\w+\(`)

func hideOwn(call string) string {
	if strings.Contains(call, "oken") {
		return call
	}
	return "own("
}

// callIn is the name of what a line of text calls; "" if the tables have none. looped is whether it is in a loop over
// elements.
func callIn(text string, looped bool) string {
	text, _, _ = strings.Cut(text, " #")
	text = ownMethod.ReplaceAllStringFunc(text, hideOwn)
	if m := grows.FindStringSubmatch(text); m != nil {
		again := regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(m[1]) + `\b`)
		if again.MatchString(m[2]) {
			return "grow"
		}
	}
	for _, c := range calls {
		if c.text.MatchString(text) {
			return c.name
		}
	}
	if looped || comprehension.MatchString(text) {
		return inLoop
	}
	for _, c := range weakCalls {
		if c.text.MatchString(text) {
			return c.name
		}
	}
	return ""
}

// source is a file of the program.
type source struct {
	lines []string
	loops map[int]bool   // numbers of lines in loops over elements
	names map[int]string // of the lines that were asked for
}

// sources are the program's files that were read, by name.
type sources map[string]*source

// callAt is the name of what a line of a process's program does; "" unknown.
func (known sources) callAt(pid int, file string, line int) string {
	return known.of(pid, file).nameOf(line)
}

// of is a file of a process's program; without lines if it cannot be read.
func (known sources) of(pid int, file string) *source {
	if !strings.HasPrefix(file, "/") { // typed in, or relative to a folder that may have changed
		return &source{}
	}
	read, seen := known[file]
	if !seen {
		if len(known) >= mostSources {
			return &source{}
		}
		read = readSource(fmt.Sprintf("/proc/%d/root%s", pid, file))
		known[file] = read
	}
	return read
}

// outOfHelper is a stack without the program's function that reads a value of the device, if a loop of the program's
// over elements calls it: all values can be read at once around that loop alone.
func (known sources) outOfHelper(pid int, stack []place) []place {
	helper, reads := -1, false
	for i, p := range stack {
		if p.code == nil || p.code.part != inside {
			continue
		}
		own := p.asPlace().Own()
		looped := own && known.of(pid, p.code.file).loops[p.line]
		switch {
		case helper >= 0 && looped:
			return append(stack[:helper:helper], stack[i:]...)
		case helper >= 0:
			return stack
		case !own:
			reads = p.code.file == emulatedFile && strings.HasSuffix(p.code.name, "item")
			if !reads {
				return stack
			}
		case looped, !reads && known.callAt(pid, p.code.file, p.line) != readsValues:
			return stack
		default:
			helper = i
		}
	}
	return stack
}

// emulatedFile stands for a device's library, whose reads have no frame elsewhere.
const emulatedFile = "stoker/emulated.py"

// nameOf returns the name of a line's call, or that of a loop around it. Only lines on which time goes are
// asked for, so that only these are matched.
func (s *source) nameOf(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	name, known := s.names[line]
	if !known {
		name = callIn(s.lines[line-1], s.loops[line])
		s.names[line] = name
	}
	return name
}

// readSource reads a file; it has no lines if it is no plain file.
func readSource(path string) *source {
	s := &source{names: map[int]string{}}
	f := openRegular(path)
	if f == nil {
		return s
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(io.LimitReader(f, mostSource))
	for lines.Scan() {
		s.lines = append(s.lines, lines.Text())
	}
	s.loops = findLoops(s.lines)
	return s
}

// native is the name of what the innermost line of a stack calls, if that line is the program's own: native code
// has no frame. "" unknown.
func (known sources) native(pid int, stack []place) string {
	for _, p := range stack {
		if p.code == nil || p.code.part != inside {
			continue
		}
		if !p.asPlace().Own() {
			return ""
		}
		return known.callAt(pid, p.code.file, p.line)
	}
	return ""
}
