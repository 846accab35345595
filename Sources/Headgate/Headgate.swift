// The umbrella: one import for what most programs need.

@_exported import HeadgateDispatch
@_exported import HeadgateFlow
@_exported import HeadgateThreads

#if canImport(HeadgateCurl)
@_exported import HeadgateCurl
#endif
