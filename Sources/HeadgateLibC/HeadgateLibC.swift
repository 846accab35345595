// The C library, by one name on all platforms.

// A declaration of the C library belongs to the first module whose headers bring it. For some, such as `winsize`, that is
// Swift's Glibc with one version of glibc, and CHeadgate with another.
@_exported import CHeadgate

#if canImport(Darwin)
@_exported import Darwin
#elseif canImport(Glibc)
@_exported import Glibc
#elseif canImport(Musl)
@_exported import Musl
#endif
