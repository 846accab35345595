// The umbrella: one import for what most programs need, the types of requests and responses included. `race`, `retry`,
// `step` and their kin are names that a program may well have itself: they come with `import HeadgateFlow` only, but for
// the two types that a `RetryPolicy` is made of.

@_exported import HTTPTypes
@_exported import HeadgateDispatch
@_exported import HeadgateThreads

@_exported import struct HeadgateFlow.Backoff
@_exported import class HeadgateFlow.RetryBudget

#if canImport(Darwin)
@_exported import HeadgateURLSession
#else
@_exported import HeadgateCurl
#endif
