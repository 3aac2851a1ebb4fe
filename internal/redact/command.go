package redact

import (
	"path"
	"strings"
)

// deepest is the greatest nesting of shell scripts that is analysed.
const deepest = 3

// CommandLine keeps the parts of a command line that are known to be harmless and replaces the
// others. It keeps names of programs, scripts, modules and flags. It keeps a value if its flag
// is listed (vocabulary.go) and the value is a number, an ordinary word or an ordinary path;
// without a flag it keeps known words, small numbers and ordinary paths. The result has as many
// arguments as the command line.
func CommandLine(command []string) []string { return redactCommand(command, 0) }

func redactCommand(command []string, depth int) []string {
	w := walk{depth: depth, waiting: place, begins: true}
	clean := make([]string, len(command))
	for i, argument := range command {
		clean[i] = w.take(argument)
	}
	return clean
}

// walk is the state of reading a command line.
type walk struct {
	depth   int
	begins  bool         // the next argument is the name of a program
	waiting trustLevel   // trust in the next value; place if no flag expects one
	flag    string       // the flag that expects a value
	running string       // "python", "shell", "code" or "slurm" while the flags of an interpreter follow
	prints  bool         // arbitrary text follows, as after echo and printf
	after   nextArgument // what the last argument says about the next
	setenv  int          // 1: a name follows, 2: its value
}

// nextArgument is what an argument says about the one after it.
type nextArgument int

const (
	afterHarmless nextArgument = iota
	afterHidden                // the last one was hidden: words after it are not trusted
	afterSecret                // the last one names a secret: nothing after it is trusted
)

// take returns an argument as it may be kept.
func (w *walk) take(argument string) string {
	before, program := w.after, w.begins
	w.after = afterHarmless
	clean := argument
	switch {
	case argument == "=" || argument == ":": // name = value
		w.after = before
		return argument
	case argument == "" || argument == "-" || argument == Hidden:
		w.endFlag()
	case len(argument) > longest:
		clean = Hidden
	case argument == "--":
		w.endFlag()
	case w.depth > 0 && operators()[argument]:
		w.endProgram()
	case w.prints, before == afterSecret && !isKnownFlag(argument):
		clean = Hidden
		if w.endFlag(); looksLikeFlag(argument) {
			w.after = afterSecret
		}
	case looksLikeFlag(argument) && w.waiting != secret:
		clean = w.takeFlag(argument)
	case w.setenv > 0:
		clean = w.takeVariable(argument)
	case w.waiting != place:
		clean = w.takeValue(argument)
	default:
		clean = w.takePositional(argument, before)
	}
	if clean != argument && w.after == afterHarmless && w.waiting == place {
		w.after = afterHidden
	}
	if isNamedSecret(argument) && w.waiting == place && !program {
		w.after = afterSecret
	}
	return clean
}

var operators = set("&& || | ; & ( ) { } ! > >> < 2>&1 &> 2> then do done fi if while for")

// endFlag forgets the flag that expects a value.
func (w *walk) endFlag() { w.waiting, w.flag = place, "" }

// endProgram starts a new command.
func (w *walk) endProgram() {
	w.endFlag()
	w.running, w.setenv, w.begins, w.prints = "", 0, true, false
}

var (
	flagShape  = pattern(`^--?[A-Za-z][\w.-]{0,63}(=|$)`)
	shortValue = pattern(`^-[A-Za-z]\d{1,4}$`) // -n8
	broken     = pattern(`\d[^\d]`)            // -pGa1b2-c3 is not a name, though it consists of words and letters
	interprets = pattern(`^-[bBdEhiIOPqRsSuvVx]{2,}$`)
	shellFlags = pattern(`^-[euxilv]*c$`)
	plainName  = pattern(`^[+~]{0,2}[A-Za-z_][\w./@-]{0,79}$`)
)

// looksLikeFlag reports whether an argument begins like a flag and is not a number.
func looksLikeFlag(argument string) bool {
	return len(argument) > 1 && argument[0] == '-' && !sized().MatchString(argument)
}

// isKnownFlag reports whether an argument is a listed flag.
func isKnownFlag(argument string) bool {
	name, _, _ := strings.Cut(argument, "=")
	return strings.HasPrefix(argument, "--") && flagShape().MatchString(argument) && trustOf(name) >= number
}

// isNamedSecret reports whether an argument without a value names a secret: X-Api-Key:,
// db.password, Bearer.
func isNamedSecret(argument string) bool {
	name := strings.Trim(argument, `-:='"`)
	return len(name) <= 64 && !strings.ContainsAny(name, "=/ ") && trustOf(name) == secret
}

// takeFlag handles -n, -n8, --name, --name=value, -name=value, -Dname=value.
func (w *walk) takeFlag(argument string) string {
	waited := w.waiting
	w.endFlag()
	name, value, assigned := strings.Cut(argument, "=")
	bare := strings.TrimLeft(name, "-")
	dashes := len(name) - len(bare)
	trusted := trustOf(bare)
	switch {
	case dashes > 2 || !flagShape().MatchString(argument) || !isOrdinary(bare):
		return hideAttached(argument)
	case trusted < number && waited <= unknown && len(argument) > 2: // it may be the value of the flag before it
		return hideAttached(argument)
	case dashes == 1 && len(bare) == 1 && !assigned:
		return w.takeLetter(argument)
	case dashes == 1 && !assigned:
		return w.takeCluster(argument, trusted)
	case dashes == 1 && trusted < number && (bare[0] == 'D' || bare[0] == 'e' || bare[0] == 'x'):
		return argument[:2] + w.redactPair(bare[1:], value)
	case dashes == 1 && trusted < number:
		return hideAttached(argument)
	case assigned:
		return name + "=" + w.redactValue(value, trusted, bare)
	}
	w.waiting, w.flag = trusted, bare
	return argument
}

// hideAttached hides all but the letter of -pSECRET.
func hideAttached(argument string) string {
	if len(argument) > 2 && argument[1] >= 'A' && argument[1] <= 'z' && argument[0] == '-' && argument[1] != '-' {
		return argument[:2] + Hidden
	}
	return Hidden
}

// numberLetters are one-letter flags that usually take a number: -n 8, -b 256. wordLetters take
// words and paths: -a resnet50, -x NAME=value. The other letters may take users and passwords:
// -u, -p, -U, -k.
const (
	numberLetters = "bcegjknqstwBCEGJKNTW"
	wordLetters   = "acdefilmnoqstxCDJOWX"
)

// takeLetter handles a dash and one letter.
func (w *walk) takeLetter(argument string) string {
	w.flag, w.waiting = argument[1:], unknown
	switch letter := argument[1]; {
	case w.running == "shell" && letter == 'c':
		w.flag, w.waiting = "script", text
	case w.running == "python" && letter == 'c', w.running == "code" && letter == 'e':
		w.flag, w.waiting = "", secret
	case w.running == "python" && letter == 'm':
		w.flag, w.waiting = "module", text
	case w.running == "python" && letter != 'W' && letter != 'X', strings.IndexByte("vhqiIEsSdV", letter) >= 0:
		w.endFlag() // takes no value
	}
	return argument
}

// takeCluster handles a dash and several letters: -lr, -uE, -lc, -n8, -pSECRET.
func (w *walk) takeCluster(argument string, trusted trustLevel) string {
	switch {
	case w.running == "python" && interprets().MatchString(argument):
	case w.running == "shell" && shellFlags().MatchString(argument):
		w.flag, w.waiting = "script", text
	case trusted >= number && !broken().MatchString(argument), argument == "-np", argument == "-ppn":
		w.flag, w.waiting = argument[1:], max(trusted, number)
	case shortValue().MatchString(argument) && strings.IndexByte(numberLetters, argument[1]) >= 0:
	default:
		w.waiting = min(trusted, unknown) // -secretName VALUE
		return hideAttached(argument)
	}
	return argument
}

// takeValue handles the argument after a flag.
func (w *walk) takeValue(argument string) string {
	flag, trusted := w.flag, w.waiting
	w.endFlag()
	if trusted == number && sized().MatchString(argument) {
		w.waiting, w.flag = number, flag // --milestones 100 150
		return argument
	}
	if flag != "" && len(flag) == 1 {
		return w.redactLetterValue(argument, flag[0])
	}
	if trusted >= number && !sized().MatchString(argument) && (isPath(argument) || isKnown(argument)) {
		return w.takePositional(argument, afterHarmless) // the flag is a switch: --multi_gpu train.py
	}
	return w.redactValue(argument, trusted, flag)
}

var (
	oneNumber = pattern(`^(\d{1,4}|\d{1,3}([,-]\d{1,3}){1,64})$`)
	hostSlots = pattern(`^[a-z][a-z0-9.-]{0,40}(:\d{1,2})?(,[a-z][a-z0-9.-]{0,40}(:\d{1,2})?)*$`)
	nodeList  = pattern(`^[a-z][a-z-]{0,20}\d{0,4}(\[\d[\d,-]*\])?$`)
)

// redactLetterValue handles the value of a one-letter flag.
func (w *walk) redactLetterValue(argument string, letter byte) string {
	switch {
	case oneNumber().MatchString(argument) && strings.IndexByte(numberLetters, letter) >= 0,
		letter == 'H' && hostSlots().MatchString(argument) && strings.ContainsAny(argument, ":,0123456789"),
		letter == 'J' && isWord(argument),
		letter == 'w' && w.running == "slurm" && nodeList().MatchString(argument):
		return argument
	}
	if strings.IndexByte(wordLetters, letter) < 0 {
		return w.redactValue(argument, unknown, "")
	}
	running := w.running
	clean := w.takePositional(argument, afterHarmless)
	w.running = running // srun -o FILE -w NODES
	return clean
}

// takeVariable handles setenv NAME VALUE.
func (w *walk) takeVariable(argument string) string {
	if w.setenv++; w.setenv == 2 && plainName().MatchString(argument) && isOrdinary(argument) {
		w.waiting, w.flag = trustOf(argument), argument
		w.setenv = 0
		return argument
	}
	w.setenv = 0
	w.waiting, w.flag = secret, ""
	return Hidden
}

// takePositional handles an argument that does not belong to a flag.
func (w *walk) takePositional(argument string, before nextArgument) string {
	w.noteProgram(argument)
	begins := w.begins
	w.begins = false
	name, value, assigned := strings.Cut(argument, "=")
	if assigned && plainName().MatchString(name) && !isPath(argument) {
		w.begins = begins
		return w.redactPair(name, value)
	}
	if begins && isWord(argument) {
		return argument
	}
	if before == afterHidden && !isRooted(argument) && w.running == "" {
		return Hidden
	}
	sign := len(argument) - len(strings.TrimLeft(argument, "+~"))
	return argument[:sign] + w.redactValue(argument[sign:], place, "") // the sign of ~callbacks
}

// isRooted reports whether a value is certainly a path.
func isRooted(value string) bool {
	return isPath(value) && (extensions()[extension(value)] || rooted().MatchString(value))
}

var rooted = pattern(`^(~|\.?\.?/)`)

var (
	pythonName = pattern(`^(python|pypy)[\d.]*$`)
	shellName  = pattern(`^(ba|z|da|k|a)?sh$`)
	codeName   = pattern(`^(perl|ruby|node|R|Rscript|julia|lua)$`)
	slurmName  = pattern(`^(srun|sbatch|salloc)$`) // for other programs -w may be a password: ldapsearch
)

// noteProgram records which program the following flags belong to.
func (w *walk) noteProgram(argument string) {
	switch name := path.Base(argument); {
	case pythonName().MatchString(name), name == "torchrun", name == "launch", name == "deepspeed":
		w.running = "python"
	case shellName().MatchString(name):
		w.running = "shell"
	case codeName().MatchString(name):
		w.running = "code"
	case slurmName().MatchString(name):
		w.running = "slurm"
	case name == "echo", name == "printf":
		w.prints, w.running = true, ""
	case name == "setenv":
		w.setenv, w.running = 1, ""
	default:
		w.running = ""
	}
}

// redactPair handles name=value.
func (w *walk) redactPair(name, value string) string {
	known := trustOf(name) >= number
	base64 := !known && (strings.Trim(value, "=") == "" || strings.ContainsAny(name, "/@"))
	if base64 || !isOrdinary(strings.TrimLeft(name, "+~")) {
		return Hidden
	}
	return name + "=" + w.redactValue(value, trustOf(name), name)
}

// redactValue keeps a value as far as the trust in its name allows.
func (w *walk) redactValue(value string, trusted trustLevel, name string) string {
	switch {
	case value == "" || value == Hidden:
		return value
	case len(value) > longest || trusted == secret || leadsToSecret(value):
		return Hidden
	case isSmall(value):
		return value
	case extensions()[extension(value)] && isPath(value): // a file name; the secret would be in the file
		return value
	case trusted == unknown:
		return Hidden
	case trusted >= number && strings.Contains(value, "=") && !isPath(value):
		return w.redactPairs(value)
	case trusted >= number && sized().MatchString(value) && (trusted == number || longestNumber(value) <= 5 || dated().MatchString(value)):
		return value
	case name == "script" || name == "wrap" || name == "command":
		return w.redactScript(value)
	case urlShape().MatchString(value):
		return redactURL(value)
	case isKnown(value) || isPath(value) || deviceName().MatchString(value):
		return value
	case trusted >= number && isNumbersOrKnown(value):
		return value
	case trusted == text && isNamed(value):
		return value
	}
	return Hidden
}

var (
	variable   = pattern(`^\$\{?([A-Z_]+)\}?$`)
	imageTag   = pattern(`^([\w.-]+(:\d{2,5})?/)?[\w./-]+(:|#)(v?\d+\.[\w.-]{1,40}|latest|stable|nightly|main)$`)
	hostPort   = pattern(`^([A-Za-z][\w.-]{0,80}|\d{1,3}(\.\d{1,3}){3}|\$\{?[A-Z_]+\}?):(\d{1,5}|\$\{?[A-Z_]+\}?)$`)
	deviceName = pattern(`^(cuda|gpu|cpu|xpu|hpu|mps|localhost|node\d{0,4})(:[a-z]\w{1,8})?:\d{1,2}(,\d{1,2})*$`)
)

// isNamed reports whether a value is the name of a model, run, file, host or image, or a list
// of such names.
func isNamed(value string) bool {
	for one := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
		one = strings.Trim(one, `'"`)
		ok := isWord(one) || isPath(one) || arePaths(one) || isHarmless(one) ||
			deviceName().MatchString(one) || nodeList().MatchString(one) ||
			(imageTag().MatchString(one) || hostPort().MatchString(one)) && isOrdinary(strings.Trim(one, "$"))
		if v := variable().FindStringSubmatch(one); v != nil {
			ok = trustOf(v[1]) >= number
		}
		if !ok {
			return false
		}
	}
	return true
}

// isNumbersOrKnown reports whether a value is a list of small numbers and known words:
// cuda,nvtx or 0,1,cpu.
func isNumbersOrKnown(value string) bool {
	for one := range strings.SplitSeq(value, ",") {
		if !isSmall(one) && !isKnown(one) {
			return false
		}
	}
	return true
}

// arePaths reports whether a value is a mount: /data:/data:ro.
func arePaths(value string) bool {
	for one := range strings.SplitSeq(value, ":") {
		if !strings.HasPrefix(one, "/") && one != "ro" && one != "rw" || !isPath(one) && len(one) > 2 {
			return false
		}
	}
	return true
}

// redactPairs handles ALL,NAME=value,NAME=value. A hidden value may have contained commas, so
// nothing after it is kept.
func (w *walk) redactPairs(value string) string {
	parts := strings.Split(value, ",")
	for i, part := range parts {
		name, of, assigned := strings.Cut(part, "=")
		switch {
		case assigned && plainName().MatchString(name):
			parts[i] = w.redactPair(name, of)
		case !isKnown(part) && !isSmall(part):
			parts[i] = Hidden
		}
		if strings.Contains(parts[i], Hidden) {
			return strings.Join(parts[:i+1], ",")
		}
	}
	return strings.Join(parts, ",")
}
