import HeadgateDispatch

// The list, read only as fast as it is worked off: each URL's place in the queue is waited for before the next line.

/// How far the list has been worked off.
struct ListProgress {
  /// URLs and bad lines.
  var lines = 0
  /// URLs alone: each one's number is its turn at the output.
  var urls = 0
}

extension FetchRun {
  /// Hands over all URLs. Returns how many there were, bad lines included.
  func readAll() async -> Int {
    var progress = ListProgress()
    var isWhole = true
    for (number, url) in options.urls.enumerated() where isWhole {
      let line = NumberedLine(number: number + 1, line: .url(url))
      isWhole = await take(line, of: "argument", &progress)
      if !isWhole { report.skippedUnread(options.urls.count - number) }
    }
    for list in lists where isWhole { isWhole = await read(list, &progress) }
    if !isWhole, isOutOfTime {
      report.fault(.time, "the deadline passed before the list was read to its end; what follows was not fetched")
    }
    if !isWhole { for list in lists { await skipRest(of: list) } }
    return progress.lines
  }

  /// Counts what is not fetched any more: the last line tells of every URL, as far as that can be known.
  private func skipRest(of list: ListReader) async {
    report.skippedUnread(await list.countRest { [weak self] in self?.isEndingAtOnce == false })
  }

  /// False: the run is to stop.
  private func read(_ list: ListReader, _ progress: inout ListProgress) async -> Bool {
    while true {
      let piece: ListReader.Piece
      do throws(SystemError) {
        piece = try await list.next()
      } catch {
        report.fault(.file, "\(list.name): \(error)")
        return true
      }
      switch piece {
      case .end: return !isStopping
      case .compressed(let compression):
        report.fault(
          .usage,
          "\(list.name): it is compressed by \(compression); "
            + "write \(compression.reader) FILE | headgate fetch -i - and what else you want")
        return true
      case .lines(let lines):
        for (place, line) in lines.enumerated() {
          guard await take(line, of: list.name, &progress) else {
            report.skippedUnread(lines.count - place)
            return false
          }
        }
        await report.settle()
      }
    }
  }

  /// False: the run is to stop, and the line was not looked at.
  private func take(_ line: NumberedLine, of list: String, _ progress: inout ListProgress) async -> Bool {
    guard !isStopping else { return false }
    switch line.line {
    case .nothing: return true
    case .bad(let text, let reason): report.badLine("\"\(text)\": \(reason)", text, at: "\(list):\(line.number)")
    case .url(let url):
      do throws(DispatchError) {
        var request = try options.request(url)
        request.deadline = timeLeft
        let job = FetchJob(url: url, request: request, index: progress.urls)
        progress.urls += 1
        await fetch(job)
      } catch {
        report.badLine(BadURL.message(url, error.detail), url, at: "\(list):\(line.number)")
      }
    }
    progress.lines += 1
    return true
  }
}
