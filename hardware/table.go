package hardware

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stoker-dev/stoker/internal/spelling"
)

// Table is a set of rows. Lookups return the first row that matches.
type Table struct {
	GPUs     []GPU
	Links    []Link
	Networks []Network
	Storages []Storage
	CPUs     []CPU
	Grids    []Grid
}

// Known is the built-in table.
var Known = Table{GPUs: GPUs, Links: links, Networks: networks, Storages: storages, CPUs: cpus, Grids: grids}

// Machine is the hardware of a forecast.
type Machine struct {
	GPU     GPU     // zero if unknown
	Link    Link    // zero if unknown
	Storage Storage // zero if unknown
}

// With returns the rows of both tables. A row of other replaces one of the same name, and rows
// of other come first.
func (t Table) With(other Table) Table {
	return Table{
		GPUs:     merge(other.GPUs, t.GPUs),
		Links:    merge(other.Links, t.Links),
		Networks: merge(other.Networks, t.Networks),
		Storages: merge(other.Storages, t.Storages),
		CPUs:     merge(other.CPUs, t.CPUs),
		Grids:    merge(other.Grids, t.Grids),
	}
}

// FindGPU returns the row of a device by its key, the vendor's name or the driver's (NVML,
// amdsmi), with or without words such as "NVIDIA" and "Tesla"; false if no row matches. The
// whole name must match: an A10G is not an A10, a laptop's 4090 is not a 4090, and a MIG slice
// of an A100 is not an A100.
func (t Table) FindGPU(name string) (GPU, bool) {
	for _, gpu := range t.GPUs {
		if gpu.Name == name {
			return gpu, true // the common and fast case
		}
	}
	joined := func(name string) string { return strings.ReplaceAll(words(name), " ", "") } // rtx5090
	wanted := joined(name)
	for _, gpu := range t.GPUs {
		for _, known := range append([]string{gpu.Name, gpu.Title}, gpu.Match...) {
			if wanted != "" && joined(known) == wanted {
				return gpu, true
			}
		}
	}
	return GPU{}, false
}

// usualKinds lists the variants that the name of a GPU alone usually means, most common first.
// [J] They are the ones on the eight-GPU boards of clouds and clusters, from which most
// published figures come. For another variant the user gives its full key.
var usualKinds = []string{"h100-sxm", "a100-80gb-sxm", "a100-40gb-sxm", "v100-sxm-16gb", "gh200-96gb"}

// FindKind returns the variant that a name without variant ("a100") usually means, and the keys
// of all variants that match; known is false if there is no usual one. A name with only one
// variant means that one.
func (t Table) FindKind(name string) (usual GPU, kinds []string, known bool) {
	asked := strings.Fields(words(name))
	for _, gpu := range t.GPUs {
		key := strings.Fields(words(gpu.Name))
		other := func(word string) bool { return !slices.Contains(key, word) }
		if len(asked) > 0 && key[0] == asked[0] && !slices.ContainsFunc(asked, other) {
			kinds = append(kinds, gpu.Name)
		}
	}
	if len(kinds) == 1 {
		usual, known = t.FindGPU(kinds[0])
		return usual, kinds, known
	}
	for _, key := range usualKinds {
		if slices.Contains(kinds, key) {
			usual, known = t.FindGPU(key)
			return usual, kinds, known
		}
	}
	return GPU{}, kinds, false
}

// FindLink returns a host link by name; false if it is not in the table.
func (t Table) FindLink(name string) (Link, bool) { return find(t.Links, name) }

// FindNetwork returns a network between machines by name; false if it is not in the table. RoCE runs
// over Ethernet.
func (t Table) FindNetwork(name string) (Network, bool) {
	if network, found := find(t.Networks, name); found {
		return network, true
	}
	return find(t.Networks, networkWords.Replace(strings.ToLower(name)))
}

// networkWords spells the first word of a network's name as its key does.
var networkWords = strings.NewReplacer("infiniband-", "ib-", "roce-", "eth-", "rocev2-", "eth-", "ethernet-", "eth-")

// FindStorage returns a class of storage by name; false if it is not in the table.
func (t Table) FindStorage(name string) (Storage, bool) { return find(t.Storages, name) }

// FindCPU returns the row of a processor by its key, or by the kernel's name, which contains
// the name in the row; false if no row matches.
func (t Table) FindCPU(name string) (CPU, bool) {
	wanted := " " + words(name) + " "
	for _, cpu := range t.CPUs {
		for _, known := range append([]string{cpu.Name}, cpu.Match...) {
			if strings.Contains(wanted, " "+words(known)+" ") {
				return cpu, true
			}
		}
	}
	return CPU{}, false
}

// FindGrid returns an electricity grid by its key or by the country's name; false if it is not
// in the table.
func (t Table) FindGrid(name string) (Grid, bool) {
	for _, grid := range t.Grids {
		if strings.EqualFold(grid.Name, name) || strings.EqualFold(grid.Title, name) {
			return grid, true
		}
	}
	return Grid{}, false
}

// findMachine returns the machine with the given GPU and its usual host link; rows are zero if
// unknown.
func (t Table) findMachine(gpuName string) Machine {
	gpu, _ := t.FindGPU(gpuName)
	link, _ := t.FindLink(gpu.Link)
	return Machine{GPU: gpu, Link: link}
}

// GPUNames returns the keys of the devices.
func (t Table) GPUNames() []string { return names(t.GPUs) }

// LinkNames returns the keys of the host links.
func (t Table) LinkNames() []string { return names(t.Links) }

// NetworkNames returns the keys of the networks between machines.
func (t Table) NetworkNames() []string { return names(t.Networks) }

// StorageNames returns the keys of the classes of storage.
func (t Table) StorageNames() []string { return names(t.Storages) }

// CPUNames returns the keys of the processors.
func (t Table) CPUNames() []string { return names(t.CPUs) }

// GridNames returns the keys of the grids.
func (t Table) GridNames() []string { return names(t.Grids) }

// FindGPU searches the built-in table; see Table.FindGPU.
func FindGPU(name string) (GPU, bool) { return Known.FindGPU(name) }

// FindLink searches the built-in table; see Table.FindLink.
func FindLink(name string) (Link, bool) { return Known.FindLink(name) }

// FindStorage searches the built-in table; see Table.FindStorage.
func FindStorage(name string) (Storage, bool) { return Known.FindStorage(name) }

// FindGrid searches the built-in table; see Table.FindGrid.
func FindGrid(name string) (Grid, bool) { return Known.FindGrid(name) }

// MachineOf returns the machine with a GPU of the built-in table and its usual host link.
func MachineOf(gpuName string) Machine { return Known.findMachine(gpuName) }

// suggestions is the greatest number of names that Nearest returns: the four variants of the
// A100.
const suggestions = 4

// longName is the length from which a name cannot be a misspelling of a known one.
const longName = 100

// Nearest returns known names similar to an unknown one, best first; none if nothing is
// similar. If the unknown name is part of known ones ("a100"), it returns only these.
func Nearest(name string, among []string) []string {
	wanted := words(name)
	if wanted == "" || len(wanted) > longName {
		return nil
	}
	var whole, near []string
	distance := map[string]int{}
	for _, candidate := range among {
		other := words(candidate)
		distance[candidate] = spelling.Distance(wanted, other)
		if len(other) > 1 && strings.Contains(wanted, other) {
			distance[candidate] = 0 // an A10G is similar to an A10
		}
		if len(wanted) > 1 && strings.Contains(other, wanted) {
			whole = append(whole, candidate)
		} else if distance[candidate] <= max(1, len(wanted)/3) {
			near = append(near, candidate)
		}
	}
	if len(whole) > 0 {
		return whole[:min(len(whole), suggestions)]
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance[a] - distance[b] })
	return near[:min(len(near), suggestions)]
}

// named is implemented by every row.
type named interface{ key() string }

func (g GPU) key() string     { return g.Name }
func (l Link) key() string    { return l.Name }
func (n Network) key() string { return n.Name }
func (s Storage) key() string { return s.Name }
func (c CPU) key() string     { return c.Name }
func (g Grid) key() string    { return g.Name }

// find returns the row of a name in any case; false if there is no such row.
func find[R named](rows []R, name string) (row R, found bool) {
	for _, row := range rows {
		if strings.EqualFold(row.key(), name) {
			return row, true
		}
	}
	return row, false
}

// merge returns first, followed by the rows of second whose names first does not have.
func merge[R named](first, second []R) []R {
	all := slices.Clone(first)
	for _, row := range second {
		if _, found := find(first, row.key()); !found {
			all = append(all, row)
		}
	}
	return all
}

// names returns the keys of rows in order.
func names[R named](rows []R) []string {
	all := make([]string, 0, len(rows))
	for _, row := range rows {
		all = append(all, row.key())
	}
	return all
}

// vendors are words of a device's name that do not identify the model, and the word that an
// emulated device appends to its name.
var vendors = []string{"nvidia", "tesla", "geforce", "amd", "instinct", "intel", "emulated"}

// words returns the words of a name in lower case, separated by one space, without vendors.
func words(name string) string {
	all := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(slices.DeleteFunc(all, func(word string) bool { return slices.Contains(vendors, word) }), " ")
}
