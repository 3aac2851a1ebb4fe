// Package disk is the probe for disks and file systems: for how long each disk had work in
// flight, how much, and how many bytes and requests (/proc/diskstats); what the NFS client
// counts of each mount (/proc/PID/mountstats); and which file systems hold the files that a
// job has open (/proc/PID/fd, mountinfo). It keeps nothing but that list.
//
// It does not know what a disk can do: that is for package predict and the hardware table.
// Waiting for a file system shows in the threads' state (observe/cpu).
package disk
