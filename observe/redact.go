package observe

import (
	"math"
	"regexp"
	"strings"
)

// hidden stands in a recording where a secret stood on the command line.
const hidden = "[redacted]"

var (
	secretName  = regexp.MustCompile(`(?i)(token|key|passw|pwd|secret|credential|auth)`)
	harmlessKey = regexp.MustCompile(`(?i)(keys?points?|keyframe|tokeni[sz]er|num[-_]tokens?|max[-_](new[-_])?tokens?|author)`)
	userInURL   = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s]+@`)
	secretInURL = regexp.MustCompile(`(?i)([?&][^=&\s]*(?:token|key|passw|secret|signature|credential|sig)[^=&\s]*=)[^&\s]+`)
	knownSecret = regexp.MustCompile(`\b(hf_|ghp_|gho_|github_pat_|glpat-|sk-|xox[abp]-|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_.\-]{8,}`)
	word        = regexp.MustCompile(`[A-Za-z0-9+/_=\-]{20,}`)
)

// redact takes secrets out of a command line: values of flags and variables that
// are named like one, users in URLs, keys of well-known services, and words that
// look random. It errs towards hiding too much.
func redact(command []string) []string {
	clean := make([]string, len(command))
	hideNext := false
	for i, argument := range command {
		if hideNext && !strings.HasPrefix(argument, "-") {
			clean[i], hideNext = hidden, false
			continue
		}
		hideNext = false
		name, value, assigned := strings.Cut(argument, "=")
		secret := secretName.MatchString(name) && !harmlessKey.MatchString(name) && plainName(name)
		switch {
		case assigned && secret && value != "":
			clean[i] = name + "=" + hidden
		default:
			clean[i] = redactText(argument)
			hideNext = secret && !assigned && strings.HasPrefix(argument, "-")
		}
	}
	return clean
}

// plainName reports whether a text can be a flag's or a variable's name; a whole
// program after -c is none.
func plainName(name string) bool {
	return len(name) <= 64 && !strings.ContainsAny(name, " \t\n(){};,'\"")
}

func redactText(text string) string {
	text = userInURL.ReplaceAllString(text, "${1}"+hidden+"@")
	text = secretInURL.ReplaceAllString(text, "${1}"+hidden)
	text = knownSecret.ReplaceAllString(text, hidden)
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if looksRandom(w) {
			return hidden
		}
		return w
	})
}

// looksRandom tells a random word from a path or a long name: it mixes letters
// and digits, or digits and both cases, and its characters are spread as evenly as random ones. English has
// about 4.1 bits per letter at most, hexadecimal 4, base64 up to 6; a sample of n
// letters shows at most log2(n).
func looksRandom(w string) bool {
	if strings.Count(w, "/") > 1 || strings.Count(w, "-")+strings.Count(w, "_") > 3 {
		return false
	}
	counts := map[rune]int{}
	digits, upper, lower := 0, 0, 0
	for _, r := range w {
		counts[r]++
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= 'a' && r <= 'z':
			lower++
		}
	}
	bits := 0.0
	for _, n := range counts {
		p := float64(n) / float64(len(w))
		bits -= p * math.Log2(p)
	}
	return digits >= 3 && upper+lower >= 3 && bits >= 3.3 || digits > 0 && upper >= 5 && lower >= 5 && bits >= 4.2
}
