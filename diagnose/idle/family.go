package idle

// FamilyOf says what a kernel computes, by its name.
func FamilyOf(name string) Family { return familyOf(name) }

// CoresOf says whether a kernel computes on Tensor Cores, by its name.
func CoresOf(name string) Cores { return coresOf(name) }
