package observe

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// hidden stands in a recording where a secret stood on the command line.
const hidden = "[redacted]"

// redact takes secrets out of a command line: by name (values of flags, variables,
// headers, fields of JSON, YAML and connection strings), by shape (tokens of well-known
// services, keys, users in URLs) and by look (words that are random). It errs towards
// hiding too much.
func redact(command []string) []string {
	clean := make([]string, len(command))
	hideNext, program := false, false
	for i, argument := range command {
		switch {
		case hideNext && !isFlag(argument):
			clean[i] = hidden
		case program:
			clean[i] = redactProgram(argument)
		case shortSecret(command, i):
			clean[i] = argument[:2] + hidden
		default:
			clean[i] = redactArgument(argument)
		}
		hideNext = !program && asksForSecret(command, i)
		program = programFlags[argument] && i > 0 && interpreter.MatchString(command[i-1]+" "+command[0])
	}
	return clean
}

// programFlags of an interpreter are followed by a program, in which names are assigned
// to all day.
var (
	programFlags = map[string]bool{"-c": true, "-e": true}
	interpreter  = regexp.MustCompile(`(^|[/ ])(python[\d.]*|perl|ruby|node|bash|sh|zsh)( |$)`)
)

// isFlag tells the next flag from a value that begins with a dash.
func isFlag(argument string) bool {
	return strings.HasPrefix(argument, "--") || len(argument) == 2 && argument[0] == '-'
}

// asksForSecret reports whether the argument after i is a secret.
func asksForSecret(command []string, i int) bool {
	argument := command[i]
	if !strings.HasPrefix(argument, "-") || strings.Contains(argument, "=") || len(argument) > 64 {
		return false
	}
	if argument == "-p" { // a password to many programs, a port or a profile to others
		return i+1 < len(command) && strings.Trim(command[i+1], "0123456789:.") != ""
	}
	return secretName(strings.TrimLeft(argument, "-"))
}

// passwordPrograms take a password right behind -p.
var passwordPrograms = []string{"mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "7z", "zip", "unzip"}

func shortSecret(command []string, i int) bool {
	return len(command[i]) > 2 && strings.HasPrefix(command[i], "-p") && slices.Contains(passwordPrograms, filepath.Base(command[0]))
}

// redactArgument is for one argument of a command line.
func redactArgument(argument string) string {
	name, value, assigned := strings.Cut(argument, "=")
	if assigned && value != "" && len(name) <= 64 && plainName.MatchString(name) && secretName(strings.TrimLeft(name, "-")) {
		return name + "=" + hidden
	}
	return redactText(argument)
}

// plainName is what a flag or a variable is called; a program behind -c is not.
var plainName = regexp.MustCompile(`^[\w.:-]+$`)

// redactProgram leaves code as it is but for quoted values of secret names, shapes and
// random words.
func redactProgram(text string) string {
	return redactShapes(redactNamed(quotedValue, text))
}

// redactText is for text in which names and values may stand anywhere.
func redactText(text string) string {
	return redactShapes(redactNamed(anyValue, redactNamed(quotedValue, text)))
}

// A name with its value: {"password": "x y"}, password='x y', X-Api-Key: x, Pwd=x;
// Authorization: Bearer x. Groups: name with what stands between, value.
var (
	quotedValue = regexp.MustCompile(`([A-Za-z][\w.-]*)(["']?[ \t]*[:=]>?[ \t]*)("(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+')`)
	anyValue    = regexp.MustCompile(`([A-Za-z][\w.-]*)(["']?[ \t]*[:=][ \t]*)((?:(?i:bearer|basic|digest|token|negotiate)\s+)?[^\s"',;&{}\[\]][^\s"',;&{}]*)`)
)

func redactNamed(pair *regexp.Regexp, text string) string {
	return pair.ReplaceAllStringFunc(text, func(found string) string {
		m := pair.FindStringSubmatch(found)
		name, between, value := m[1], m[2], m[3]
		if strings.Contains(value, hidden) {
			return found
		}
		if !secretName(name) {
			return name + between + redactNamed(pair, value) // env=API_KEY=x, https://host?token=x
		}
		quote := ""
		if value[0] == '"' || value[0] == '\'' {
			quote = value[:1]
		}
		return name + between + quote + hidden + quote
	})
}

// secretWords name secrets wherever they stand in a name, secretEnds where a name ends in
// them: pin is one, pin_memory is none. Words of harmlessNames are taken out first.
var (
	secretWords = []string{
		"token", "passw", "passphrase", "passwd", "pwd", "secret", "credential", "apikey", "accesskey", "privatekey", "authorization",
		"cookie", "bearer", "signature", "jwt", "oauth", "webhook",
	}
	secretEnds    = []string{"key", "pass", "pw", "pin", "auth", "otp", "totp", "sid", "session", "sessionid", "sig", "csrf", "dsn", "psk", "salt", "keys", "creds", "cred"}
	harmlessNames = regexp.MustCompile(`(?i)(key_?-?points?|key_?-?frames?|tokeni[sz]\w*|(num|max|min|n|per|new|special|pad|eos|bos|unk|mask)[-_.]?(new[-_.]?)?tokens?|tokens?[-_.]?(per|length|len|num|count|budget|id|limit)\w*|sort[-_.]?keys?|key[-_.]?(column|field|dim|padding|mask|states?|size|len)\w*|public[-_.]?keys?|image[-_.]?keys?|(one|multi|two|n|num|single)[-_.]?pass|(^|[-_.])authors?($|[-_.]))`)
)

// secretName reports whether a flag, a variable or a field is named like a secret.
func secretName(name string) bool {
	name = harmlessNames.ReplaceAllString(name, "")
	joined, last := "", ""
	for _, word := range wordsOf(name) {
		joined, last = joined+word, word
	}
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(joined, w) }) ||
		slices.Contains(secretEnds, last)
}

// wordsOf splits a name at dashes, dots, underscores and humps, into lower case.
func wordsOf(name string) []string {
	var b strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		before = r
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var (
	// A user in a URL may have a password with anything in it, @ and / too.
	userInURL = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s"'<>]+)@`)
	port      = regexp.MustCompile(`^[^/@:]+:\d+/`)

	// And without a scheme: user:password@host.
	userAtHost = regexp.MustCompile(`(^|[\s"'=,(])([\w.+-]+):([^\s"'/:][^\s"']*)@([\w-][\w.-]*)`)

	knownSecret = regexp.MustCompile(`\b(hf_|gh[opsur]_|github_pat_|glpat-|glrt-|sk-|rk_live_|sk_live_|pk_live_|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|dop_v1_|SG\.|shpat_|hvs\.|lin_api_|ntn_|AGE-SECRET-KEY-)[A-Za-z0-9_.\-]{8,}` +
		`|hooks\.slack\.com/services/[\w/]+|\b\d{8,10}:[A-Za-z0-9_-]{35}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	awsSecret = regexp.MustCompile(`(^|[^A-Za-z0-9/+])([A-Za-z0-9/+]{40})($|[^A-Za-z0-9/+=])`)
	word      = regexp.MustCompile(`[A-Za-z0-9+/_=\-]{20,}`)
)

func redactShapes(text string) string {
	text = knownSecret.ReplaceAllString(text, hidden)
	text = userInURL.ReplaceAllStringFunc(text, func(found string) string {
		m := userInURL.FindStringSubmatch(found)
		host, _, _ := strings.Cut(m[2], "/")
		if port.MatchString(m[2]) || !strings.Contains(m[2], ":") && host != m[2] {
			return found // host:8080/path@v1, host/path@v1
		}
		return m[1] + hidden + "@"
	})
	text = userAtHost.ReplaceAllStringFunc(text, func(found string) string {
		m := userAtHost.FindStringSubmatch(found)
		if m[4] == "sha256" {
			return found // an image and its digest
		}
		return m[1] + m[2] + ":" + hidden + "@" + m[4]
	})
	text = awsSecret.ReplaceAllStringFunc(text, func(found string) string {
		m := awsSecret.FindStringSubmatch(found)
		if !mixed(m[2], 1, 5, 5) || bits(m[2]) < 4.2 {
			return found
		}
		return m[1] + hidden + m[3]
	})
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
		return slices.ContainsFunc(strings.Split(w, "/"), func(part string) bool {
			return len(part) < len(w) && len(part) >= 20 && looksRandom(part)
		})
	}
	b := bits(w)
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

// bits is the entropy of a word's characters.
func bits(w string) (sum float64) {
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
