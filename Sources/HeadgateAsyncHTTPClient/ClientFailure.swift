#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateDispatch
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

extension DispatchError {
  /// Maps errors of async-http-client and the libraries below it to a `DispatchError`.
  init(client error: any Error, isConnected: Bool, phase: Phase) {
    let (code, phase) = Self.verdict(error, isConnected, phase)
    self.init(code, phase: phase, detail: Self.words(error), underlyingError: error)
  }

  private static func verdict(_ error: any Error, _ isConnected: Bool, _ phase: Phase) -> (Code, Phase) {
    let broken = (Code.connectionLost, phase)
    switch error {
    case let error as HTTPClientError: return verdict(error, phase)
    case let error as NIOConnectionError:
      return error.connectionErrors.isEmpty ? (.nameNotResolved, .name) : (.connectFailed, .connecting)
    case is IOError: return isConnected ? broken : (.connectFailed, .connecting)
    case ChannelError.connectTimeout: return (.connectTimedOut, .connecting)
    case is ChannelError, is ConnectionTap.AnswerIsWhole: return broken
    case let error as HTTPParserError:
      switch error {
      case .invalidEOFState, .closedConnection: return broken
      case .headerOverflow: return (.headTooLarge, phase)
      default: return (.badResponse, phase)
      }
    case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
      return (.badResponse, phase)
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is NIOTLSUnwrappingError:
      return isConnected ? broken : (.tlsFailed, .securing)
    default: return (.transportFailed, phase)
    }
  }

  private static func verdict(_ error: HTTPClientError, _ phase: Phase) -> (Code, Phase) {
    switch error {
    case .remoteConnectionClosed, .requestStreamCancelled: (.connectionLost, phase)
    case .connectTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded: (.connectTimedOut, .connecting)
    case .tlsHandshakeTimeout: (.connectTimedOut, .securing)
    case .cancelled: (.cancelled, phase)
    case .alreadyShutdown: (.shutDown, phase)
    case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath: (.invalidURL, phase)
    default: (.transportFailed, phase)
    }
  }

  private static func words(_ error: any Error) -> String {
    (error as? HTTPClientError)?.shortDescription ?? String(describing: error)
  }
}
#endif
