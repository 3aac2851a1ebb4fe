// Package disk is the probe for disks: for how long each had work in flight and
// how many bytes were read from it. It reads /proc/diskstats and keeps nothing.
//
// It does not know which disk holds the data set, nor what a disk can do: that
// is for package predict and the hardware table. Network file systems have no
// disk and show in the threads' state (observe/cpu) instead.
package disk
