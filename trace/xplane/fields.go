package xplane

// Fields of the messages of an XSpace, by number (tsl/profiler/protobuf/xplane.proto). A name begins
// with the message that has it.
const (
	planeName   = 2
	planeEvents = 4 // map of XEventMetadata
	planeKeys   = 5 // map of XStatMetadata
	planeStats  = 6

	lineID          = 1
	lineName        = 2
	lineTimestamp   = 3
	lineDisplayName = 11

	eventMetadata = 1
	eventOffset   = 2
	eventDuration = 3
	eventRepeats  = 5

	statMetadata = 1
	statDouble   = 2
	statUnsigned = 3
	statSigned   = 4
	statText     = 5
	statBytes    = 6
	statRef      = 7 // the number of a text

	entryKey   = 1 // of a map
	entryValue = 2

	metadataName        = 2
	metadataDisplayName = 4
)
