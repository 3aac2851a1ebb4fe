// Package operators says what each operator of a Timeline cost, as
// torch.profiler's key_averages().table() does: calls, time on the host, time on
// the device, with and without the operators within. Where operand shapes and
// types were recorded it also puts the matrix work on the device's roofline.
//
// It counts and judges nothing: which operators ought to change is diagnose's
// business. All times are integer nanoseconds; the time is linear in the number
// of events.
//
// The rules are PyTorch's (torch/autograd/profiler_util.py), so that the figures
// can be held against it:
//
//   - on one thread a call is within another if its whole span does;
//   - a call that is the only one within a call of the same name is that call;
//   - a device's work belongs to the innermost operator that launched it, and is
//     in the total of every operator around it;
//   - a call's own time is its time less that of the calls directly within.
package operators
