// The umbrella: one import for what most programs need.

@_exported import HeadgateDispatch
@_exported import HeadgateFlow
@_exported import HeadgateThreads

#if canImport(Darwin)
@_exported import HeadgateURLSession
#else
@_exported import HeadgateCurl
#endif
