package redact

import (
	"path"
	"strings"
)

// deepest is how many shells within shells are looked at.
const deepest = 3

// CommandLine keeps of a command line what is known to be harmless: names of programs,
// scripts, modules and flags, values whose flag is on the list (vocabulary.go) and that are
// numbers, ordinary words or ordinary paths, and without a name known words, small numbers
// and ordinary paths. It has as many arguments as the command line.
func CommandLine(command []string) []string { return redactCommand(command, 0) }

func redactCommand(command []string, depth int) []string {
	w := walk{depth: depth, waiting: place, begins: true}
	clean := make([]string, len(command))
	for i, argument := range command {
		clean[i] = w.take(argument)
	}
	return clean
}

// walk is what is known of a command line so far.
type walk struct {
	depth   int
	begins  bool         // the name of a program follows
	waiting trustLevel   // of the next value; place: no flag waits for one
	flag    string       // the flag that waits
	running string       // "python", "shell", "code" or "slurm" while flags of an interpreter follow
	prints  bool         // text for nobody knows what follows: echo, printf
	after   nextArgument // what the argument before was
	setenv  int          // 1: a name follows, 2: its value
}

// nextArgument is what an argument says of the next.
type nextArgument int

const (
	afterHarmless nextArgument = iota
	afterHidden                // its value may follow: words are not trusted
	afterSecret                // it was named like a secret: nothing is
)

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

func (w *walk) endFlag() { w.waiting, w.flag = place, "" }

func (w *walk) endProgram() {
	w.endFlag()
	w.running, w.setenv, w.begins, w.prints = "", 0, true, false
}

var (
	flagShape  = pattern(`^--?[A-Za-z][\w.-]{0,63}(=|$)`)
	shortValue = pattern(`^-[A-Za-z]\d{1,4}$`) // -n8
	broken     = pattern(`\d[^\d]`)            // -pGa1b2-c3 is no name, though it is made of words and letters
	interprets = pattern(`^-[bBdEhiIOPqRsSuvVx]{2,}$`)
	shellFlags = pattern(`^-[euxilv]*c$`)
	plainName  = pattern(`^[+~]{0,2}[A-Za-z_][\w./@-]{0,79}$`)
)

func looksLikeFlag(argument string) bool {
	return len(argument) > 1 && argument[0] == '-' && !sized().MatchString(argument)
}

// isKnownFlag reports whether an argument is a flag of the list.
func isKnownFlag(argument string) bool {
	name, _, _ := strings.Cut(argument, "=")
	return strings.HasPrefix(argument, "--") && flagShape().MatchString(argument) && trustOf(name) >= number
}

// isNamedSecret is for an argument without a value: X-Api-Key:, db.password, Bearer.
func isNamedSecret(argument string) bool {
	name := strings.Trim(argument, `-:='"`)
	return len(name) <= 64 && !strings.ContainsAny(name, "=/ ") && trustOf(name) == secret
}

// takeFlag is for -n, -n8, --name, --name=value, -name=value, -Dname=value.
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
	case trusted < number && waited <= unknown && len(argument) > 2: // the value of the flag before it, perhaps
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

// hideAttached keeps the letter of -pSECRET.
func hideAttached(argument string) string {
	if len(argument) > 2 && argument[1] >= 'A' && argument[1] <= 'z' && argument[0] == '-' && argument[1] != '-' {
		return argument[:2] + Hidden
	}
	return Hidden
}

// numberLetters are flags of one letter that often have a number: -n 8, -b 256.
// wordLetters have words and paths: -a resnet50, -x NAME=value. Users and passwords stand
// behind others: -u, -p, -U, -k.
const (
	numberLetters = "bcegjknqstwBCEGJKNTW"
	wordLetters   = "acdefilmnoqstxCDJOWX"
)

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
		w.endFlag() // no value follows
	}
	return argument
}

// takeCluster is for one dash and several letters: -lr, -uE, -lc, -n8, -pSECRET.
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

// takeValue is for the argument after a flag.
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
		return w.takePositional(argument, afterHarmless) // of a switch: --multi_gpu train.py
	}
	return w.redactValue(argument, trusted, flag)
}

var (
	oneNumber = pattern(`^(\d{1,4}|\d{1,3}([,-]\d{1,3}){1,64})$`)
	hostSlots = pattern(`^[a-z][a-z0-9.-]{0,40}(:\d{1,2})?(,[a-z][a-z0-9.-]{0,40}(:\d{1,2})?)*$`)
	nodeList  = pattern(`^[a-z][a-z-]{0,20}\d{0,4}(\[\d[\d,-]*\])?$`)
)

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

// takeVariable is for setenv NAME VALUE.
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

// takePositional is for an argument that no flag asks for.
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
	return argument[:sign] + w.redactValue(argument[sign:], place, "") // ~callbacks
}

// isRooted reports whether a value is a path that cannot be anything else.
func isRooted(value string) bool {
	return isPath(value) && (extensions()[extension(value)] || rooted().MatchString(value))
}

var rooted = pattern(`^(~|\.?\.?/)`)

var (
	pythonName = pattern(`^(python|pypy)[\d.]*$`)
	shellName  = pattern(`^(ba|z|da|k|a)?sh$`)
	codeName   = pattern(`^(perl|ruby|node|R|Rscript|julia|lua)$`)
	slurmName  = pattern(`^(srun|sbatch|salloc)$`) // elsewhere -w is a password: ldapsearch
)

// noteProgram remembers whose flags follow.
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

// redactPair is for name=value.
func (w *walk) redactPair(name, value string) string {
	known := trustOf(name) >= number
	base64 := !known && (strings.Trim(value, "=") == "" || strings.ContainsAny(name, "/@"))
	if base64 || !isOrdinary(strings.TrimLeft(name, "+~")) {
		return Hidden
	}
	return name + "=" + w.redactValue(value, trustOf(name), name)
}

// redactValue keeps what a name's trust allows.
func (w *walk) redactValue(value string, trusted trustLevel, name string) string {
	switch {
	case value == "" || value == Hidden:
		return value
	case len(value) > longest || trusted == secret || leadsToSecret(value):
		return Hidden
	case isSmall(value):
		return value
	case extensions()[extension(value)] && isPath(value): // of a file, which is no secret itself
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

// isNamed is for names of models, runs, files, hosts and images.
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

// isNumbersOrKnown is for lists: cuda,nvtx and 0,1,cpu.
func isNumbersOrKnown(value string) bool {
	for one := range strings.SplitSeq(value, ",") {
		if !isSmall(one) && !isKnown(one) {
			return false
		}
	}
	return true
}

// arePaths is for mounts: /data:/data:ro.
func arePaths(value string) bool {
	for one := range strings.SplitSeq(value, ":") {
		if !strings.HasPrefix(one, "/") && one != "ro" && one != "rw" || !isPath(one) && len(one) > 2 {
			return false
		}
	}
	return true
}

// redactPairs is for ALL,NAME=value,NAME=value. A value that is hidden may have had
// commas, so that nothing behind it is kept.
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
