// Package feed is the loader that is the fix when data loading is the bottleneck:
// it reads, decodes, augments and batches images with all cores, straight into
// recycled shared memory that the trainer maps without a copy.
//
// The way of a batch:
//
//	client ── start ──► serve: a session takes a free slot of its ring,
//	                    and says when the trainer will want the batch
//	                      │ Pass.Fill
//	                      ▼
//	order               which samples belong to the batch: arithmetic only
//	                      │ a Job in the Pool's queue, the batch wanted first at its head
//	                      ▼
//	source ──► decode ──► transform    a thread per sample, with separate scratch;
//	 bytes      planes     tensor      written into its place in the slot, once
//	                      │ the last sample is done
//	                      ▼
//	client ◄── batch ── serve: the slot is lent, in the order of steps
//	client ── release ► serve: the samples count as consumed (Pass.Release), the slot is free;
//	                    after the last one the epoch is accounted for (Pass.Account)
//
// Below this package, source lists and reads files, decode turns them into planes, transform
// turns planes into tensors, and order deals samples to ranks and steps. Package ring is the
// shared memory, serve speaks with clients, check reads a data set once.
//
// Errors come in three kinds. A fault of a sample is a Bad, which names the file; Spec.OnError
// decides what happens. A fault of a loader is an error of Open. A fault of the machine, of its
// storage or of Stoker is an Unmade, to which no policy for bad samples applies.
package feed
