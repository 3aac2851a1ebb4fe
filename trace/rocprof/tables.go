package rocprof

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-dev/stoker/trace/columns"
)

// tables are a file's lists of names, by the numbers that records have.
type tables struct {
	kinds    map[int]kindNames
	kernels  map[uint64]string
	messages map[uint64]string // of roctx, by the correlation id of their call
	gpus     map[uint64]agent
}

// kindNames names what a record is about: its kind, and an operation of it by number.
type kindNames struct {
	Kind       string   `json:"kind"`
	Operations []string `json:"operations"`
}

// agent is a processor of the machine, among them its GPUs.
type agent struct {
	ID      number `json:"id"`
	Type    int    `json:"type"`
	Index   *int   `json:"gpu_index"`
	Logical int    `json:"logical_node_type_id"`
	Name    string `json:"name"` // "gfx942"
	Product string `json:"product_name"`
	Units   int    `json:"cu_count"`
	Banks   []struct {
		Bytes float64 `json:"size_in_bytes"`
	} `json:"mem_banks"`
}

const gpuAgent = 2

func newTables() *tables {
	return &tables{map[int]kindNames{}, map[uint64]string{}, map[uint64]string{}, map[uint64]agent{}}
}

func (t *tables) readAgent(from *json.Decoder) func() error {
	return func() error {
		var a agent
		err := from.Decode(&a)
		if err == nil && a.Type == gpuAgent && len(t.gpus) < columns.MostDevices {
			if a.Index == nil {
				a.Index = new(len(t.gpus))
			}
			t.gpus[a.ID.Handle] = a
		}
		return err
	}
}

func (t *tables) readKernel(from *json.Decoder) func() error {
	return func() error {
		var k struct {
			ID        uint64 `json:"kernel_id"`
			Formatted string `json:"formatted_kernel_name"`
			Name      string `json:"kernel_name"`
		}
		if err := from.Decode(&k); err != nil {
			return err
		}
		if k.Formatted == "" {
			k.Formatted = k.Name
		}
		return put(t.kernels, k.ID, k.Formatted)
	}
}

func (t *tables) readKind(from *json.Decoder) func() error {
	place := -1
	return func() error {
		var k kindNames
		if err := from.Decode(&k); err != nil {
			return err
		}
		place++
		if len(t.kinds) < mostTable {
			t.kinds[place] = k
		}
		return nil
	}
}

func (t *tables) readMessage(from *json.Decoder) func() error {
	return func() error {
		var m struct {
			Key   uint64 `json:"key"`
			Value string `json:"value"`
		}
		if err := from.Decode(&m); err != nil {
			return err
		}
		return put(t.messages, m.Key, m.Value)
	}
}

func put(into map[uint64]string, key uint64, text string) error {
	if len(into) >= mostTable {
		return fmt.Errorf("it holds more than %d names", mostTable)
	}
	into[key] = text[:min(len(text), mostName)]
	return nil
}

// operation is the name of what a record did: "hipLaunchKernel".
func (t *tables) operation(kind, number int) string {
	if names := t.kinds[kind].Operations; number >= 0 && number < len(names) {
		return names[number]
	}
	return ""
}
