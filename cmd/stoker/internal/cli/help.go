package cli

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

// Section is a heading of the help, with the names below it in their order.
type Section struct{ Title, Names string }

// help prints the help of a verb, or of stoker.
func (a *App) help(cmd *cobra.Command, _ []string) {
	if cmd.Parent() == nil {
		writeRootHelp(a.Stdout, cmd)
		return
	}
	WriteVerbHelp(a.Stdout, cmd)
}

// writeRootHelp prints all verbs, grouped by purpose.
func writeRootHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, "%s\n\n%s\n", root.Long, root.Example)
	verbs := map[string]*cobra.Command{}
	for _, verb := range root.Commands() {
		verbs[verb.Name()] = verb
	}
	for _, group := range ReadGroups(root) {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		for _, name := range strings.Fields(group.Names) {
			fmt.Fprintf(w, "  %-10s %s\n", name, verbs[name].Short)
			delete(verbs, name)
		}
	}
	fmt.Fprintf(w, "\nMore: %s\n", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	fmt.Fprintf(w, "\nstoker VERB --help has examples, flags and exit codes of a verb, stoker --version the "+
		"version.\n%s\n", GeneralFlags)
}

// GeneralFlags describes the flags of every verb.
const GeneralFlags = "Every verb takes --color auto, always or never (NO_COLOR is respected)."

// WriteVerbHelp prints the help of a verb: its purpose, examples, its flags by group, its exit codes.
func WriteVerbHelp(w io.Writer, cmd *cobra.Command) {
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
	for _, group := range ReadGroups(cmd) {
		if flags := flagsOf(cmd, group); flags.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", group.Title, flags.FlagUsagesWrapped(100))
		}
	}
	fmt.Fprintf(w, "\n%s\n%s\n", exitLine(cmd), GeneralFlags)
}

// Keys of a command's annotations.
const (
	groupsKey    = "groups"
	exitCodesKey = "exit codes"
)

// SetGroups sets the groups of a verb's flags in its help, or the groups of the verbs in the help
// of the root. Without it there is one group.
func SetGroups(cmd *cobra.Command, groups ...Section) {
	lines := make([]string, len(groups))
	for i, g := range groups {
		lines[i] = g.Title + "\t" + g.Names
	}
	annotate(cmd, groupsKey, strings.Join(lines, "\n"))
}

// SetExitCodes describes the exit codes of a verb other than 0, 1 and 2.
func SetExitCodes(cmd *cobra.Command, words string) { annotate(cmd, exitCodesKey, words) }

func annotate(cmd *cobra.Command, key, text string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = text
}

// ReadGroups returns the groups of a verb's own flags, or of the root's verbs.
func ReadGroups(cmd *cobra.Command) []Section {
	if text := cmd.Annotations[groupsKey]; text != "" {
		var groups []Section
		for line := range strings.SplitSeq(text, "\n") {
			title, names, _ := strings.Cut(line, "\t")
			groups = append(groups, Section{title, names})
		}
		return groups
	}
	var names []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return []Section{{"Flags", strings.Join(names, " ")}}
}

// flagsOf returns the flags of a group, without --help, which every verb has.
func flagsOf(cmd *cobra.Command, group Section) *pflag.FlagSet {
	flags := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	flags.SortFlags = false
	for _, name := range strings.Fields(group.Names) {
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

// exitLine returns the line of a verb's help about its exit codes.
func exitLine(cmd *cobra.Command) string {
	line := "Exit codes: 0 fine, 1 error, 2 usage"
	if more := cmd.Annotations[exitCodesKey]; more != "" {
		line += ", " + more
	}
	const under = "\n  "
	return strings.Join(text.BreakLines(line+".", 98), under)
}
