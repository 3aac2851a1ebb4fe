package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"stoker/advise"
	"stoker/diagnose"
	"stoker/recording"
)

// runsFolder is where recordings go and are looked for.
const runsFolder = "stoker-runs"

// newest is the newest recording in the current folder's stoker-runs.
func newest() (string, error) {
	files, err := filepath.Glob(filepath.Join(runsFolder, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("find recording: none in %s/ here; name a file, or record one: stoker observe -- python train.py", runsFolder)
	}
	best, when := "", int64(-1)
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && info.ModTime().UnixNano() > when {
			best, when = file, info.ModTime().UnixNano()
		}
	}
	return best, nil
}

// judged is a recording with all that is concluded from it.
type judged struct {
	path    string
	run     *recording.Run
	verdict diagnose.Verdict
	plan    advise.Plan
}

// judge opens a recording, the newest one where none is named, and judges it.
func judge(args []string) (judged, error) {
	var j judged
	var err error
	if len(args) > 0 {
		j.path = args[0]
	} else if j.path, err = newest(); err != nil {
		return j, err
	}
	if j.run, err = recording.Open(j.path); err != nil {
		return j, err
	}
	j.verdict = capturedOf(context.Background(), j.path, j.run, diagnose.Judge(j.run)).verdict
	j.plan = advise.Rank(j.run, j.verdict)
	return j, nil
}
