// Package pack writes a data set of images into tar shards that WebDataset reads. Each sample
// has three files: the image, its label (.cls) and its origin (.json). It makes no batches:
// feed/source reads the shards in a training.
//
//	WriteShards  pack.go     samples in order → shards, one after the other; resumes an interrupted pack
//	               key.go      a file's path → the name of its sample in WebDataset
//	               make.go     a file's bytes → what is packed: the bytes unchanged, or pixels
//	               shard.go    writes a shard under a temporary name, and the list of its content
//	Verify       verify.go   reads all shards back
//	Measure      measure.go  estimates what a pack would cost and save, from a sample of the files
//
// A folder describes its own pack: each shard has a list (shards.Shard), and a complete pack
// has an index (shards.Index). Both get their names only once they are complete. The same data
// set and options give the same bytes, even if packing is interrupted.
//
// Package feed/source lists and reads the files, feed/picture decodes them, feed/order orders
// them.
package pack
