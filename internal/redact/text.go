package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces text that is not known to be harmless.
const Hidden = "[redacted]"

// longest is the greatest number of bytes of an argument or a text that is analysed.
const longest = 4096

// Text removes secrets from sentences in which names and values may occur anywhere, such as
// error messages: no list of allowed words fits there. It removes values of names of
// secrets, users and queries of URLs, tokens of well-known services, and random words. It cuts
// text that is longer than longest.
func Text(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " [...]"
	}
	text = credentialFlag().ReplaceAllString(Addresses(text), "$1"+Hidden)
	for _, pair := range []*regexp.Regexp{quotedValue(), flagValue(), anyValue()} {
		text = redactNamed(pair, text)
	}
	return redactShapes(text)
}

// Addresses removes users, queries and fragments from the URLs in a text and keeps the rest. It
// is for messages that quote the user's input.
func Addresses(text string) string {
	return redactUsers(queryInURL().ReplaceAllString(text, "$1?"+Hidden))
}

// flagValue matches flags with values in a quoted command line; credentialFlag matches users
// with passwords.
var (
	flagValue      = pattern(`((?:--?|setenv |set |config )[A-Za-z][\w.-]*)([ \t]+)("[^"]*"|'[^']*'|[^\s"']+)`)
	credentialFlag = pattern(`((?:^|\s)(?:-[uU]|--(?:proxy-)?user|--login)[ =])\S+[:%]\S+`)
)

// queryInURL matches the query of an address, which may be a signature. After cleaning, a path
// has only one slash.
var queryInURL = pattern(`([a-zA-Z][a-zA-Z0-9+.-]*:/{1,3}[^\s"'<>?#]*)[?#][^\s"'<>]+`)

// A name with its value: {"password": "x y"}, password='x y', X-Api-Key: x, Pwd=x;
// Authorization: Bearer x. Groups: the name, the separator, the value.
var (
	quotedValue = pattern(`([A-Za-z][\w.-]*)(["']?[\])]?[ \t]*(?:[:=]>?|,)[ \t]*)("(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+')`)
	anyValue    = pattern(
		`([A-Za-z][\w.-]*)(["']?\]?[ \t]*[:=>][ \t]*)((?:(?i:bearer|basic|digest|token|negotiate)\s+)?[^\s"',;&{}\[\]][^\s"',;&{}]*)`)
)

// redactNamed replaces the values of names of secrets that pair finds.
func redactNamed(pair *regexp.Regexp, text string) string {
	return pair.ReplaceAllStringFunc(text, func(found string) string {
		m := pair.FindStringSubmatch(found)
		name, between, value := m[1], m[2], m[3]
		if strings.Contains(value, Hidden) {
			return found
		}
		if trustOf(name) != secret {
			return name + between + redactNamed(pair, value) // env=API_KEY=x, https://host?token=x
		}
		quote := ""
		if value[0] == '"' || value[0] == '\'' {
			quote = value[:1]
		}
		return name + between + quote + Hidden + quote
	})
}

var (
	// A user in a URL may have a password with any characters, including @ and /.
	userInURL = pattern(`([a-zA-Z][a-zA-Z0-9+.-]*:/{1,3})([^\s"'<>]+)@`)
	port      = pattern(`^[^/@:]+:\d+/`)

	// The same without a scheme: user:password@host.
	userAtHost = pattern(`(^|[\s"'=,(])([\w.+-]+):([^\s"'/:][^\s"']*)@([\w-][\w.-]*)`)

	knownSecret = pattern(
		`\b(hf_|gh[opsur]_|github_pat_|glpat-|glrt-|sk-|rk_live_|sk_live_|pk_live_|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|dop_v1_|SG\.|shpat_|hvs\.|lin_api_|ntn_|AGE-SECRET-KEY-)[A-Za-z0-9_.\-]{8,}` +
			`|hooks\.slack\.com/services/[\w/]+|\b\d{8,10}:[A-Za-z0-9_-]{35}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	awsSecret = pattern(`(^|[^A-Za-z0-9/+])([A-Za-z0-9/+]{40})($|[^A-Za-z0-9/+=])`)
	word      = pattern(`[A-Za-z0-9+/_=\-]{20,}`)
)

// redactShapes replaces what has the form of a secret.
func redactShapes(text string) string {
	text = knownSecret().ReplaceAllString(text, Hidden)
	text = redactUsers(text)
	text = userAtHost().ReplaceAllStringFunc(text, func(found string) string {
		m := userAtHost().FindStringSubmatch(found)
		if m[4] == "sha256" {
			return found // an image and its digest
		}
		return m[1] + m[2] + ":" + Hidden + "@" + m[4]
	})
	text = redactAWS(text)
	return word().ReplaceAllStringFunc(text, func(w string) string {
		if looksRandom(w) {
			return Hidden
		}
		return w
	})
}

// looksRandom distinguishes a random word from a path or a long name: it mixes letters and
// digits, or digits and both cases, and its characters have high entropy. English has at most
// about 4.1 bits per letter, hexadecimal 4, base64 up to 6; a sample of n letters has at most
// log2(n).
func looksRandom(w string) bool {
	if strings.Count(w, "/") > 1 || strings.Count(w, "-")+strings.Count(w, "_") > 3 {
		return slices.ContainsFunc(strings.Split(w, "/"), func(part string) bool {
			return len(part) < len(w) && len(part) >= 20 && looksRandom(part)
		})
	}
	b := entropy(w)
	return isMixed(w, 3, 0, 0) && letters(w) >= 3 && b >= 3.3 || isMixed(w, 1, 5, 5) && b >= 4.2
}

// isMixed reports whether a word has at least so many digits, capitals and lower-case letters.
func isMixed(w string, digits, upper, lower int) bool {
	d, u, l := 0, 0, 0
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			d++
		case r >= 'A' && r <= 'Z':
			u++
		case r >= 'a' && r <= 'z':
			l++
		}
	}
	return d >= digits && u >= upper && l >= lower
}

// letters counts the letters of a word.
func letters(w string) (n int) {
	for _, r := range w {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			n++
		}
	}
	return n
}

// entropy returns the entropy of a word's characters, in bits.
func entropy(w string) (sum float64) {
	counts := map[rune]int{}
	for _, r := range w {
		counts[r]++
	}
	for _, n := range counts {
		p := float64(n) / float64(len(w))
		sum -= p * math.Log2(p)
	}
	return sum
}

// redactAWS replaces keys of forty characters, which may contain slashes.
func redactAWS(text string) string {
	return awsSecret().ReplaceAllStringFunc(text, func(found string) string {
		m := awsSecret().FindStringSubmatch(found)
		if !isMixed(m[2], 1, 5, 5) || entropy(m[2]) < 4.2 {
			return found
		}
		return m[1] + Hidden + m[3]
	})
}

// redactUsers removes users from URLs.
func redactUsers(text string) string {
	return userInURL().ReplaceAllStringFunc(text, func(found string) string {
		m := userInURL().FindStringSubmatch(found)
		host, _, _ := strings.Cut(m[2], "/")
		if port().MatchString(m[2]) || !strings.Contains(m[2], ":") && host != m[2] {
			return found // host:8080/path@v1, host/path@v1
		}
		return m[1] + Hidden + "@"
	})
}
