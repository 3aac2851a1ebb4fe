// Package pack writes a data set of images into tar shards that WebDataset reads: of
// each sample the image, its label (.cls) and where it comes from (.json). It makes no
// batches: feed/source reads the shards for a training.
//
//	Run       pack.go     samples in their order → shards, one after the other; goes on where it stopped
//	            key.go      a file's path → a name that WebDataset takes for one sample's
//	            make.go     a file's bytes → what is packed: themselves, or pixels
//	            shard.go    a shard under another name until it is whole, and the list of what is in it
//	Verify    verify.go   reads all shards back
//	Measure   measure.go  what a pack would cost and save, of a part of the files
//
// What is in a folder says which pack it is: a list beside each shard (shards.Shard) and,
// once all are there, an index (shards.Index). Both are written under other names first. The same
// data set and options give the same bytes, whenever and however often they are interrupted.
//
// Files are listed and read by feed/source, decoded by feed/picture, ordered by feed/order.
package pack
