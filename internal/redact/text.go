package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in place of what is not known to be harmless.
const Hidden = "[redacted]"

// longest is how many bytes of an argument or a text are looked at.
const longest = 4096

// Text is for sentences in which names and values may stand anywhere, such as the words
// of an error: nobody can list what passes there. It takes out values of names of
// secrets, users and queries of URLs, tokens of well-known services and random words.
// What is longer than longest is cut.
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

// Addresses takes users, queries and fragments out of the URLs of a text and leaves the rest
// as it is. It is for messages that quote what somebody typed.
func Addresses(text string) string {
	return redactUsers(queryInURL().ReplaceAllString(text, "$1?"+Hidden))
}

// flagValue is for command lines that a sentence quotes, credentialFlag for users with
// passwords in them.
var (
	flagValue      = pattern(`((?:--?|setenv |set |config )[A-Za-z][\w.-]*)([ \t]+)("[^"]*"|'[^']*'|[^\s"']+)`)
	credentialFlag = pattern(`((?:^|\s)(?:-[uU]|--(?:proxy-)?user|--login)[ =])\S+[:%]\S+`)
)

// queryInURL is what a signed address is signed with. A path that was made clean has one
// slash.
var queryInURL = pattern(`([a-zA-Z][a-zA-Z0-9+.-]*:/{1,3}[^\s"'<>?#]*)[?#][^\s"'<>]+`)

// A name with its value: {"password": "x y"}, password='x y', X-Api-Key: x, Pwd=x;
// Authorization: Bearer x. Groups: name with what stands between, value.
var (
	quotedValue = pattern(`([A-Za-z][\w.-]*)(["']?[\])]?[ \t]*(?:[:=]>?|,)[ \t]*)("(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+')`)
	anyValue    = pattern(
		`([A-Za-z][\w.-]*)(["']?\]?[ \t]*[:=>][ \t]*)((?:(?i:bearer|basic|digest|token|negotiate)\s+)?[^\s"',;&{}\[\]][^\s"',;&{}]*)`)
)

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
	// A user in a URL may have a password with anything in it, @ and / too.
	userInURL = pattern(`([a-zA-Z][a-zA-Z0-9+.-]*:/{1,3})([^\s"'<>]+)@`)
	port      = pattern(`^[^/@:]+:\d+/`)

	// And without a scheme: user:password@host.
	userAtHost = pattern(`(^|[\s"'=,(])([\w.+-]+):([^\s"'/:][^\s"']*)@([\w-][\w.-]*)`)

	knownSecret = pattern(
		`\b(hf_|gh[opsur]_|github_pat_|glpat-|glrt-|sk-|rk_live_|sk_live_|pk_live_|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|dop_v1_|SG\.|shpat_|hvs\.|lin_api_|ntn_|AGE-SECRET-KEY-)[A-Za-z0-9_.\-]{8,}` +
			`|hooks\.slack\.com/services/[\w/]+|\b\d{8,10}:[A-Za-z0-9_-]{35}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	awsSecret = pattern(`(^|[^A-Za-z0-9/+])([A-Za-z0-9/+]{40})($|[^A-Za-z0-9/+=])`)
	word      = pattern(`[A-Za-z0-9+/_=\-]{20,}`)
)

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

// looksRandom tells a random word from a path or a long name: it mixes letters
// and digits, or digits and both cases, and its characters are spread as evenly as random ones. English has
// about 4.1 bits per letter at most, hexadecimal 4, base64 up to 6; a sample of n
// letters shows at most log2(n).
func looksRandom(w string) bool {
	if strings.Count(w, "/") > 1 || strings.Count(w, "-")+strings.Count(w, "_") > 3 {
		return slices.ContainsFunc(strings.Split(w, "/"), func(part string) bool {
			return len(part) < len(w) && len(part) >= 20 && looksRandom(part)
		})
	}
	b := entropy(w)
	return mixed(w, 3, 0, 0) && letters(w) >= 3 && b >= 3.3 || mixed(w, 1, 5, 5) && b >= 4.2
}

// mixed reports whether a word has so many digits, capitals and small letters.
func mixed(w string, digits, upper, lower int) bool {
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

func letters(w string) (n int) {
	for _, r := range w {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			n++
		}
	}
	return n
}

// entropy is the entropy of a word's characters.
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

// redactAWS is for keys of forty characters, which may have slashes.
func redactAWS(text string) string {
	return awsSecret().ReplaceAllStringFunc(text, func(found string) string {
		m := awsSecret().FindStringSubmatch(found)
		if !mixed(m[2], 1, 5, 5) || entropy(m[2]) < 4.2 {
			return found
		}
		return m[1] + Hidden + m[3]
	})
}

// redactUsers takes users out of URLs.
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
