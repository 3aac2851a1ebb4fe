// Package predict is the command stoker predict with its own verbs. It forecasts what a job needs.
package predict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/spelling"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/report/plot"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// Command makes the command stoker predict.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict [RUN]",
		Short: "Forecast what a job needs, without any run",
		Long: `Say what data rate a GPU asks for, what storage, CPU and link deliver, which part binds, and what
idling costs. No run is needed, and what you leave out is reported as unknown. Of a recording, or of
a job whose --util is known, it says what another machine would bring.

Quantities have units (110KB, 2GB/s, 11.74ms, 95%). A range makes a sweep: 32..1024 doubles,
1..8:1 counts by 1, 0..64/4 has 4 equal steps, 1,2,4 is a list.

The common flags come first. The others follow, by what they describe.`,
		Example: `  stoker predict --gpu h100 --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme
  stoker predict --util 40% --gpu a100 --to h100
  stoker predict stoker-runs/RUN.jsonl.gz --to h100 --workers 16`,
		Args: withoutEmpty(cli.AtMost(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := readQuestion(cmd, a.Say)
			if len(args) == 1 {
				if err := suggestVerb(cmd, args[0]); err != nil {
					return err
				}
			}
			return answerQuestion(cmd.Context(), a, q, strings.Join(args, ""))
		},
	}
	register(cmd)
	cmd.AddCommand(trainCommand(a), serveCommand(a), fleetCommand(a), transformationCommand(a), dataCommand(a))
	return cmd
}

// suggestVerb refuses an argument that is no file and is spelled like a verb of predict.
func suggestVerb(cmd *cobra.Command, name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	for _, verb := range cmd.Commands() {
		if spelling.Distance(name, verb.Name()) <= mostSlips {
			err := fmt.Errorf("%q is neither a file nor a verb of predict", name)
			return cli.AsUsage(hint.Attach(err, verb.CommandPath()+" --help"))
		}
	}
	return nil
}

// mostSlips are the letters in which a misspelt verb differs: two that changed places.
const mostSlips = 2

// answerQuestion finds out which question the flags ask, and answers it. run is a recording, or "".
func answerQuestion(ctx context.Context, a *cli.App, q *question.Question, run string) (err error) {
	aboutMachines := run != "" || q.Text("util") != "" && q.Text("measured") == ""
	if !aboutMachines {
		if err := checkQuestion(q); err != nil {
			return cli.AsUsage(err)
		}
	}
	if q.On("tutorial") && !aboutMachines {
		return showTutorial(a, q)
	}
	if q.Table, err = hardwareTable(q.Text("hardware")); err != nil {
		return cli.AsUsage(err)
	}
	switch {
	case aboutMachines:
		return showWorth(a, q, run)
	case q.Text("list") != "":
		return printTable(a, q)
	}
	return predictJob(ctx, a, q)
}

// predictJob forecasts the job that the flags describe, draws it if they ask for that, and prints it.
func predictJob(ctx context.Context, a *cli.App, q *question.Question) error {
	p, err := q.Predict()
	if err != nil {
		return cli.AsUsage(err)
	}
	a.Began = true
	if q.Text("out") != "" {
		if err := draw(ctx, q.Text("out"), p); err != nil {
			return err
		}
		a.Say("%s is written", q.Text("out"))
	}
	switch {
	case q.On("json"):
		return wire.WritePrediction(a.Stdout, p)
	case q.On("csv"):
		return wire.WritePredictionCSV(a.Stdout, p)
	}
	return text.WritePrediction(a.Stdout, p, a.TextStyle(a.Stdout))
}

// showWorth prints what another machine would bring a job that runs.
func showWorth(a *cli.App, q *question.Question, run string) error {
	w, err := q.CompareMachines(run)
	if err != nil {
		return cli.AsUsage(err)
	}
	if run != "" {
		w.Next = "stoker advise " + report.QuoteForShell(run) + " says what to change in the program"
	}
	a.Began = true
	if q.On("json") {
		return wire.WriteWorth(a.Stdout, w)
	}
	style := a.TextStyle(a.Stdout)
	style.All = q.On("all")
	return text.WriteWorth(a.Stdout, w, style)
}

// checkQuestion refuses flags that contradict each other.
func checkQuestion(q *question.Question) error {
	if len(q.Given) == 0 {
		return hint.Attach(
			errors.New("predict needs to know the model and the machine: --gpu, --model and --batch, or --step and --batch"),
			"stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme",
		)
	}
	asked := 0
	for _, is := range []bool{q.On("tutorial"), q.Text("list") != "", q.On("roofline")} {
		if is {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("--tutorial, --list and --roofline are different questions: ask one")
	}
	if q.Text("to") != "" {
		return errors.New("--to goes with a recording or with --util: on which GPU a new job runs --gpu says")
	}
	if err := refuseLanguageModel(q.Text("model")); err != nil {
		return err
	}
	if q.On("json") && q.On("csv") {
		return errors.New("--json and --csv: choose one")
	}
	if q.Text("out") == "" {
		return nil
	}
	if q.On("tutorial") || q.Text("list") != "" {
		return errors.New("-o draws a sweep or a roofline, not --tutorial or --list")
	}
	if err := plot.CheckName(q.Text("out")); err != nil && !isPage(q.Text("out")) {
		return fmt.Errorf("-o %w, or in .html for a page", err)
	}
	return nil
}

func showTutorial(a *cli.App, q *question.Question) error {
	a.Began = true
	lessons := tutorial.Tutorial()
	switch {
	case q.On("json"):
		return wire.WriteLessons(a.Stdout, lessons)
	case q.On("csv"):
		return wire.WriteLessonsCSV(a.Stdout, lessons)
	}
	return text.WriteLessons(a.Stdout, lessons, a.TextStyle(a.Stdout))
}

// draw writes a picture or a page to a temporary file and renames it, so that no partial file is ever seen.
func draw(ctx context.Context, name string, p question.Prediction) error {
	var picture bytes.Buffer
	if err := plot.WritePrediction(&picture, p, cli.Version); err != nil {
		return err
	}
	return cli.WriteFiles(ctx, cli.Output{Name: name, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
		if isPage(name) {
			return page.WritePrediction(w, p, cli.Version, picture.String())
		}
		_, err := picture.WriteTo(w)
		return err
	}})
}
