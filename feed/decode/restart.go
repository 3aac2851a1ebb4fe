package decode

import "bytes"

// restartAt finds the restart marker numbered due after entropy-coded data that ended at the
// marker at pos. at is where the next data begin. If the marker is missing, found is false: the
// blocks get zero bits, and the marker at at is kept for the next restart. Wrong markers are
// handled as in libjpeg (jpeg_resync_to_restart), so that the same blocks get the same data.
func (j *jpeg) restartAt(pos, due int) (at int, found bool, err error) {
	for pos+1 < len(j.data) {
		marker := j.data[pos+1]
		ahead := (int(marker) - mRST0 - due) & 7
		switch {
		case marker < mSOF0: // not a valid marker: skip it
		case marker < mRST0 || marker > mRST7 || ahead == 1 || ahead == 2:
			return pos, false, nil
		case ahead == 6 || ahead == 7: // an earlier one: skip it
		default: // the right one, or one too far off to be trusted
			return pos + 2, true, nil
		}
		if _, pos, err = j.marker(pos + 2); err != nil {
			return 0, false, err
		}
		pos -= 2
	}
	return 0, false, j.newTruncated()
}

// nextMarker finds the marker that ends the entropy-coded data at pos.
func nextMarker(data []byte, pos int) int {
	for {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 {
			return len(data)
		}
		pos += i
		for pos+1 < len(data) && data[pos+1] == 0xff {
			pos++
		}
		if pos+1 == len(data) {
			return len(data)
		}
		if data[pos+1] != 0 {
			return pos
		}
		pos += 2
	}
}
