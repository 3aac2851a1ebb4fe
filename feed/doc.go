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
//	order               which samples it is the turn of; nothing but arithmetic
//	                      │ a Job in the Pool's queue, the batch wanted first at its head
//	                      ▼
//	source ──► decode ──► transform    a thread per sample, with scratch of its own;
//	 bytes      planes     tensor      written into its place in the slot, once
//	                      │ the last sample is done
//	                      ▼
//	client ◄── batch ── serve: the slot is lent, in the order of steps
//	client ── release ► serve: the samples count as consumed (Pass.Release), the slot is free;
//	                    after the last one the epoch is accounted for (Pass.Account)
//
// Below: source lists and reads files, decode makes planes of them, transform makes
// tensors of those, order deals samples to ranks and steps. Beside: ring is the
// shared memory. Above: serve speaks with clients, check reads a data set once.
// Whatever is wrong with a sample is a Bad with the file's name and the policy's
// business (Spec.OnError); whatever is wrong with a loader is an error of Open; whatever is wrong with the
// machine, its storage or with us is an Unmade, and no policy counts for it.
package feed
