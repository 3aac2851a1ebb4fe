package pack

import (
	"fmt"
	"hash/fnv"
	"path"
	"strings"
	"unicode/utf8"
)

// keys names samples. To WebDataset a sample is all members that are alike up to the
// first dot of their names, and its fields are what is behind it, in lower case. So
// dots are escaped, and where files of a folder differ in their extension alone
// (a.jpg, a.png) that is in the key as well.
type keys struct{ shared map[uint64]bool } // by stem: whether several files have it

func newKeys(of Source) keys {
	k := keys{make(map[uint64]bool, of.Len())}
	for i := range of.Len() {
		stem := hashed(stemOf(of.Below(i)))
		_, k.shared[stem] = k.shared[stem]
	}
	return k
}

// hashed stands for a text. Two of one number have longer keys than they need, and no more.
func hashed(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

func stemOf(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// keyOf is the key of a file.
func (k keys) keyOf(file string) string {
	stem, extension := stemOf(file), path.Ext(file)
	key := escape(stem)
	if strings.HasPrefix(key, "__") { // WebDataset leaves some such out
		key = "%5F" + key[1:]
	}
	if k.shared[hashed(stem)] || strings.HasSuffix(stem, "/") {
		key += "%~" + escape(strings.TrimPrefix(extension, ".")) // no name that is escaped has %~
	}
	return key
}

// fieldOf is what WebDataset calls a file's image.
func fieldOf(file string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(file), ".")) }

// escape writes as %XX what splits names, what is not printed, and bytes that are no UTF-8.
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
