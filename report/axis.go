package report

import (
	"strconv"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// LabelAxis returns the name of a setting with its unit, and its values as they are printed.
func LabelAxis(a predict.Axis) (name string, values []string) {
	name = NameAxis(a.Name)
	for _, v := range a.Values {
		values = append(values, FormatAxis(a.Name, v))
	}
	return name, values
}

// NameAxis returns the name of a setting that a sweep varies, with its unit.
func NameAxis(name string) string {
	switch name {
	case "batch":
		return "batch (samples per step and GPU)"
	case "workers":
		return "workers (per GPU)"
	case "cores":
		return "cores (of the machine)"
	case "sample":
		return "sample (stored bytes)"
	case "storage":
		return "storage (bytes per second)"
	case "prepare":
		return "prepare (core time per sample)"
	case "gpus":
		return "GPUs (sharing the machine)"
	case "cached":
		return "cached (share of the data set in memory)"
	}
	return name
}

// FormatAxis prints a value of an axis with its unit and three digits; counts are printed in
// full.
func FormatAxis(name string, v float64) string {
	switch name {
	case "sample":
		return quantity.AboutBytes(v)
	case "storage":
		return quantity.AboutRate(v)
	case "prepare":
		return quantity.AboutSeconds(v)
	case "cached":
		return quantity.Percent(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
