package hardware

// Range is a figure that was published with more than one value.
type Range struct {
	Low, Likely, High float64
	Source            string
}

// What a fleet of GPUs takes beside the GPUs' own figures.
var (
	// BusyPower is what a GPU that computes draws, and HostPower what its share of the machine does, both
	// over the GPU's power limit.
	BusyPower = Range{0.7, 0.95, 1, "assumption, so that an H100 with its host comes to what was measured"}
	HostPower = Range{
		0.3, 0.43, 0.82, "a node of 8 H100 of 700 W is rated at 10.2 kW and draws 76 % of it in training " +
			"(arXiv:2506.14551; at most 8.4 kW in arXiv:2412.08602); the low end is an assumption",
	}
	// MachineFailures are failures of a machine of 8 GPUs in a day.
	MachineFailures = Range{
		2.34e-3, 6.5e-3, 1. / 47.7, "Meta's clusters of A100, arXiv:2410.21680: 2.34 (RSC-2) and 6.50 (RSC-1) in " +
			"1,000 days of a machine, and 47.7 days between failures of jobs on 8 GPUs",
	}
	// SiteWater is what cooling evaporates, litres for each kWh of the machines; PlantWater is what power
	// plants consume for each kWh.
	SiteWater = Range{
		0.12, 0.36, 1.8, "AWS in 2025; average of the US in 2023 (LBNL-2001637, 2024); an older average of the " +
			"industry",
	}
	PlantWater = Range{
		1.8, 3.14, 4.52, "thermal plants without hydropower; average of the US (arXiv:2304.03271); where data " +
			"centres of the US are (LBNL-2001637)",
	}
	// HostCarbon is the making of a machine's other parts, kg CO2e for each of its 8 GPUs.
	HostCarbon = Range{
		0, 1300. / 8, 2500. / 8, "1,300 kg for the host of an HGX B200 (public repositories, text search " +
			"2026-11) and 2,500 kg for a server (arXiv:2211.02001); none at the low end",
	}
)

// UsefulLife is how long machines are used, years: cloud companies write servers off in 5 to 6, and
// arXiv:2211.02001 takes 6.
const UsefulLife = 6

// boards are the product carbon footprints of HGX boards of 8 GPUs, kg CO2e for each GPU, from cradle to gate.
var boards = map[string]Figure{
	"h100-sxm": {1312. / 8, "NVIDIA HGX H100 product carbon footprint, 2025: 1,312 kg; read second-hand (2026-11)"},
	"b200":     {2274. / 8, "NVIDIA HGX B200 product carbon footprint, 2025: 2,274 kg; read second-hand (2026-11)"},
}

// BoardCarbon returns the carbon of making a GPU with its share of the board, kg CO2e.
func (g GPU) BoardCarbon() Figure {
	if known, found := boards[g.Name]; found {
		return known
	}
	other := boards["h100-sxm"]
	return Figure{other.Value, "assumption: as of an H100; " + other.Source}
}
