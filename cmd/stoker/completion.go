package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/predict"
	"github.com/stoker-dev/stoker/hardware"
)

// values returns the possible values of flags, by the flag's name, for completion in a shell.
func values() map[string][]string {
	firsts := func(rows [][]string) (all []string) {
		for _, row := range rows[1:] { // below the heading
			all = append(all, row[0])
		}
		return all
	}
	t := hardware.Known
	return map[string][]string{
		"gpu": t.GPUNames(), "storage": t.StorageNames(), "network": t.NetworkNames(), "link": t.LinkNames(),
		"grid":  t.GridNames(),
		"model": firsts(predict.ModelRows()), "data": firsts(predict.ProfileRows()),
		"list": predict.Lists, "access": {"files", "sequential"},
		"emit": slices.Sorted(maps.Keys(emit.Dialects)), "by": {"gpu", "cpu", "self"},
		"shard": {"zero1", "zero2", "zero3"},
		"color": {"auto", "always", "never"}, "precision": {"fp32", "tf32", "fp16", "bf16", "fp8", "int8"},
	}
}

// complete sets up completion in shells: of the values of flags, and of recordings for verbs that take them.
func complete(root *cobra.Command) {
	known := values()
	for _, verb := range append(root.Commands(), root) {
		flags := verb.LocalFlags() // collected again by each call
		for flag, all := range known {
			if flags.Lookup(flag) != nil {
				// it fails if the flag has a completion already
				_ = verb.RegisterFlagCompletionFunc(flag,
					cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if slices.Contains([]string{"advise", "diagnose", "export", "report", "verify", "watch"}, verb.Name()) {
			verb.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				files, _ := filepath.Glob(filepath.Join(judged.Folder, "*.jsonl.gz"))
				return files, cobra.ShellCompDirectiveDefault // other files if none of these match
			}
		}
	}
}
