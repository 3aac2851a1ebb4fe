package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/report/text"
)

// section is a heading of the help with the names that stand under it, in their order.
type section struct{ title, names string }

// verbSections are the groups of the help. What stands in none of them comes under "More".
var verbSections = []section{
	{"See what starves the GPU", "observe watch diagnose trace"},
	{"Decide and prove", "advise predict verify"},
	{"Fix it", "feed pack tune"},
	{"Keep and share", "report runs export"},
	{"Machines", "doctor agent"},
}

// costFlags are those of what idling costs, the same in every verb.
const costFlags = "price kwh grid pue"

// ciFlags are those of reports for pipelines, the same in every verb.
const ciFlags = "check github gitlab markdown sarif"

// flagSections are the groups of a verb's flags. A verb that is not here has one group.
var flagSections = map[string][]section{
	"observe": {
		{"Run", "output pid quiet json check"},
		{"Look inside", "no-hook no-lines trace trace-stacks trace-shapes no-trace"},
		{"Tell others", "prometheus otlp log"},
		{"Cost", costFlags},
	},
	"diagnose": {
		{"Answer", "all explain list json pprof"},
		{"In a pipeline", ciFlags},
		{"Cost", costFlags},
	},
	"verify": {{"Answer", "json"}, {"In a pipeline", ciFlags}},
	"trace": {
		{"Answer", "all explain json csv check what-if"},
		{"Operators and kernels", "operators kernels by top shapes"},
		{"Write", "output timeline flame pprof"},
		{"Cost", costFlags},
	},
	"predict": {
		{"GPU", "gpu gpus nodes network shard"},
		{"Network", "model inference precision software recompute batch tokens side"},
		{"A network of your own", "flops bytes params kept layers grouped family"},
		{"A job that runs", "util to step measured like"},
		{"Data", "data mlperf sample decoded dataset memory cached"},
		{"Preparing on the CPU", "workers cores prepare cpu spread hand-over"},
		{"Storage and link", "storage access reads latency link pinned"},
		{"Question", "for walls checkpoint mtbf roofline tutorial"},
		{"Tables", "list hardware"},
		{"Cost", costFlags + " hours"},
		{"Answer", "all out sources json csv"},
	},
	"predict train": {
		{"Job", "model gpu gpus precision software compile lora"},
		{"Batch", "tokens micro-batch global-batch activations recompute"},
		{"Split", "layout tp pp virtual cp ep shard shard-group"},
		{"Machines", "nodes network hardware"},
		{"Answer", "measured all json"},
	},
	"predict serve": {
		{"Server", "model gpu tp precision software hardware"},
		{"Requests", "input output batch"},
		{"A model that guesses", "draft guesses accept"},
		{"Answer", "all json"},
	},
	"predict fleet": {
		{"Fleet", "gpu gpus years util hardware"},
		{"Failures", "mtbf checkpoint restart"},
		{"Cost", "buy " + costFlags},
		{"Answer", "all json"},
	},
	"feed": {
		{"Run a program", "verify"},
		{"Read a folder once", "check size json"},
		{"Every daemon", "threads nice quarantine record"},
		{"A daemon by hand", "socket ranks parent fd"},
	},
	"pack": {
		{"Write", "output shuffle shard-size shard-samples skip-bad"},
		{"Change the pictures", "resize decoded"},
		{"Answer", "dry-run verify json"},
	},
	"tune": {
		{"Try fixes", "starts longest env args output yes json"},
		{"Other ways", "live plan force"},
		{"Every way", "allow"},
	},
	"runs": {{"Answer", "sort top json csv"}, {"Cost", costFlags}},
}

// help prints what --help asks for.
func (a *app) help(cmd *cobra.Command, _ []string) {
	if cmd.Parent() == nil {
		writeRootHelp(a.stdout, cmd)
		return
	}
	writeVerbHelp(a.stdout, cmd)
}

// writeRootHelp prints all verbs by what they are for.
func writeRootHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, "%s\n\n%s\n", root.Long, root.Example)
	verbs := map[string]*cobra.Command{}
	for _, verb := range root.Commands() {
		verbs[verb.Name()] = verb
	}
	for _, group := range verbSections {
		fmt.Fprintf(w, "\n%s\n", group.title)
		for _, name := range strings.Fields(group.names) {
			fmt.Fprintf(w, "  %-10s %s\n", name, verbs[name].Short)
			delete(verbs, name)
		}
	}
	fmt.Fprintf(w, "\nMore: %s\n", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	fmt.Fprintf(w, "\nstoker VERB --help has examples, flags and exit codes of a verb, stoker --version the "+
		"version.\n%s\n", generalFlags)
}

// generalFlags is what every verb takes.
const generalFlags = "Every verb takes --color auto, always or never (NO_COLOR is respected)."

// writeVerbHelp prints what one verb does, with examples, its flags by group, and its exit codes.
func writeVerbHelp(w io.Writer, cmd *cobra.Command) {
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", long, cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nVerbs of its own:\n")
		for _, sub := range cmd.Commands() {
			fmt.Fprintf(w, "  %-15s %s\n", sub.Name(), sub.Short)
		}
	}
	for _, group := range sectionsOf(cmd) {
		if flags := flagsOf(cmd, group); flags.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", group.title, flags.FlagUsagesWrapped(100))
		}
	}
	fmt.Fprintf(w, "\n%s\n%s\n", exitLine(cmd), generalFlags)
}

// sectionsOf are the groups of a verb's own flags.
func sectionsOf(cmd *cobra.Command) []section {
	if groups, known := flagSections[strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")]; known {
		return groups
	}
	var names []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return []section{{"Flags", strings.Join(names, " ")}}
}

// flagsOf are the flags of a group, without --help, which every verb has.
func flagsOf(cmd *cobra.Command, group section) *pflag.FlagSet {
	flags := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	flags.SortFlags = false
	for _, name := range strings.Fields(group.names) {
		if f := cmd.Flags().Lookup(name); f != nil && name != "help" {
			shown := *f
			shown.NoOptDefVal = "" // pflag prints it as [=fed], which nobody types
			if f.Value.Type() == "bool" {
				shown.NoOptDefVal = "true"
			}
			flags.AddFlag(&shown)
		}
	}
	return flags
}

// exitCodes are what a verb can end with, beside 0, 1 and 2.
var exitCodes = map[string]string{
	"observe": "CMD's own (128+n if signal n ended it), 3 starved or a bound is missed (--check, if CMD returned 0), " +
		"125 --pid names no process, 126 CMD cannot be run, 127 CMD not found",
	"diagnose": "3 starved, or a bound is missed or unknown (--check)",
	"trace":    "3 starved, or a bound is missed or unknown (--check)",
	"verify":   "3 a bound is missed or unknown, 4 a prediction is missed (--check)",
	"doctor":   "3 something that verdicts need is missing (--check)",
	"feed":     "with CMD its own, 125 stoker failed before it, 126 CMD cannot be run, 127 CMD not found",
	"tune":     "with --plan and --live CMD's own, 125 stoker failed before it, 126 CMD cannot be run, 127 CMD not found",
	"check":    "1 also if a recording is not whole",
}

// exitLine is a verb's own exit codes.
func exitLine(cmd *cobra.Command) string {
	line := "Exit codes: 0 fine, 1 error, 2 usage"
	if more := exitCodes[cmd.Name()]; more != "" {
		line += ", " + more
	}
	const under = "\n  "
	return strings.Join(text.BreakLines(line+".", 98), under)
}
