package redact

import "strings"

// redactScript handles the text after sh -c. It treats the words as a command line. A script
// that has more than words, quotes and operators is hidden completely.
func (w *walk) redactScript(script string) string {
	words, ok := splitScript(script)
	if !ok || w.depth >= deepest {
		return Hidden
	}
	for i, word := range redactCommand(words, w.depth+1) {
		if words[i] = word; strings.ContainsAny(word, " ") {
			words[i] = `"` + word + `"`
		}
	}
	return strings.ReplaceAll(strings.Join(words, " "), " ;", ";")
}

// splitScript splits at blanks outside quotes. ok is false if the script has line breaks,
// escapes, here-documents, substitutions or unclosed quotes.
func splitScript(script string) (words []string, ok bool) {
	if strings.ContainsAny(script, "\n\r\\`") || strings.Contains(script, "<<") || strings.Contains(script, "$(") {
		return nil, false
	}
	var word strings.Builder
	var quote byte
	started := false
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for i := range len(script) {
		switch c := script[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t':
			end()
		case c == ';' || c == '(' || c == ')':
			end()
			words = append(words, string(c))
		default:
			word.WriteByte(c)
			started = true
		}
	}
	end()
	return words, quote == 0
}
