package question

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
)

// UsualLayers is the number of layers if --layers is not given. Assumption: the networks in the table have
// 12 to 53, and the time of a launch is known to a factor of 2.4 either way.
const UsualLayers = 50

// readOwn reads a network that flags describe: its FLOP, bytes and parameters.
func (d *job) readOwn() error {
	if d.Text("model") != "" {
		return errors.New("--model names a network and --flops, --bytes, --params, --kept, --layers, --family, " +
			"--grouped describe another one: give either")
	}
	for _, needed := range []string{"flops", "bytes", "params"} {
		if d.Text(needed) == "" {
			return hint.Attach(
				fmt.Errorf("--%s is missing: a network that is not in the table is described by --flops, --bytes "+
					"and --params. In Python stoker.count(model, sample) counts them", needed),
				"--flops 8.18GFLOP --bytes 89MB --params 25.6M --layers 53 --family convnet",
			)
		}
	}
	own := device.Workload{
		Name: "own", Unit: "sample", Layers: UsualLayers,
		Family: device.Family(strings.ToLower(d.Text("family"))),
	}
	if own.Family != device.AnyFamily && !slices.Contains(device.Families, own.Family) {
		return fmt.Errorf("--family %q: expected %s, %s or %s, or leave it out for the whole spread",
			d.Text("family"), device.ConvNet, device.Transformer, device.VolumeNet)
	}
	flop, _, err := d.value("flops")
	if err != nil {
		return err
	}
	own.Forward = hardware.Figure{Value: flop, Source: given}
	if d.Text("grouped") != "" {
		grouped, _, err := d.value("grouped")
		if err != nil {
			return err
		}
		if grouped > flop {
			return fmt.Errorf("--grouped %s is more than --flops %s: expected a part of them", d.Text("grouped"),
				d.Text("flops"))
		}
		own.Grouped = grouped
	}
	if own.Params.Value, err = many("params", d.Text("params")); err != nil {
		return err
	}
	if err = d.readMoved(&own); err != nil {
		return err
	}
	source := given
	if d.Text("layers") == "" {
		source = "assumed, --layers"
	}
	own.Title = fmt.Sprintf("own network (%s M parameters)", quantity.About(own.Params.Value/1e6))
	d.Load.Workload = own
	d.note("layers", quantity.About(own.Layers), source)
	if own.Family == device.AnyFamily && own.Tokens == 0 {
		d.note("family", "unnamed: convolutions, transformers and volumes", "--family narrows it")
	}
	return nil
}

// readMoved reads the bytes, the layers and the size of a sample.
func (q *Question) readMoved(own *device.Workload) error {
	moved, _, err := q.value("bytes")
	if err != nil {
		return err
	}
	own.Activations = hardware.Figure{Value: moved, Source: given}
	own.Stored = hardware.Figure{
		Value:  moved / 2,
		Source: "half of --bytes: what is written and kept is read once more at least",
	}
	if q.Text("kept") != "" {
		kept, _, err := q.value("kept")
		if err != nil {
			return err
		}
		own.Stored = hardware.Figure{Value: kept, Source: given}
	}
	for _, n := range []struct {
		flag string
		to   *float64
	}{{"layers", &own.Layers}, {"tokens", &own.Tokens}, {"side", &own.Side}} {
		if q.Text(n.flag) == "" {
			continue
		}
		if *n.to, _, err = q.value(n.flag); err != nil {
			return err
		}
	}
	return nil
}

// many parses a number that may end in K, M, B (or G) or T: 25.6M, 7B.
func many(flag, text string) (float64, error) {
	scale := 1.0
	if text != "" {
		if at := strings.IndexByte("KMBGT", strings.ToUpper(text)[len(text)-1]); at >= 0 {
			scale = []float64{1e3, 1e6, 1e9, 1e9, 1e12}[at]
			text = strings.TrimSpace(text[:len(text)-1])
		}
	}
	n, err := ReadQuantity(flag, text, quantity.ParseNumber)
	if err == nil && !(float64(n)*scale >= 1 && float64(n)*scale < 1e18) {
		err = fmt.Errorf("--%s is %s: expected 1 to 1e18", flag, text)
	}
	return float64(n) * scale, err
}
