package hardware

// Grid is the electricity of a country.
type Grid struct {
	Name   string // "de"
	Title  string // "Germany"
	Carbon Figure // grams of CO2 equivalent per kWh, over the life cycle of the plants
	Price  Figure // dollars per kWh for a business; zero where unknown
}

// Power usage effectiveness: what a data centre draws from the grid for each unit that its
// machines use. Liquid-cooled halls have less; a machine under a desk has 1.
var (
	PUE = Figure{
		1.54,
		"Uptime Institute Global Data Center Survey 2025, weighted average; read second-hand (thefreesheet.com, 2026-01)",
	}
	newPUE = Figure{
		1.3,
		"Uptime Institute Global Data Center Survey 2024: new and large facilities reach 1.3 or better; read " +
			"second-hand (cloudnews.tech, 2024)",
	}
)

const (
	ember23 = "Ember and Energy Institute by Our World in Data, year 2023; read as global_energy_mix.json of " +
		"github.com/mlco2/codecarbon at b05965e, 2026-08"
	ember22 = "Ember and Energy Institute by Our World in Data, year 2022; read as global_energy_mix.json of " +
		"github.com/mlco2/codecarbon at b05965e, 2026-08"
	usPrice = "assumption: between the commercial averages of Texas (8.82 ct) and New York (18.01 ct), EIA Electric " +
		"Power Annual, year 2023; mlsysim takes the same"
	euPrice = "Eurostat, first half of 2025, non-household 19.02 EUR per 100 kWh (press release, 2025-10); " +
		"assumption: 1.09 dollars to the euro"
	noCarbon = "assumption: EU-wide intensity is not in the same data; the mean of the four largest economies of the " +
		"EU below, weighted equally"
)

// grids lists the known grids.
var grids = []Grid{
	{Name: "us", Title: "United States", Carbon: Figure{369, ember23}, Price: Figure{0.12, usPrice}},
	{Name: "eu", Title: "European Union", Carbon: Figure{235, noCarbon}, Price: Figure{0.207, euPrice}},
	{
		Name: "world", Title: "World",
		Carbon: Figure{481, "Ember, year 2023 (2024-07); read second-hand (statista.com, 943137, 2024-12)"},
	},
	{Name: "au", Title: "Australia", Carbon: Figure{549, ember23}},
	{Name: "br", Title: "Brazil", Carbon: Figure{98, ember23}},
	{Name: "ca", Title: "Canada", Carbon: Figure{170, ember23}},
	{Name: "ch", Title: "Switzerland", Carbon: Figure{35, ember23}},
	{Name: "cn", Title: "China", Carbon: Figure{582, ember23}},
	{Name: "de", Title: "Germany", Carbon: Figure{381, ember23}},
	{Name: "dk", Title: "Denmark", Carbon: Figure{152, ember23}},
	{Name: "es", Title: "Spain", Carbon: Figure{174, ember23}},
	{Name: "fi", Title: "Finland", Carbon: Figure{79, ember23}},
	{Name: "fr", Title: "France", Carbon: Figure{56, ember23}},
	{Name: "gb", Title: "United Kingdom", Carbon: Figure{238, ember23}},
	{Name: "ie", Title: "Ireland", Carbon: Figure{291, ember23}},
	{Name: "in", Title: "India", Carbon: Figure{713, ember23}},
	{Name: "is", Title: "Iceland", Carbon: Figure{28, ember22}},
	{Name: "it", Title: "Italy", Carbon: Figure{331, ember23}},
	{Name: "jp", Title: "Japan", Carbon: Figure{485, ember23}},
	{Name: "kr", Title: "South Korea", Carbon: Figure{431, ember23}},
	{Name: "nl", Title: "Netherlands", Carbon: Figure{268, ember23}},
	{Name: "no", Title: "Norway", Carbon: Figure{30, ember23}},
	{Name: "pl", Title: "Poland", Carbon: Figure{662, ember23}},
	{Name: "se", Title: "Sweden", Carbon: Figure{41, ember23}},
	{Name: "sg", Title: "Singapore", Carbon: Figure{471, ember23}},
	{Name: "tw", Title: "Taiwan", Carbon: Figure{642, ember23}},
	{Name: "za", Title: "South Africa", Carbon: Figure{708, ember23}},
}
