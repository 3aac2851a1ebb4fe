package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/report"
)

func (a *app) report() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report [RUN [RUN2]] -o FILE",
		Short: "Write one page about a run, to look at and to send round",
		Long: `Write one HTML page about a run: the verdict in a sentence, where the time goes, the whole run as
a strip, what to change and what that is worth. The page is one file: it needs no network, no other file,
and no script to be read. RUN is a recording (default: the newest here) or a profiler's trace. With two
recordings the page holds the second against the first, and against what had been promised.`,
		Example: `  stoker report
  stoker report -o run.html stoker-runs/2026-11-21T101500-train.jsonl.gz
  stoker report -o helped.html BEFORE AFTER
  stoker report -o trace.html trace.json.gz`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.began = true
			return a.runReport(cmd.Context(), args, file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "page to write (default: RUN's name with .html, here); - is stdout")
	return cmd
}

func (a *app) runReport(ctx context.Context, args []string, file string) error {
	subject, err := a.subject(ctx, args)
	if err != nil {
		return err
	}
	if file == "-" {
		return report.HTML(a.stdout, subject)
	}
	if file == "" {
		file = pageName(subject.Name)
	}
	if strings.HasSuffix(file, ".gz") {
		return usageError{fmt.Errorf("-o %s: a browser opens no packed page; name it .html", file)}
	}
	if err := writeFiles(ctx, output{file, toOthers, func(w io.Writer) error { return report.HTML(w, subject) }}); err != nil {
		return err
	}
	a.say("%s is written", file)
	return nil
}

// pageName is a page's name for that of a recording or trace.
func pageName(run string) string {
	name := filepath.Base(run)
	for _, end := range []string{".gz", ".zst", ".jsonl", ".json", ".pb", ".sqlite"} {
		name = strings.TrimSuffix(name, end)
	}
	return name + ".html"
}

// subject reads what a page is about.
func (a *app) subject(ctx context.Context, args []string) (report.Subject, error) {
	now, err := a.judge(args[max(0, len(args)-1):])
	if err != nil {
		if len(args) == 1 {
			if s, bad := a.traceSubject(ctx, args[0]); bad == nil {
				return s, nil
			}
		}
		return report.Subject{}, err
	}
	s := report.Subject{Name: now.path, Version: version, Run: now.run, Verdict: now.verdict, Plan: now.plan}
	if len(args) < 2 {
		return s, nil
	}
	before, err := a.judge(args[:1])
	if err != nil {
		return s, err
	}
	s.Before = &report.Before{Name: before.path, Run: before.run, Verdict: before.verdict, Outcome: compareAll([]judged{before}, []judged{now})}
	return s, nil
}

// traceSubject reads a profiler's file.
func (a *app) traceSubject(ctx context.Context, file string) (report.Subject, error) {
	runs, err := a.readTraces(ctx, []string{file}, false)
	if err != nil {
		return report.Subject{}, err
	}
	run := runs[0]
	r, err := a.inspectUntil(ctx, run, operators.Options{By: operators.BySelf})
	if err != nil {
		return report.Subject{}, errors.Join(err, ctx.Err())
	}
	r.Source.Files, r.Source.Bytes = []string{file}, bytesOf([]string{file})
	return report.Subject{Name: file, Version: version, Run: run, Verdict: r.Verdict, Plan: r.Plan, Trace: &r}, nil
}
