package stack

// lineOf returns the line of the code unit of a number (-1 before the first), and how many
// units the code has.
func (c *code) lineOf(unit int, minor uint64) (line, units int) {
	if minor < 11 {
		return c.lineFromPairs(max(0, unit))
	}
	return c.lineFromLocations(max(0, unit))
}

// lineFromPairs reads the table of 3.10: pairs of how many bytes on and how many lines
// on, -128 being no line.
func (c *code) lineFromPairs(unit int) (line, units int) {
	now, end := c.first, 0
	for i := 0; i+1 < len(c.table); i += 2 {
		if by := int(int8(c.table[i+1])); by != -128 {
			now += by
		}
		if before := end / 2; before <= unit {
			line = now
		}
		end += int(c.table[i])
	}
	return line, end / 2
}

// lineFromLocations reads the table of 3.11 and later: an entry for a run of code units
// begins with a byte whose highest bit alone is set, with its kind and how many they
// are; bytes for lines and columns follow.
func (c *code) lineFromLocations(unit int) (line, units int) {
	now := c.first
	for i := 0; i < len(c.table); {
		head := c.table[i]
		i++
		switch kind := head >> 3 & 15; {
		case kind == 13 || kind == 14: // any number of lines on
			now += c.readSigned(i)
		case kind >= 10 && kind <= 12: // this line, the next or the one after
			now += int(kind) - 10
		}
		if units <= unit {
			line = now
		}
		units += int(head&7) + 1
		for i < len(c.table) && c.table[i]&0x80 == 0 {
			i++
		}
	}
	return line, units
}

// readSigned reads a signed number of six bits a byte, least first; the lowest bit of all is its
// sign.
func (c *code) readSigned(i int) int {
	v := 0
	for shift := 0; i < len(c.table) && shift < 30; shift += 6 {
		v |= int(c.table[i]&63) << shift
		if c.table[i]&64 == 0 {
			break
		}
		i++
	}
	if v&1 != 0 {
		return -(v >> 1)
	}
	return v >> 1
}
