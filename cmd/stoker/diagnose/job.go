package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// jobOf is a job with its recordings and their common verdict.
type jobOf struct {
	judge.Job
	members []judge.Member
}

// judgeAll judges one recording, or several of one job. For a job the first result is the
// recording that decides, with the verdict on the job.
func judgeAll(a *cli.App, args []string) (judged.Recording, *jobOf, error) {
	files, folder, notes, err := judged.FindFiles(args)
	if err != nil {
		return judged.Recording{}, nil, err
	}
	if len(files) < 2 {
		j, err := judged.Open(a, files)
		j.Verdict.Warnings = append(notes, j.Verdict.Warnings...)
		return j, nil, err
	}
	job := jobOf{}
	for _, file := range files {
		run, err := judged.Read(a, file)
		if err != nil && folder {
			notes = append(notes, err.Error())
			continue
		} else if err != nil {
			return judged.Recording{}, nil, err
		}
		job.members = append(job.members, judge.Member{Name: file, Run: run, Verdict: judged.Judge(file, run).Verdict})
	}
	if job.members == nil {
		return judged.Recording{}, nil, fmt.Errorf("judge recordings: none of %d can be read: %s", len(files), notes[0])
	}
	if job.Job, err = judge.Together(job.members); err != nil {
		return judged.Recording{}, nil, hint.Attach(
			fmt.Errorf("judge recordings together: %w", err),
			"stoker runs FOLDER lists the jobs in a folder with their files, and stoker diagnose FILE... takes those of one",
		)
	}
	job.Verdict.Warnings = append(notes, job.Verdict.Warnings...)
	lead := job.members[job.Lead]
	return judged.Recording{
		Path: lead.Name, Run: lead.Run, Verdict: job.Verdict,
		Plan: advise.Rank(lead.Run, job.Verdict),
	}, &job, nil
}

// printJob prints the verdict on a job.
func printJob(a *cli.App, job jobOf, lead judged.Recording, asJSON bool, style text.Style) error {
	job.Verdict = lead.Verdict // with the user's prices
	if asJSON {
		return wire.WriteJob(a.Stdout, job.Job, job.members, lead.Plan)
	}
	return text.WriteJob(a.Stdout, job.Job, job.members, lead.Plan, style)
}
