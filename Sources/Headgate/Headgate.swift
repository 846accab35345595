// The umbrella module: one import for what most programs need, including the types of requests and responses. `race`,
// `retry`, `step` and similar names may collide with a program's own, so they require `import HeadgateFlow`. The
// exceptions are the two types that a `RetryPolicy` uses.

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
