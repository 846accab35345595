#if AsyncHTTPClient
import NIOCore
import Testing

@testable import HeadgateAsyncHTTPClient

@Suite struct EarlyAnswerTests {
  @Test("what follows the delivered bytes is kept up to a megabyte; a part that was dropped is not taken for an end")
  func rest() {
    var answer = EarlyAnswer()
    #expect(answer.rest(after: 0)?.readableBytes == 0)
    answer.append(ByteBuffer(bytes: [1, 2]))
    answer.append(ByteBuffer(bytes: [3]))
    #expect(answer.rest(after: 1).map { Array($0.readableBytesView) } == [2, 3])
    #expect(answer.rest(after: 3)?.readableBytes == 0)
    answer.append(ByteBuffer(repeating: 0, count: 1 << 20))
    #expect(answer.rest(after: 3) == nil)
    #expect(answer.rest(after: 3 + (1 << 20))?.readableBytes == 0)
  }
}
#endif
