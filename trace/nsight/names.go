package nsight

import (
	"strings"
	"unicode/utf8"
)

// longestName is where a name is cut; kernels with many template arguments reach
// 10 kB, more is damage.
const longestName = 64 << 10

// nameTable are distinct texts, and the rows of StringIds that were looked up. Only
// those that an event refers to are: a file's own list may be far longer.
type nameTable struct {
	list  []string
	known map[string]int32
	byID  map[int64]int32 // row of StringIds: index into list, -1 without
	bytes int             // of the texts in list
}

// mostText bounds the texts that are kept: a program may mark every request with a
// separate name.
const mostText = 24 << 20

const unkept = "name not kept: the file has too many different ones"

// intern is the place of a text.
func (n *nameTable) intern(text []byte) int32 {
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
