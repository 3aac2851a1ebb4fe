package hardware

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stoker-dev/stoker/internal/spelling"
)

// Table is a set of rows. Lookups return the first row that fits.
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

// Machine is the hardware that a forecast is for.
type Machine struct {
	GPU     GPU     // zero where unknown
	Link    Link    // zero where unknown
	Storage Storage // zero where unknown
}

// With returns both tables' rows; a row of other replaces one of the same name and
// is found before all others.
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

// FindGPU returns the row of a device by our key, the vendor's name or the driver's
// (NVML, amdsmi), with or without "NVIDIA", "Tesla" and the like; false where no
// row fits. The whole name has to fit: an A10G is no A10, a laptop's 4090 no 4090
// and a MIG slice of an A100 no A100.
func (t Table) FindGPU(name string) (GPU, bool) {
	for _, gpu := range t.GPUs {
		if gpu.Name == name {
			return gpu, true // the usual case, and the quick one
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

// usualKinds are the kinds that are meant by the name of a GPU alone, most usual first. [J] They are
// those of the boards of eight that clouds and clusters rent, from which most published
// figures come. Whoever has another kind names it.
var usualKinds = []string{"h100-sxm", "a100-80gb-sxm", "a100-40gb-sxm", "v100-sxm-16gb", "gh200-96gb"}

// FindKind returns the kind that somebody means who names a GPU and not its kind ("a100"), with
// the keys of all kinds that it may be; false where that is not known. A name of which there is
// one kind alone is that one.
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

// FindLink returns a host link by name; false where there is none.
func (t Table) FindLink(name string) (Link, bool) { return find(t.Links, name) }

// FindNetwork returns a network between machines by name; false where there is none.
func (t Table) FindNetwork(name string) (Network, bool) { return find(t.Networks, name) }

// FindStorage returns a class of storage by name; false where there is none.
func (t Table) FindStorage(name string) (Storage, bool) { return find(t.Storages, name) }

// FindCPU returns the row of a processor by our key or by the name that the kernel
// gives it, of which a row's name is part; false where no row fits.
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

// FindGrid returns an electricity grid by its key or by the country's name; false
// where there is none.
func (t Table) FindGrid(name string) (Grid, bool) {
	for _, grid := range t.Grids {
		if strings.EqualFold(grid.Name, name) || strings.EqualFold(grid.Title, name) {
			return grid, true
		}
	}
	return Grid{}, false
}

// findMachine returns the machine with a GPU of that name and its usual host link;
// zero rows where they are unknown.
func (t Table) findMachine(gpuName string) Machine {
	gpu, _ := t.FindGPU(gpuName)
	link, _ := t.FindLink(gpu.Link)
	return Machine{GPU: gpu, Link: link}
}

// GPUNames are the keys of the devices, for lists and for Nearest.
func (t Table) GPUNames() []string { return names(t.GPUs) }

// LinkNames are the keys of the host links.
func (t Table) LinkNames() []string { return names(t.Links) }

// NetworkNames are the keys of the networks between machines.
func (t Table) NetworkNames() []string { return names(t.Networks) }

// StorageNames are the keys of the classes of storage.
func (t Table) StorageNames() []string { return names(t.Storages) }

// CPUNames are the keys of the processors.
func (t Table) CPUNames() []string { return names(t.CPUs) }

// GridNames are the keys of the grids.
func (t Table) GridNames() []string { return names(t.Grids) }

// FindGPU looks into the built-in table; see Table.FindGPU.
func FindGPU(name string) (GPU, bool) { return Known.FindGPU(name) }

// FindLink looks into the built-in table; see Table.FindLink.
func FindLink(name string) (Link, bool) { return Known.FindLink(name) }

// FindStorage looks into the built-in table; see Table.FindStorage.
func FindStorage(name string) (Storage, bool) { return Known.FindStorage(name) }

// FindGrid looks into the built-in table; see Table.FindGrid.
func FindGrid(name string) (Grid, bool) { return Known.FindGrid(name) }

// MachineOf looks into the built-in table; see Table.Machine.
func MachineOf(gpuName string) Machine { return Known.findMachine(gpuName) }

// suggestions is how many names Nearest returns at most: the four kinds of A100.
const suggestions = 4

// longName is where a name is no slip of a known one but something else.
const longName = 100

// Nearest returns the names that somebody may have meant by an unknown one, best
// first; none where nothing is near. Names that the unknown one is a part of ("a100")
// come alone.
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
			distance[candidate] = 0 // an A10G is an A10 and more
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

// named is any row.
type named interface{ key() string }

func (g GPU) key() string     { return g.Name }
func (l Link) key() string    { return l.Name }
func (n Network) key() string { return n.Name }
func (s Storage) key() string { return s.Name }
func (c CPU) key() string     { return c.Name }
func (g Grid) key() string    { return g.Name }

// find returns the row of that name; false where there is none.
func find[R named](rows []R, name string) (row R, found bool) {
	for _, row := range rows {
		if row.key() == name {
			return row, true
		}
	}
	return row, false
}

// merge returns first and those of second whose names first does not have.
func merge[R named](first, second []R) []R {
	all := slices.Clone(first)
	for _, row := range second {
		if _, found := find(first, row.key()); !found {
			all = append(all, row)
		}
	}
	return all
}

// names lists the keys of rows in their order.
func names[R named](rows []R) []string {
	all := make([]string, 0, len(rows))
	for _, row := range rows {
		all = append(all, row.key())
	}
	return all
}

// vendors are words of a device's name that say nothing about what it can do, and
// the mark that an emulated device puts behind its name.
var vendors = []string{"nvidia", "tesla", "geforce", "amd", "instinct", "intel", "emulated"}

// words is a name in lower case, its words divided by one space, without vendors.
func words(name string) string {
	all := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(slices.DeleteFunc(all, func(word string) bool { return slices.Contains(vendors, word) }), " ")
}
