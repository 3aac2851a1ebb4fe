package hardware

// CPU describes how fast one core of a processor prepares data.
type CPU struct {
	Name   string
	Title  string
	Match  []string // words of the name that the kernel reports
	Decode []LibraryRate
}

// LibraryRate is the decoding rate of one library on one core.
type LibraryRate struct {
	Library string // "pillow", "torchvision", "turbojpeg", "opencv", "tensorflow"
	Rate    Figure // images/s: ImageNet validation JPEGs of about 500 x 400 pixels, bytes in memory to RGB, one thread
}

// DecodeRate returns the rate of a library on one core; the zero Figure if unknown.
func (c CPU) DecodeRate(library string) Figure {
	for _, d := range c.Decode {
		if d.Library == library {
			return d.Rate
		}
	}
	return Figure{}
}

// jpegBench is the only public measurement of five processors with the same protocol.
const jpegBench = "measured, github.com/ternaus/imread_benchmark, README at f869db8, 2026-05, single-thread decode, " +
	"bytes in memory"

// cpus lists processors whose cores were measured, on virtual machines of Google Cloud. A
// virtual core is half a physical core (AMD, Intel) or a whole one (Arm). The rates do not
// scale with the number of workers, which share memory bandwidth and clock.
var cpus = []CPU{
	{
		Name: "zen4", Title: "AMD EPYC 9B14", Match: []string{"EPYC 9B14"},
		Decode: jpegs(537, 621, 640, 664, 596),
	},
	{
		Name: "zen5", Title: "AMD EPYC 9B45", Match: []string{"EPYC 9B45"},
		Decode: jpegs(726, 864, 818, 841, 836),
	},
	{
		Name: "xeon-8581c", Title: "Intel Xeon Platinum 8581C", Match: []string{"PLATINUM 8581C"},
		Decode: jpegs(577, 712, 708, 721, 689),
	},
	{
		Name: "neoverse-n1", Title: "Arm Neoverse-N1", Match: []string{"Neoverse-N1"},
		Decode: jpegs(360, 440, 426, 445, 268),
	},
	{
		Name: "neoverse-v2", Title: "Arm Neoverse-V2", Match: []string{"Neoverse-V2"},
		Decode: jpegs(551, 643, 613, 645, 391),
	},
}

// jpegs returns the rates of one row of the measurement, in images/s.
func jpegs(pillow, torchvision, turbojpeg, opencv, tensorflow float64) []LibraryRate {
	return []LibraryRate{
		{"pillow", Figure{pillow, jpegBench}},
		{"torchvision", Figure{torchvision, jpegBench}},
		{"turbojpeg", Figure{turbojpeg, jpegBench}},
		{"opencv", Figure{opencv, jpegBench}},
		{"tensorflow", Figure{tensorflow, jpegBench}},
	}
}
