package predict

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

// ask runs one sub-command of predict by itself.
func ask(t *testing.T, sub func(*cli.App) *cobra.Command, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &cli.App{Stdout: &stdout, Stderr: &stderr}
	root := &cobra.Command{Use: "predict", SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.AsUsage(err) })
	cmd := sub(a)
	root.AddCommand(cmd)
	root.SetArgs(append([]string{cmd.Name()}, args...))
	code = a.Exit(root.Execute())
	return code, stdout.String(), stderr.String()
}

func TestPredictTransformation(t *testing.T) {
	args := []string{"--batch", "256", "--sample", "500KB", "--cpu", "2GB/s", "--step", "11.74ms"}
	code, out, errs := ask(t, transformationCommand, args...)
	for _, want := range []string{"64 ms", "11.74 ms", "the CPU", "18.3 %", "5.45x"} {
		if code != cli.ExitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, stdout lacks %q:\n%s%s", code, want, out, errs)
		}
	}
	_, out, _ = ask(t, transformationCommand, append(args, "--json")...)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || got["transform_time_s"] != 0.064 ||
		got["is_bottleneck"] != true {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPredictData(t *testing.T) {
	code, out, errs := ask(t, dataCommand, "--demand", "10.9GB/s", "--gpu", "a100-80gb-sxm", "--storage",
		"7 GB/s")
	if code != cli.ExitFine || !strings.Contains(out, "155.7 %") || !strings.Contains(out, "stalled       yes") {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}
	_, out, _ = ask(t, dataCommand, "--demand", "10.9GB/s", "--gpu", "a100-80gb-sxm", "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, field := range []string{"supply_bytes_per_s", "utilization", "is_stalled"} {
		if v, there := got[field]; !there || v != nil {
			t.Errorf("%s is %v, want null:\n%s", field, v, out)
		}
	}
}

func TestPredictModelsBadInput(t *testing.T) {
	transformation := func(batch, sample, cpu, step string) []string {
		return []string{"--batch=" + batch, "--sample=" + sample, "--cpu=" + cpu, "--step=" + step}
	}
	for _, c := range []struct {
		sub  func(*cli.App) *cobra.Command
		args []string
		want string
	}{
		{transformationCommand, nil, "--batch: nothing is given, expected a count such as 8"},
		{
			transformationCommand, transformation("0", "500KB", "2GB/s", "11ms"),
			"--batch is 0: expected more than 0",
		},
		{transformationCommand, transformation("-1", "500KB", "2GB/s", "11ms"), "is negative"},
		{transformationCommand, transformation("256", "500", "2GB/s", "11ms"), "no unit, expected a size"},
		{
			transformationCommand, transformation("256", "500KB", "500KB", "11ms"),
			"is a size, expected a rate such as 2 GB/s",
		},
		{transformationCommand, transformation("256", "500KB", "2GB/s", "NaN"), "does not begin with a number"},
		{transformationCommand, transformation("256", "500KB", "2GB/s", "0ms"), "--step is 0 s"},
		{dataCommand, nil, "--demand: nothing is given"},
		{dataCommand, []string{"--demand=1GB/s", "--gpu=a100-80gb-sxn"}, "a100-80gb-sxm, "},
		{dataCommand, []string{"--demand=1GB/s", "--storage=nvmee"}, "nearest: nvme"},
		{dataCommand, []string{"--demand=1GB/s", "--storage=-7GB/s"}, "is negative"},
		{dataCommand, []string{"--demand=1GB/s", "--storage=7"}, "no unit"},
	} {
		code, out, errs := ask(t, c.sub, c.args...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: code %d, stderr lacks %q:\n%s%s", c.args, code, c.want, errs, out)
		}
	}
}
