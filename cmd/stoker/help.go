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

// costFlags are those of what idling costs, the same in every verb.
const costFlags = "price kwh grid pue"

// ciFlags are those of reports for pipelines, the same in every verb.
const ciFlags = "check github gitlab markdown sarif"

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
	for _, group := range readGroups(root) {
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
	for _, group := range readGroups(cmd) {
		if flags := flagsOf(cmd, group); flags.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", group.title, flags.FlagUsagesWrapped(100))
		}
	}
	fmt.Fprintf(w, "\n%s\n%s\n", exitLine(cmd), generalFlags)
}

// Keys of a command's annotations.
const (
	groupsKey    = "groups"
	exitCodesKey = "exit codes"
)

// setGroups sets the groups of a verb's flags in its help, or those of the root's verbs. A verb
// without has one group.
func setGroups(cmd *cobra.Command, groups ...section) {
	lines := make([]string, len(groups))
	for i, g := range groups {
		lines[i] = g.title + "\t" + g.names
	}
	annotate(cmd, groupsKey, strings.Join(lines, "\n"))
}

// setExitCodes says what a verb can end with, beside 0, 1 and 2.
func setExitCodes(cmd *cobra.Command, words string) { annotate(cmd, exitCodesKey, words) }

func annotate(cmd *cobra.Command, key, text string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = text
}

// readGroups returns the groups of a verb's own flags, or of the root's verbs.
func readGroups(cmd *cobra.Command) []section {
	if text := cmd.Annotations[groupsKey]; text != "" {
		var groups []section
		for line := range strings.SplitSeq(text, "\n") {
			title, names, _ := strings.Cut(line, "\t")
			groups = append(groups, section{title, names})
		}
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

// exitLine is a verb's own exit codes.
func exitLine(cmd *cobra.Command) string {
	line := "Exit codes: 0 fine, 1 error, 2 usage"
	if more := cmd.Annotations[exitCodesKey]; more != "" {
		line += ", " + more
	}
	const under = "\n  "
	return strings.Join(text.BreakLines(line+".", 98), under)
}
