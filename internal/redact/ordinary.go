package redact

import (
	"path"
	"strconv"
	"strings"
	"unicode"
)

// small matches numbers that cannot be secrets: integers below a thousand, and short fractions.
var small = pattern(`^[+-]?(\d{1,3}|\d{0,3}\.\d{1,4}|\d(\.\d)?[eE][+-]?\d{1,2})$`)

// round matches one or two digits followed by at least two zeros. A PIN has four digits, and
// one in a hundred PINs is round.
var round = pattern(`^[1-9]\d?0{2,10}$`)

// isHarmless reports whether a number may be kept without knowing its meaning: if it is small,
// round or a power of two.
func isHarmless(value string) bool {
	if small().MatchString(value) || round().MatchString(value) {
		return true
	}
	n, err := strconv.ParseUint(value, 10, 64)
	return err == nil && n&(n-1) == 0 && value[0] != '0'
}

// sized matches numbers and lists of numbers as values of a named quantity: 224x224, [3,4,6,3],
// 0-7, 1e-4, 64GB, 01:30:00, 50%.
var sized = pattern(`^[\[(]?` + oneSized + `([,:x/-] ?` + oneSized + `)*[\])]?$`)

// dated matches a date, with or without a time, as in names of runs.
var dated = pattern(`^(19|20)\d{6}([-_T]?\d{4,6})?$`)

const oneSized = `[+-]?(\d{1,12}|\d{0,9}\.\d{0,12})([eE][+-]?\d{1,3})?([kKmMgGtT]i?[bB]?|[bB]|us|ms|s|m|h|d|ba|ep|tok|%)?`

var switches = set("true false yes no on off none null nan inf auto all True False None null Null NULL TRUE FALSE " +
	"YES NO ON OFF")

// isSmall reports whether a value is a switch or a small number, or a list of them.
func isSmall(value string) bool {
	value = strings.Trim(value, "[]()")
	for one := range strings.SplitSeq(value, ",") {
		if !isHarmless(one) && !switches()[one] {
			return false
		}
	}
	return true
}

// isKnown reports whether a word consists of known words and few digits: resnet50, bf16-mixed,
// vit_base_patch16_224. Up to two single letters are allowed, because they reveal little.
func isKnown(word string) bool {
	if word == "" || len(word) > 80 {
		return false
	}
	lower, digits, letters, known := strings.ToLower(word), 0, 0, false
	if valueWords()[lower] {
		return true
	}
	for _, r := range lower {
		switch {
		case unicode.IsDigit(r):
			digits++
		case !unicode.IsLetter(r) && !strings.ContainsRune("-_.", r):
			return false
		}
	}
	for _, w := range wordsOf(word) {
		switch {
		case len(w) == 1:
			letters++
		case valueWords()[w] || numberWords()[w] || textWords()[w]:
			known = true
		default:
			return false
		}
	}
	return digits <= 8 && letters <= 2 && (known || letters == 1 && digits <= 3) && longestNumber(word) <= 4
}

// longestNumber returns the length of the longest run of digits.
func longestNumber(word string) (longest int) {
	n := 0
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

var (
	// wordShape matches the characters of names of models, runs and modules.
	wordShape = pattern(`^[\pL\d_][\pL\d_.+-]{0,79}$`)

	// pathShape allows no colon, no quote and no character that is special in a shell or a URL.
	pathShape = pattern(`^(~[a-z]*/|\$\{?[A-Z_]+\}?/)?[\pL\d_.+=@,~/-]+$`)

	shardRange = pattern(`\{\d+\.\.\d+\}|\{[a-z]+(,[a-z]+)+\}|[*?]`) // data-{000..147}.tar
	uuid       = pattern(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	manyHex    = pattern(`(?i)[0-9a-f]{16,}`)
)

// isWord reports whether a value is a word or a name that a person would choose. Plain numbers
// are not, but versions and addresses are: 3.0.0, 10.0.0.1.
func isWord(value string) bool {
	named := strings.ContainsFunc(value, unicode.IsLetter) || strings.Contains(value, ".") && longestNumber(value) <= 3
	return named && wordShape().MatchString(value) && isOrdinary(value)
}

// isPath reports whether a value is an ordinary path: with a slash, or a file name.
func isPath(value string) bool {
	if value == "." || value == ".." {
		return true
	}
	value = shardRange().ReplaceAllString(value, "0")
	if !strings.Contains(value, "/") && !extensions()[extension(value)] || !pathShape().MatchString(value) {
		return false
	}
	if at := strings.IndexByte(value, '/'); value[0] == '$' {
		value = value[at:]
	}
	for segment := range strings.SplitSeq(value, "/") {
		if !isSegment(segment) {
			return false
		}
	}
	return isOrdinary(value)
}

// isSegment reports whether a text is an ordinary component of a path. An equals sign may occur
// in names of checkpoints and partitions: epoch=3-step=100.ckpt.
func isSegment(segment string) bool {
	if len(segment) > 128 {
		return false
	}
	if !strings.ContainsAny(segment, "=@,") {
		return true
	}
	for _, w := range wordsOf(segment) {
		if !extensions()[w] && !numberWords()[w] && !textWords()[w] && !valueWords()[w] {
			return false
		}
	}
	return !strings.HasSuffix(segment, "=") && longestNumber(segment) <= 8
}

// extension returns the extension of a file name, without the dot.
func extension(value string) string { return strings.TrimPrefix(path.Ext(value), ".") }

// isOrdinary distinguishes names that people choose from random ones: in names, digits and
// letters alternate rarely, capitals begin words, and words are pronounceable.
func isOrdinary(value string) bool {
	if uuid().MatchString(value) || manyHex().MatchString(value) && longestNumber(value) < 16 ||
		knownSecret().MatchString(value) || redactAWS(value) != value {
		return false
	}
	mixed, short := 0, 0
	for run := range strings.FieldsFuncSeq(value, isBetween) {
		if isKnown(run) {
			continue
		}
		if len(run) > 40 || len(run) >= 20 && looksRandom(run) || longestNumber(run) > 12 {
			return false
		}
		changes := changesOf(run)
		if changes > 1 {
			mixed++
		}
		n, speakable := shortHumps(run)
		if short += n; !speakable || changes > 3 {
			return false
		}
	}
	return mixed <= 2 && short <= 2
}

// changesOf counts the changes between letters and digits.
func changesOf(run string) (changes int) {
	digits := false
	for i, r := range run {
		if unicode.IsDigit(r) != digits && i > 0 {
			changes++
		}
		digits = unicode.IsDigit(r)
	}
	return changes
}

// shortHumps counts the parts of one or two letters between capitals, of which base64 has many.
// speakable is false if a part is not pronounceable.
func shortHumps(run string) (short int, speakable bool) {
	for part := range strings.FieldsFuncSeq(run, unicode.IsDigit) {
		humps := humpsOf(part)
		for _, hump := range humps {
			if !isSpeakable(hump) || len(humps) > 1 && !hasVowel(hump) {
				return short, false
			}
			if len(hump) < 3 && len(humps) > 1 {
				short++
			}
		}
	}
	return short, true
}

// humpsOf splits letters before each capital that follows a lower-case letter.
func humpsOf(letters string) (humps []string) {
	start, before := 0, rune(0)
	for i, r := range letters {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			humps, start = append(humps, letters[start:i]), i
		}
		before = r
	}
	return append(humps, letters[start:])
}

// hasVowel reports whether a part has a vowel, is too short to need one, or is all capitals:
// HTTPServer passes, WDqHQqpd does not.
func hasVowel(hump string) bool {
	lower := strings.ToLower(hump)
	return len(hump) < 3 || hump == strings.ToUpper(hump) || strings.ContainsAny(lower, "aeiouy") || lower[0] > unicode.MaxASCII ||
		valueWords()[lower] || numberWords()[lower] || textWords()[lower] || extensions()[lower]
}

// isSpeakable reports whether a word is short or has enough vowels and not more than five
// consonants in a row.
func isSpeakable(word string) bool {
	word = strings.ToLower(word)
	if len(word) <= 5 || valueWords()[word] || numberWords()[word] || textWords()[word] {
		return true
	}
	consonants, vowels := 0, 0
	for _, r := range word {
		switch {
		case r > unicode.MaxASCII || strings.ContainsRune("aeiouy", r):
			consonants = 0
			vowels++
		default:
			if consonants++; consonants > 5 {
				return false
			}
		}
	}
	return vowels*7 >= len(word)
}

// leadsToSecret reports whether a part of a value names a secret and another part follows:
// webhook,749370, or the path api_key/749370. It is false for the name of a file, because the
// secret would be in the file. The word "tokens" does not count: language models read tokens.
func leadsToSecret(value string) bool {
	if extensions()[extension(value)] {
		return false
	}
	parts := strings.FieldsFunc(value, func(r rune) bool { return isBetween(r) && !strings.ContainsRune("-_.", r) })
	for i := range len(parts) - 1 {
		if words := wordsOf(parts[i]); trustOf(parts[i]) == secret && words[len(words)-1] != "tokens" {
			return true
		}
	}
	return false
}
