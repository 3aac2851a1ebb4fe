package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

// badHelp matches what no help may contain: a semicolon, and clauses that put the condition first.
var badHelp = regexp.MustCompile(`; |\bof which\b|[,;] where\b|(?m:^|\. )Where\b`)

// tooManyFlags is the largest number of flags in a group.
const tooManyFlags = 8

// Every verb's help is short, fits its screen, and shows each flag once, in a group.
func TestHelp(t *testing.T) {
	root := rootCommand(&cli.App{})
	verbs := 0
	for _, verb := range root.Commands() {
		for _, cmd := range append([]*cobra.Command{verb}, verb.Commands()...) {
			if cmd.Name() == "completion" || cmd.Name() == "help" {
				continue
			}
			verbs++
			var b strings.Builder
			cli.WriteVerbHelp(&b, cmd)
			checkHelp(t, cmd, b.String())
		}
	}
	if verbs < 20 {
		t.Errorf("%d verbs have help", verbs)
	}
	_, out, _ := call(t, "--help")
	for _, group := range cli.ReadGroups(root) {
		if !strings.Contains(out, "\n"+group.Title+"\n") {
			t.Errorf("stoker --help lacks the group %q:\n%s", group.Title, out)
		}
	}
	if lines := strings.Count(out, "\n"); lines > 45 || badHelp.MatchString(out) {
		t.Errorf("stoker --help has %d lines, and finds %q", lines, badHelp.FindString(out))
	}
}

func checkHelp(t *testing.T, cmd *cobra.Command, text string) {
	t.Helper()
	verb := cmd.CommandPath()
	if found := badHelp.FindString(text); found != "" {
		t.Errorf("%s --help says %q:\n%s", verb, found, text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 108 {
			t.Errorf("%s --help has a line of %d columns: %s", verb, n, line)
		}
	}
	if n := strings.Count(strings.TrimSpace(cmd.Example), "\n") + 1; n > 3 {
		t.Errorf("%s --help has %d lines of examples, expected 3", verb, n)
	}
	for _, group := range cli.ReadGroups(cmd) {
		if n := len(strings.Fields(group.Names)); n > tooManyFlags {
			t.Errorf("%s --help: %q has %d flags, expected %d at most", verb, group.Title, n, tooManyFlags)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if n := len(regexp.MustCompile(fmt.Sprintf(`(?m)^ {2,6}(-\w, )?--%s\b[^-]`, f.Name)).FindAllString(text, -1)); n != 1 {
			t.Errorf("%s --help shows --%s %d times: see flagSections", verb, f.Name, n)
		}
	})
}
