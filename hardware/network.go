package hardware

// Network connects the GPUs of several machines.
type Network struct {
	Name  string
	Title string
	Rate  Figure // bytes/s of one machine, sum of its ports, one direction
}

const (
	mlEngineering = "; read second-hand (github.com/stas00/ml-engineering network/README.md at 744d01e, read 2026-11)"
	ieee          = "IEEE 802.3 Specification: "
)

// networks lists the known networks. Package predict knows what share of the rate an exchange
// reaches.
var networks = []Network{
	{"eth-10g", "Ethernet, one port of 10 Gbit/s", Figure{10e9 / 8, ieee + "802.3ae-2002"}},
	{"eth-25g", "Ethernet, one port of 25 Gbit/s", Figure{25e9 / 8, ieee + "802.3by-2016"}},
	{"eth-100g", "Ethernet, one port of 100 Gbit/s", Figure{100e9 / 8, ieee + "802.3ba-2010"}},
	{"eth-200g", "Ethernet, one port of 200 Gbit/s", Figure{200e9 / 8, ieee + "802.3bs-2017"}},
	{"eth-400g", "Ethernet, one port of 400 Gbit/s", Figure{400e9 / 8, ieee + "802.3bs-2017"}},
	{
		"ib-edr", "InfiniBand EDR, one port of 100 Gbit/s",
		Figure{100e9 / 8, "InfiniBand Trade Association roadmap: 4 lanes of 25 Gbit/s" + mlEngineering},
	},
	{
		"ib-hdr", "InfiniBand HDR, one port of 200 Gbit/s",
		Figure{200e9 / 8, "InfiniBand Trade Association roadmap: 4 lanes of 50 Gbit/s" + mlEngineering},
	},
	{
		"ib-ndr", "InfiniBand NDR, one port of 400 Gbit/s",
		Figure{400e9 / 8, "NVIDIA NDR cabling guide: 4 lanes of 100 Gbit/s" + mlEngineering},
	},
	{
		"dgx-h100", "DGX H100, 8 ports of InfiniBand NDR",
		Figure{8 * 400e9 / 8, "NVIDIA DGX H100 SuperPOD: 8 x 400 Gbit/s" + mlEngineering},
	},
	{"efa-p4d", "AWS EFA of a p4d, 4 x 100 Gbit/s", Figure{4 * 100e9 / 8, "AWS EC2 user guide, EFA v1: 4 x 100 Gbit/s" +
		mlEngineering}},
	{
		"efa-p5", "AWS EFA of a p5, 32 x 100 Gbit/s",
		Figure{32 * 100e9 / 8, "AWS EC2 user guide, EFA v2: 32 x 100 Gbit/s" + mlEngineering},
	},
	{
		"gcp-a3", "Google Cloud A3 High, 4 x 200 Gbit/s",
		Figure{4 * 200e9 / 8, "Google Cloud, A3 High with TCPX: 4 x 200 Gbit/s" + mlEngineering},
	},
	{
		"gcp-a3-mega", "Google Cloud A3 Mega, 8 x 200 Gbit/s",
		Figure{8 * 200e9 / 8, "Google Cloud, A3 Mega with TCPXO: 8 x 200 Gbit/s" + mlEngineering},
	},
}
