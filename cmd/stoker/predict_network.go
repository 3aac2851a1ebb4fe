package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
)

// ownFlags describe a network that is not in the table.
type ownFlags struct {
	flops, bytes, params, kept, layers, family string
}

func (o *ownFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&o.flops, "flops", "", "instead of --model: FLOP of one sample's forward pass, 2 per multiply-add: 8.18GFLOP (stoker.count(model, sample) in Python counts all of these)")
	fs.StringVar(&o.bytes, "bytes", "", "with --flops: bytes that one sample's forward pass moves through device memory at 16 bits: 89MB")
	fs.StringVar(&o.params, "params", "", "with --flops: parameters: 25.6M")
	fs.StringVar(&o.kept, "kept", "", "with --flops: bytes that one sample keeps for the backward pass at 16 bits (default: half of --bytes)")
	fs.StringVar(&o.layers, "layers", "", fmt.Sprintf("with --flops: layers launched one after the other: convolutions, or transformer blocks (default %d)", usualLayers))
	fs.StringVar(&o.family, "family", "", "with --flops: convnet, transformer, volume; unnamed means the whole spread")
}

// usualLayers is the number of layers where nobody says. Assumption: that of the
// networks in the table lies between 12 and 53, and what launching takes is known
// to a factor of 2.4 either way.
const usualLayers = 50

// given reports whether any of them is.
func (o *ownFlags) given() bool {
	return o.flops+o.bytes+o.params+o.kept+o.layers+o.family != ""
}

// describes reports whether a network is named or described.
func (f *predictFlags) describes() bool { return f.model != "" || f.given() }

// readOwn describes a network by its figures.
func (f *predictFlags) readOwn(d *described) (err error) {
	if f.model != "" {
		return errors.New("--model names a network and --flops, --bytes, --params, --kept, --layers, --family describe another one: give either")
	}
	for _, need := range []struct{ flag, text string }{{"flops", f.flops}, {"bytes", f.bytes}, {"params", f.params}} {
		if need.text == "" {
			return hintedError{
				fmt.Errorf("--%s is missing: a network that is not in the table is described by --flops, --bytes and --params; in Python stoker.count(model, sample) counts them", need.flag),
				"--flops 8.18GFLOP --bytes 89MB --params 25.6M --layers 53 --family convnet",
			}
		}
	}
	own := predict.Workload{Name: "own", Unit: "sample", Layers: usualLayers, Family: predict.Family(strings.ToLower(f.family))}
	if own.Family != predict.AnyFamily && !slices.Contains(predict.Families, own.Family) {
		return fmt.Errorf("--family %q: expected %s, %s or %s; leave it out for the whole spread", f.family, predict.ConvNet, predict.Transformer, predict.VolumeNet)
	}
	var flop stoker.FLOP
	if flop, err = quantity("flops", f.flops, stoker.ParseFLOP); err != nil {
		return err
	}
	own.Forward = hardware.Figure{Value: float64(flop), Source: given}
	if own.Params.Value, err = many("params", f.params); err != nil {
		return err
	}
	if err = f.readMoved(&own); err != nil {
		return err
	}
	source := given
	if f.layers == "" {
		source = "assumed; --layers"
	}
	own.Title = fmt.Sprintf("own network (%s M parameters)", stoker.About(own.Params.Value/1e6))
	d.Load.Workload = own
	d.note("layers", stoker.About(own.Layers), source)
	if own.Family == predict.AnyFamily && own.Tokens == 0 {
		d.note("family", "unnamed: convolutions, transformers and volumes", "--family narrows it")
	}
	return nil
}

// readMoved reads bytes, layers, and what a sample is.
func (f *predictFlags) readMoved(own *predict.Workload) error {
	moved, err := quantity("bytes", f.bytes, stoker.ParseBytes)
	if err != nil {
		return err
	}
	own.Activations = hardware.Figure{Value: float64(moved), Source: given}
	own.Stored = hardware.Figure{Value: float64(moved) / 2, Source: "half of --bytes: what is written and kept is read once more at least"}
	if f.kept != "" {
		kept, err := quantity("kept", f.kept, stoker.ParseBytes)
		if err != nil {
			return err
		}
		own.Stored = hardware.Figure{Value: float64(kept), Source: given}
	}
	for _, n := range []struct {
		flag, text string
		value      *float64
	}{{"layers", f.layers, &own.Layers}, {"tokens", f.tokens, &own.Tokens}, {"side", f.side, &own.Side}} {
		if n.text == "" {
			continue
		}
		v, err := quantity(n.flag, n.text, stoker.ParseCount)
		if err != nil {
			return err
		}
		*n.value = float64(v)
	}
	return nil
}

// many reads a number that may end in K, M, B (or G) or T: 25.6M, 7B.
func many(flag, text string) (float64, error) {
	scale := 1.0
	if text != "" {
		if at := strings.IndexByte("KMBGT", strings.ToUpper(text)[len(text)-1]); at >= 0 {
			scale = []float64{1e3, 1e6, 1e9, 1e9, 1e12}[at]
			text = strings.TrimSpace(text[:len(text)-1])
		}
	}
	n, err := quantity(flag, text, stoker.ParseNumber)
	if err == nil && !(float64(n)*scale >= 1 && float64(n)*scale < 1e18) {
		err = fmt.Errorf("--%s is %s: expected 1 to 1e18", flag, text)
	}
	return float64(n) * scale, err
}
