package device

import (
	_ "embed"
	"encoding/csv"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-dev/stoker/hardware"
)

// countedTable is what stoker.count counts of torchvision's networks (testdata/counted.py).
//
//go:embed counted.csv
var countedTable string

const countSource = "stoker.count of torchvision's network, at the size of image that it was published with"

// Counted are the classification networks of torchvision that Workloads lacks. No published step
// of them is known here, so they are forecast like a network of the user's own.
var Counted = sync.OnceValue(func() []Workload {
	rows, err := csv.NewReader(strings.NewReader(countedTable)).ReadAll()
	if err != nil {
		panic(err) // embedded
	}
	all := make([]Workload, 0, len(rows))
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, field := range rows[0] {
			row[field] = cells[i]
		}
		all = append(all, countedNetwork(row))
	}
	return all
})

func countedNetwork(row map[string]string) Workload {
	figure := func(field string) hardware.Figure {
		v, _ := strconv.ParseFloat(row[field], 64) // 0 if it has none, such as "grouped"
		return hardware.Figure{Value: v, Source: countSource}
	}
	w := Workload{
		Name: row["name"], Title: row["name"], Family: Family(row["family"]), Unit: "image", Profile: "imagenet-jpeg",
		Params: figure("params"), Forward: figure("flops"), Activations: figure("bytes"), Stored: figure("kept"),
		Grouped: figure("grouped").Value, Layers: figure("layers").Value,
	}
	if w.Family == ConvNet { // what attention costs does not grow with the pixels
		w.Side = figure("side").Value
	}
	return w
}
