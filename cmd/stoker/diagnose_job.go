package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/report"
)

// jobOf is what the recordings of a job tell together.
type jobOf struct {
	diagnose.Job
	members []diagnose.Member
}

// judgeAll judges one recording, or several of one job: then the first result is the
// recording that decides, with the job's verdict.
func (a *app) judgeAll(args []string) (judged, *jobOf, error) {
	files, folder, err := recordingsIn(args)
	if err != nil {
		return judged{}, nil, err
	}
	if len(files) < 2 {
		j, err := a.judge(files)
		return j, nil, err
	}
	job := jobOf{}
	var notes []string
	for _, file := range files {
		run, err := a.openRun(file)
		if err != nil && folder {
			notes = append(notes, err.Error())
			continue
		} else if err != nil {
			return judged{}, nil, err
		}
		job.members = append(job.members, diagnose.Member{Name: file, Run: run, Verdict: judgeRun(file, run).verdict})
	}
	if job.members == nil {
		return judged{}, nil, fmt.Errorf("judge recordings: none of %d can be read: %s", len(files), notes[0])
	}
	if job.Job, err = diagnose.JudgeJob(job.members); err != nil {
		return judged{}, nil, hintedError{fmt.Errorf("judge recordings together: %w", err), "stoker runs FOLDER lists the jobs in a folder with their files; stoker diagnose FILE... takes those of one"}
	}
	job.Verdict.Warnings = append(notes, job.Verdict.Warnings...)
	lead := job.members[job.Lead]
	return judged{lead.Name, lead.Run, job.Verdict, advise.Rank(lead.Run, job.Verdict)}, &job, nil
}

// recordingsIn are the files that arguments name: a folder stands for the recordings in it.
func recordingsIn(args []string) (files []string, folder bool, err error) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, false, fmt.Errorf("list recordings: %w", err)
		}
		before := len(files)
		for _, entry := range entries {
			if isRecording(entry.Name()) {
				files, folder = append(files, filepath.Join(arg, entry.Name())), true
			}
		}
		if len(files) == before {
			return nil, false, fmt.Errorf("list recordings: none in %s", arg)
		}
	}
	return files, folder, nil
}

// isRecording reports whether a file's name is that of a recording.
func isRecording(name string) bool {
	return strings.HasSuffix(name, ".jsonl.gz") || strings.HasSuffix(name, ".jsonl") && name != cacheName
}

// printJob writes a job's verdict.
func (a *app) printJob(job jobOf, lead judged, asJSON bool) error {
	job.Verdict = lead.verdict // with the user's prices
	if asJSON {
		return report.JobJSON(a.stdout, job.Job, job.members, lead.plan)
	}
	return report.JobText(a.stdout, job.Job, job.members, lead.plan, a.style(a.stdout))
}
