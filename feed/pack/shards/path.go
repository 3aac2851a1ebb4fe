package shards

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// FilePath is the path of a file. Its JSON form encodes bytes that are not UTF-8 as Python does
// in file names, so that os.fsencode restores them.
type FilePath string

// MarshalJSON returns text that Python's json.loads turns into what os.fsdecode would return.
func (n FilePath) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('"')
	for text := string(n); len(text) > 0; {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\udc%02x`, text[0])
		} else {
			quoted, err := json.Marshal(text[:size])
			if err != nil {
				return nil, err
			}
			b.Write(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	b.WriteByte('"')
	return []byte(b.String()), nil
}

// UnmarshalJSON reads what MarshalJSON or Python's json.dumps wrote.
func (n *FilePath) UnmarshalJSON(text []byte) error {
	const escaped, digits = `\udc`, 2
	if len(text) < 2 || text[0] != '"' {
		return errors.New("a path that is not a string")
	}
	text = text[1 : len(text)-1]
	var whole []byte
	begin := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		end := at + len(escaped) + digits
		var raw [1]byte
		if end <= len(text) && string(text[at:at+len(escaped)]) == escaped {
			if _, err := hex.Decode(raw[:], text[end-digits:end]); err == nil {
				whole = appendText(whole, text[begin:at])
				whole = append(whole, raw[0])
				at, begin = end-1, end
				continue
			}
		}
		at++ // the escaped character
	}
	*n = FilePath(appendText(whole, text[begin:]))
	return nil
}

// appendText decodes part of a JSON string, without its quotes, and appends it.
func appendText(whole, part []byte) []byte {
	var text string
	quoted := slices.Concat([]byte{'"'}, part, []byte{'"'})
	if err := json.Unmarshal(quoted, &text); err != nil {
		return append(whole, part...)
	}
	return append(whole, text...)
}
