package hardware

// Storage is a class of storage as seen from one machine.
type Storage struct {
	Name    string
	Title   string // description, with the size if performance depends on it
	Rate    Figure // bytes/s, sequential read with enough requests in flight
	IOPS    Figure // random reads per second, 4 KiB unless the source says otherwise
	Latency Figure // seconds of a single random read; a likely value between LatencyEnds if these are set
	// LatencyEnds are the least and greatest latency in the sources, if they differ.
	LatencyEnds [2]float64
	Object      bool // an object store: reading a sample that is an object takes one request
}

const (
	gp3Guide = "AWS Prescriptive Guidance, Amazon EBS SSD storage types, read 2026-11"
	pdGuide  = "Google Cloud documentation, About Persistent Disk performance, N2 with 64 vCPUs or more; read " +
		"second-hand (a mirror, 2026-11)"
	fsxGuide = "AWS documentation, FSx for Lustre, performance of SSD storage, disk throughput of persistent file " +
		"systems, read 2026-11"
	s3Bench = "measured from EC2, github.com/dvassallo/s3-benchmark, 2019-04: "
	s3Guide = "AWS, Amazon S3 user guide, performance guidelines and design patterns; read second-hand (public " +
		"repositories, 2026-11): "
	gcsBench = "measured, GoogleCloudPlatform/gcsfuse docs/benchmarks.md, n2-standard-96 with 100 Gbit/s, 128 " +
		"threads, read 2026-11: "
	nfsBench = "measured, one 10 GbE interface, files in the server's memory: 50 GB in 50 s (B. Gregg, by " +
		"c0t0d0s0.org, 2008-12)"
)

// Figures of several classes.
var (
	// The time to the first byte of an object store varies tenfold, and dominates for small
	// objects. The likely value is the geometric mean of the ends.
	s3Latency = Figure{
		0.063, "geometric mean of 20 ms (90 of 100 requests from EC2 begin sooner, whatever the object's size, " +
			"github.com/dvassallo/s3-benchmark, 2019-04) and 200 ms (" + s3Guide + "100 to 200 ms to the first byte)",
	}
	s3LatencyEnds = [2]float64{0.02, 0.2}
	gcsLatency    = Figure{
		0.045, "geometric mean of 21 ms (128 threads read 765 MiB/s of files of 128 KiB: " + gcsBench + "derived) and " +
			"100 ms (assumption: half of what Amazon says at most of S3)",
	}
	gcsLatencyEnds = [2]float64{0.021, 0.1}

	nvmeLatency = Figure{
		1 / 19e3,
		"Samsung 970 EVO Plus 1 TB: 19,000 random reads/s with one in flight (digit.in, 2019); other NVMe drives are " +
			"taken to be alike",
	}
	volumeLatency = Figure{1e-3, "assumption: 1 ms, as clouds promise \"single-digit milliseconds\""}
	serverLatency = Figure{
		500e-6,
		"assumption: 0.5 ms for a request over the network to a server that has it in memory or on an SSD",
	}
)

const (
	cachedRead  = 3.1e-6
	cachedReads = "measured, open, read of 4 KiB and close of cached files with Python, ext4, one thread, AMD EPYC " +
		"virtual machine, 2026-11-22: 2.9 to 4.5 us, median 3.1 (n = 20)"
)

// LatencyBetween returns the latency with its ends: least, likely, most.
func (s Storage) LatencyBetween() (least, likely, most float64) {
	if s.LatencyEnds[0] == 0 {
		return s.Latency.Value, s.Latency.Value, s.Latency.Value
	}
	return s.LatencyEnds[0], s.Latency.Value, s.LatencyEnds[1]
}

// storages lists the known classes of storage. Figures of drives are the announced ones: a full
// or worn drive, a RAID or an encrypted file system reaches less.
var storages = []Storage{
	{
		Name: "nvme", Title: "one NVMe drive, PCIe 4.0 x4",
		Rate: Figure{7e9, "Samsung 980 PRO as announced: 7,000 MB/s (gamebastion.com, 2022-08)"},
		IOPS: Figure{1000e3, "the same announcement: 1,000,000 random reads/s"}, Latency: nvmeLatency,
	},
	{
		Name: "nvme3", Title: "one NVMe drive, PCIe 3.0 x4",
		Rate:    Figure{3.5e9, "Samsung 970 EVO Plus 1 TB: 3,500 MB/s (digit.in, 2019)"},
		IOPS:    Figure{600e3, "the same data: 600,000 random reads/s with 32 in flight"},
		Latency: nvmeLatency,
	},
	{
		Name: "nvme5", Title: "one NVMe drive, PCIe 5.0 x4",
		Rate: Figure{14.7e9, "Samsung 9100 PRO: 14,700 MB/s (news.warptechlab.com, read 2026-11)"},
		IOPS: Figure{1850e3, "the same article: 1,850,000 random reads/s"}, Latency: nvmeLatency,
	},
	{
		Name: "nvme-server", Title: "one NVMe drive for servers, PCIe 4.0 x4",
		Rate: Figure{6.5e9, "Samsung PM9A3 as announced: 6,500 MB/s sequential read (computerbase.de, 2020-05)"},
		IOPS: Figure{900e3, "the same announcement: 900,000 random reads/s"}, Latency: nvmeLatency,
	},
	{
		Name: "sata-ssd", Title: "one SATA SSD, 6 Gbit/s",
		Rate:    Figure{550e6, "Samsung 860 EVO 500 GB: 550 MB/s (techplayboy.com, 2018)"},
		IOPS:    Figure{98e3, "the same review: 98,000 random reads/s"},
		Latency: Figure{100e-6, "assumption: twice that of an NVMe drive"},
	},
	{
		Name: "hdd", Title: "one hard disk, 7,200 rpm",
		Rate: Figure{270e6, "Seagate Exos X18 as specified, outer tracks (computerbase.de, 2022-11)"},
		IOPS: Figure{
			152,
			"half of the 304 random reads/s of Seagate's Exos 2X14 with two actuators (digitalmadnesss.com, 2021-05)",
		},
		Latency: Figure{1.0 / 152, "the reads/s above, one at a time; 4.16 ms of it is the rotation"},
	},
	{
		Name: "gp3", Title: "AWS EBS gp3 volume as it comes",
		Rate: Figure{125 * mib, gp3Guide + ": baseline 125 MiB/s"}, IOPS: Figure{3000, gp3Guide + ": baseline, 16 KiB"},
		Latency: volumeLatency,
	},
	{
		Name: "gp3-max", Title: "AWS EBS gp3 volume, fully provisioned",
		Rate: Figure{1000 * mib, gp3Guide + ": at most 1,000 MiB/s"},
		IOPS: Figure{16000, gp3Guide + ": at most, 16 KiB"}, Latency: volumeLatency,
	},
	{
		Name: "pd-ssd", Title: "Google Cloud SSD persistent disk, 2.5 TiB or larger",
		Rate: Figure{1200 * mib, pdGuide + ": 1,200 MiB/s per instance, 0.48 MiB/s per GiB"},
		IOPS: Figure{100e3, pdGuide + ": 30 per GiB, at most 100,000"}, Latency: volumeLatency,
	},
	{
		Name: "nfs-10g", Title: "NFS over 10 Gbit/s Ethernet, one client",
		Rate: Figure{1e9, nfsBench}, Latency: serverLatency,
	},
	{
		Name: "nfs-25g", Title: "NFS over 25 Gbit/s Ethernet, one client, several connections",
		Rate:    Figure{2.5e9, "assumption: the same 80 % of the line rate as on 10 Gbit/s; " + nfsBench},
		Latency: serverLatency,
	},
	{
		Name: "nfs-100g", Title: "NFS over 100 Gbit/s Ethernet, one client, several connections",
		Rate: Figure{
			10e9,
			"about 10 GB/s per 100 Gbit/s interface, with many connections (taras.glek.net/post/nfs-for-fio, read 2026-11)",
		}, Latency: serverLatency,
	},
	{
		Name: "fsx-125", Title: "FSx for Lustre, persistent SSD 125, for each TiB", Rate: Figure{125e6, fsxGuide},
		Latency: serverLatency,
	},
	{
		Name: "fsx-250", Title: "FSx for Lustre, persistent SSD 250, for each TiB", Rate: Figure{250e6, fsxGuide},
		Latency: serverLatency,
	},
	{
		Name: "fsx-500", Title: "FSx for Lustre, persistent SSD 500, for each TiB", Rate: Figure{500e6, fsxGuide},
		Latency: serverLatency,
	},
	{
		Name: "fsx-1000", Title: "FSx for Lustre, persistent SSD 1000, for each TiB", Rate: Figure{1000e6, fsxGuide},
		Latency: serverLatency,
	},
	{
		Name: "s3", Object: true, Title: "Amazon S3 from an instance with 25 Gbit/s, many connections",
		Rate:    Figure{2851e6, s3Bench + "c5n.4xlarge, 2,851 MB/s"},
		IOPS:    Figure{5500, s3Guide + "5,500 GET requests/s per prefix"},
		Latency: s3Latency, LatencyEnds: s3LatencyEnds,
	},
	{
		Name: "s3-100g", Object: true, Title: "Amazon S3 from an instance with 100 Gbit/s, many connections",
		Rate:    Figure{8003e6, s3Bench + "c5n.18xlarge, 8,003 MB/s"},
		IOPS:    Figure{5500, s3Guide + "5,500 GET requests/s per prefix"},
		Latency: s3Latency, LatencyEnds: s3LatencyEnds,
	},
	{
		Name: "s3-connection", Object: true, Title: "Amazon S3, one connection",
		Rate:    Figure{87.5e6, s3Guide + "one request for each 85 to 90 MB/s"},
		Latency: s3Latency, LatencyEnds: s3LatencyEnds,
	},
	{
		Name: "gcs", Object: true, Title: "Google Cloud Storage through gcsfuse, 100 Gbit/s, files of 5 MB and more",
		Rate:    Figure{7700 * mib, gcsBench + "7,564 to 7,741 MiB/s for 5 MB to 1 GB"},
		IOPS:    Figure{765 * 8, gcsBench + "765 MiB/s for files of 128 KiB: 8 files to the MiB"},
		Latency: gcsLatency, LatencyEnds: gcsLatencyEnds,
	},
	{
		Name: "page-cache", Title: "files in the page cache, one reading thread",
		Rate: Figure{
			12e9,
			"measured, dd of a cached 3 GB file in blocks of 128 KiB, one thread, AMD EPYC virtual machine, 2026-11: " +
				"10.1 to 12.5 GB/s; 13.4 to 18.7 GB/s in blocks of 1 MiB",
		},
		IOPS:    Figure{1 / cachedRead, cachedReads},
		Latency: Figure{cachedRead, cachedReads},
	},
}
