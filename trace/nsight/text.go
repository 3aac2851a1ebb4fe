package nsight

import (
	"bytes"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

func unchanged(text []byte) []byte { return text }

// apiName takes off what CUPTI adds to a call's name: the version of its first
// appearance and the kind of default stream, "cudaMemcpyAsync_ptsz_v7000".
func apiName(text []byte) []byte {
	if i := bytes.LastIndex(text, []byte("_v")); i > 0 && len(text)-i >= 5 && allDigits(text[i+2:]) {
		text = text[:i] // _v2 of the driver is part of the name
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("_ptsz")), []byte("_ptds"))
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// nvtxMark is what an NVTX range's text says.
type nvtxMark struct {
	name   []byte
	shapes []byte // "[[32,3,224,224],[64,3,7,7]]"; nil without
	kind   recording.CallKind
}

// markOf cuts a text of PyTorch's emit_nvtx, "aten::add, seq = 7, op_id = 12, sizes
// = [[2, 3], []]", into the operator's name and its shapes. Other texts are marks
// of people and libraries.
func markOf(text []byte) nvtxMark {
	name, rest := text, []byte(nil)
	for _, suffix := range []string{", seq = ", ", op_id = ", ", sizes = "} {
		if i := bytes.Index(name, []byte(suffix)); i > 0 {
			name, rest = text[:i], text[i:]
		}
	}
	m := nvtxMark{name: name, kind: recording.Annotation}
	if rest == nil {
		return m
	}
	if operator(name) {
		m.kind = recording.Op
	}
	if _, sizes, found := bytes.Cut(rest, []byte(", sizes = ")); found {
		m.shapes = tightList(sizes)
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

// tightList is the list in brackets that text begins with, without spaces; nil where
// it is empty or has no end.
func tightList(text []byte) []byte {
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
