package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// jobOf is what the recordings of a job tell together.
type jobOf struct {
	judge.Job
	members []judge.Member
}

// judgeAll judges one recording, or several of one job: then the first result is the
// recording that decides, with the job's verdict.
func (a *app) judgeAll(args []string) (judgedRecording, *jobOf, error) {
	files, folder, notes, err := recordingsIn(args)
	if err != nil {
		return judgedRecording{}, nil, err
	}
	if len(files) < 2 {
		j, err := a.judge(files)
		j.verdict.Warnings = append(notes, j.verdict.Warnings...)
		return j, nil, err
	}
	job := jobOf{}
	for _, file := range files {
		run, err := a.openRun(file)
		if err != nil && folder {
			notes = append(notes, err.Error())
			continue
		} else if err != nil {
			return judgedRecording{}, nil, err
		}
		job.members = append(job.members, judge.Member{Name: file, Run: run, Verdict: judgeRun(file, run).verdict})
	}
	if job.members == nil {
		return judgedRecording{}, nil, fmt.Errorf("judge recordings: none of %d can be read: %s", len(files), notes[0])
	}
	if job.Job, err = judge.Together(job.members); err != nil {
		return judgedRecording{}, nil, hint.Add(
			fmt.Errorf("judge recordings together: %w", err),
			"stoker runs FOLDER lists the jobs in a folder with their files, and stoker diagnose FILE... takes those of one",
		)
	}
	job.Verdict.Warnings = append(notes, job.Verdict.Warnings...)
	lead := job.members[job.Lead]
	return judgedRecording{lead.Name, lead.Run, job.Verdict, advise.Rank(lead.Run, job.Verdict)}, &job, nil
}

// recordingsIn are the files that arguments name: a folder stands for the recordings in
// it. The notes are sentences about what is no file there.
func recordingsIn(args []string) (files []string, folder bool, notes []string, err error) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		l, err := listRecordings(arg)
		if err != nil {
			return nil, false, nil, err
		}
		if notes = append(notes, l.notes()...); len(l.names) == 0 {
			return nil, false, nil,
				errors.New(strings.Join(append([]string{"list recordings: none in " + arg}, notes...), ", "))
		}
		files, folder = append(files, l.in(arg)...), true
	}
	return files, folder, notes, nil
}

// printJob writes a job's verdict.
func (a *app) printJob(job jobOf, lead judgedRecording, asJSON bool, style text.Style) error {
	job.Verdict = lead.verdict // with the user's prices
	if asJSON {
		return wire.WriteJob(a.stdout, job.Job, job.members, lead.plan)
	}
	return text.WriteJob(a.stdout, job.Job, job.members, lead.plan, style)
}
