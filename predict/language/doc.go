// Package language says how fast a language model trains and serves: with tensor, pipeline,
// sequence, context, expert and data parallelism, in prefill and in decode.
//
// A Model is its published configuration. A Training gives a Step, a Serving gives a Rate.
// Both are sums of parts that a person can check by hand: FLOP at a share of the peak, bytes
// at a share of the bandwidth, messages over links, the bubble of a pipeline. The shares are
// those of a software stack (Stack) and were chosen on rows of testdata/published.csv that
// begin with "tune"; rows that begin with "exam" were only ever compared.
//
// It knows no input path: package predict does, and package device knows networks whose
// single steps were published.
package language
