package diagnose

// HidesHost reports whether idle time that ends with work of unknown launch is so much of a
// window that the file does not tell what the device waited for.
func HidesHost(unlinked, idle float64) bool {
	return unlinked > max(unlinkedOfIdle*idle, unlinkedOfWindow)
}

// HoldsQueue reports whether launched work that does not start is most of a window's idle time.
func HoldsQueue(waits, idle float64) bool { return waits > max(queueOfIdle*idle, unlinkedOfWindow) }
