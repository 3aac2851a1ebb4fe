package pack

import (
	"fmt"
	"hash/fnv"
	"path"
	"strings"
	"unicode/utf8"
)

// keys names samples. WebDataset takes all members whose names agree up to the first dot for
// one sample. The rest of the name, in lower case, is the field. So dots are escaped, and if
// files of a folder differ only in their extension (a.jpg, a.png), the key contains it.
type keys struct{ shared map[uint64]bool } // by stem: whether several files share it

func newKeys(of Source) keys {
	k := keys{make(map[uint64]bool, of.Len())}
	for i := range of.Len() {
		stem := hashText(stemOf(of.Below(i)))
		_, k.shared[stem] = k.shared[stem]
	}
	return k
}

// hashText returns a hash of a text. A collision only makes two keys longer than necessary.
func hashText(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

func stemOf(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// keyOf returns the key of a file.
func (k keys) keyOf(file string) string {
	stem, extension := stemOf(file), path.Ext(file)
	key := escape(stem)
	if strings.HasPrefix(key, "__") { // WebDataset skips some of these
		key = "%5F" + key[1:]
	}
	if k.shared[hashText(stem)] || strings.HasSuffix(stem, "/") {
		key += "%~" + escape(strings.TrimPrefix(extension, ".")) // no escaped name contains %~
	}
	return key
}

// fieldOf returns WebDataset's field of a file's image.
func fieldOf(file string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(file), ".")) }

// escape writes as %XX what splits names, what is not printable, and bytes that are not UTF-8.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 || r < ' ' || r == 0x7f || strings.ContainsRune(`%.\`, r) {
			fmt.Fprintf(&b, "%%%02X", text[0])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}
