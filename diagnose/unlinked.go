package diagnose

// HidesHost reports whether idle time that ends with work of unknown launch is so much of a
// window that the file does not tell what the device waited for.
func HidesHost(unlinked, idle float64) bool {
	return unlinked > max(unlinkedOfIdle*idle, unlinkedOfWindow)
}
