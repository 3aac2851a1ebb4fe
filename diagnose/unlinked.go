package diagnose

// Shares of the idle time and of the window that end with work of unknown launch, from which
// the host's part in them is unknown. [J]
const (
	unlinkedOfIdle   = 0.2
	unlinkedOfWindow = 0.03
)

// HidesHost reports whether idle time that ends with work of unknown launch is so much of a
// window that the file does not tell what the device waited for.
func HidesHost(unlinked, idle float64) bool {
	return unlinked > max(unlinkedOfIdle*idle, unlinkedOfWindow)
}
