package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// ask runs one sub-command of predict by itself.
func ask(t *testing.T, sub func(*app) *cobra.Command, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	root := &cobra.Command{Use: "predict", SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return asUsage(err) })
	cmd := sub(a)
	root.AddCommand(cmd)
	root.SetArgs(append([]string{cmd.Name()}, args...))
	code = a.exit(root.Execute())
	return code, stdout.String(), stderr.String()
}

func TestPredictTransformation(t *testing.T) {
	args := []string{"--batch", "256", "--sample", "500KB", "--cpu", "2GB/s", "--step", "11.74ms"}
	code, out, errs := ask(t, (*app).predictTransformationCommand, args...)
	for _, want := range []string{"64 ms", "11.74 ms", "the CPU", "18.3 %", "5.45x"} {
		if code != exitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, stdout lacks %q:\n%s%s", code, want, out, errs)
		}
	}
	_, out, _ = ask(t, (*app).predictTransformationCommand, append(args, "--json")...)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || got["transform_time_s"] != 0.064 ||
		got["is_bottleneck"] != true {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPredictData(t *testing.T) {
	code, out, errs := ask(t, (*app).predictDataCommand, "--demand", "10.9GB/s", "--gpu", "a100-80gb-sxm", "--storage",
		"7 GB/s")
	if code != exitFine || !strings.Contains(out, "155.7 %") || !strings.Contains(out, "stalled       yes") {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}
	_, out, _ = ask(t, (*app).predictDataCommand, "--demand", "10.9GB/s", "--gpu", "a100-80gb-sxm", "--json")
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
		sub  func(*app) *cobra.Command
		args []string
		want string
	}{
		{(*app).predictTransformationCommand, nil, "--batch: nothing is given, expected a count such as 8"},
		{
			(*app).predictTransformationCommand, transformation("0", "500KB", "2GB/s", "11ms"),
			"--batch is 0: expected more than 0",
		},
		{(*app).predictTransformationCommand, transformation("-1", "500KB", "2GB/s", "11ms"), "is negative"},
		{(*app).predictTransformationCommand, transformation("256", "500", "2GB/s", "11ms"), "no unit, expected a size"},
		{
			(*app).predictTransformationCommand, transformation("256", "500KB", "500KB", "11ms"),
			"is a size, expected a rate such as 2 GB/s",
		},
		{(*app).predictTransformationCommand, transformation("256", "500KB", "2GB/s", "NaN"), "does not begin with a number"},
		{(*app).predictTransformationCommand, transformation("256", "500KB", "2GB/s", "0ms"), "--step is 0 s"},
		{(*app).predictDataCommand, nil, "--demand: nothing is given"},
		{(*app).predictDataCommand, []string{"--demand=1GB/s", "--gpu=a100-80gb-sxn"}, "a100-80gb-sxm, "},
		{(*app).predictDataCommand, []string{"--demand=1GB/s", "--storage=nvmee"}, "nearest: nvme"},
		{(*app).predictDataCommand, []string{"--demand=1GB/s", "--storage=-7GB/s"}, "is negative"},
		{(*app).predictDataCommand, []string{"--demand=1GB/s", "--storage=7"}, "no unit"},
	} {
		code, out, errs := ask(t, c.sub, c.args...)
		if code != exitUsage || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: code %d, stderr lacks %q:\n%s%s", c.args, code, c.want, errs, out)
		}
	}
}
