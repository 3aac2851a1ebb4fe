package tune

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stoker-dev/stoker/internal/redact"
)

var hunkHead = regexp.MustCompile(`^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$`)

// withoutSecrets shortens the context of a unified diff so that it has no line that seems to
// hold a secret, because patches are printed and appear on pages that people share. The diff
// still applies: hunks may have less context.
func withoutSecrets(diff string) string {
	var out strings.Builder
	var head []int
	var body []string
	flush := func() {
		if head != nil {
			out.WriteString(shortHunk(head, body))
		}
		head, body = nil, nil
	}
	for line := range strings.Lines(diff) {
		found := hunkHead.FindStringSubmatch(line)
		switch {
		case found != nil:
			flush()
			head = make([]int, 4)
			for i, text := range found[1:] {
				_, _ = fmt.Sscan(text, &head[i]) // digits
			}
		case head != nil:
			body = append(body, line)
		default:
			out.WriteString(line)
		}
	}
	flush()
	return out.String()
}

// shortHunk returns a hunk without the leading context up to the last line that holds a secret,
// and without the trailing context from the first such line on.
func shortHunk(head []int, body []string) string {
	first, last := 0, len(body)
	for first < last && body[first][0] == ' ' {
		first++
	}
	for last > first && body[last-1][0] == ' ' {
		last--
	}
	from, to := 0, len(body)
	for i := range first {
		if holdsSecret(body[i]) {
			from = i + 1
		}
	}
	for i := len(body) - 1; i >= last; i-- {
		if holdsSecret(body[i]) {
			to = i
		}
	}
	left := from + len(body) - to
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s", head[0]+from, head[1]-left, head[2]+from, head[3]-left,
		strings.Join(body[from:to], ""))
}

func holdsSecret(line string) bool { return redact.Text(line) != line }
