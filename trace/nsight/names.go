package nsight

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/recording"
)

// longestName is where a name is cut; kernels with many template arguments reach
// 10 kB, more is damage.
const longestName = 64 << 10

// names are distinct texts, and the rows of StringIds that were looked up. Only
// those that an event refers to are: a file's own list may be far longer.
type names struct {
	list  []string
	known map[string]int32
	byID  map[int64]int32 // row of StringIds: index into list, -1 without
	bytes int             // of the texts in list
}

// mostText bounds the texts that are kept: a program may mark every request with a
// name of its own.
const mostText = 24 << 20

const unkept = "name not kept: the file has too many different ones"

// id is the place of a text.
func (n *names) id(text []byte) int32 {
	if len(text) > longestName {
		text = text[:longestName]
	}
	if id, found := n.known[string(text)]; found {
		return id
	}
	if n.known == nil {
		n.known = map[string]int32{}
	}
	clean := string(text)
	if !utf8.ValidString(clean) {
		clean = strings.ToValidUTF8(clean, "\uFFFD")
		if id, found := n.known[clean]; found {
			return id
		}
	}
	if n.bytes += len(clean); n.bytes > mostText {
		clean = unkept
		if id, found := n.known[unkept]; found {
			return id
		}
	}
	id := int32(len(n.list))
	n.list = append(n.list, clean)
	n.known[clean] = id
	return id
}

// stringAt is the place of the text with a number in StringIds, as prepare makes
// it; -1 where there is none. Each number is looked up once: what it stands for
// does not depend on who asks, since calls, kernels and marks have texts of their
// own.
func (r *reader) stringAt(id int64, prepare func([]byte) []byte) int32 {
	if at, found := r.names.byID[id]; found {
		return at
	}
	at := int32(-1)
	if r.strings != nil {
		if text := r.strings.text(r.ctx, id); text != nil {
			at = r.names.id(prepare(text))
		}
	}
	if r.names.byID == nil {
		r.names.byID = map[int64]int32{}
	}
	r.names.byID[id] = at
	return at
}

// openStrings prepares the look-ups in StringIds, where the file has that table.
func (r *reader) openStrings() (err error) {
	t := r.db.tables["StringIds"]
	if t == nil || t.column("value") == "" {
		return nil
	}
	r.strings, err = r.db.lookup(r.ctx, t, t.column("value"))
	return err
}

func asIs(text []byte) []byte { return text }

// apiName takes off what CUPTI adds to a call's name: the version of its first
// appearance and the kind of default stream, "cudaMemcpyAsync_ptsz_v7000".
func apiName(text []byte) []byte {
	if i := bytes.LastIndex(text, []byte("_v")); i > 0 && len(text)-i >= 5 && digits(text[i+2:]) {
		text = text[:i] // _v2 of the driver is part of the name
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("_ptsz")), []byte("_ptds"))
}

func digits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// mark is what an NVTX range's text says.
type mark struct {
	name   []byte
	shapes []byte // "[[32,3,224,224],[64,3,7,7]]"; nil without
	kind   recording.CallKind
}

// markOf cuts a text of PyTorch's emit_nvtx, "aten::add, seq = 7, op_id = 12, sizes
// = [[2, 3], []]", into the operator's name and its shapes. Other texts are marks
// of people and libraries.
func markOf(text []byte) mark {
	name, rest := text, []byte(nil)
	for _, suffix := range []string{", seq = ", ", op_id = ", ", sizes = "} {
		if i := bytes.Index(name, []byte(suffix)); i > 0 {
			name, rest = text[:i], text[i:]
		}
	}
	m := mark{name: name, kind: recording.Annotation}
	if rest == nil {
		return m
	}
	if operator(name) {
		m.kind = recording.Op
	}
	if _, sizes, found := bytes.Cut(rest, []byte(", sizes = ")); found {
		m.shapes = tight(sizes)
	}
	return m
}

// operator reports whether a range of emit_nvtx is an operator or a node of
// autograd, rather than a span that somebody marked by record_function.
func operator(name []byte) bool {
	text := string(name)
	if recording.LoaderSpan(text) || recording.OptimizerSpan(text) || strings.HasPrefix(text, "ProfilerStep#") {
		return false
	}
	return strings.HasPrefix(text, "autograd::") || !strings.ContainsAny(text, " #")
}

// tight is the list in brackets that text begins with, without spaces; nil where
// it is empty or has no end.
func tight(text []byte) []byte {
	depth, out := 0, make([]byte, 0, len(text))
	for _, c := range text {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ' ':
			continue
		}
		out = append(out, c)
		if depth == 0 {
			break
		}
	}
	if depth != 0 || len(out) <= len("[]") || out[0] != '[' {
		return nil
	}
	return out
}

// clean is a foreign text that is fit for a sentence: one line, of at most most
// characters, without what would move a terminal's cursor.
func clean(text []byte, most int) string {
	var out []rune
	for _, c := range string(text) {
		if unicode.IsSpace(c) || !unicode.IsPrint(c) {
			c = ' '
		}
		if c == ' ' && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		if len(out) == most {
			return string(out) + "…"
		}
		out = append(out, c)
	}
	return strings.TrimSpace(string(out))
}
