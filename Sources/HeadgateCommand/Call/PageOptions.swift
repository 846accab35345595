import ArgumentParser

/// Options for responses that are the first of several pages.
struct PageOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Request the next page of each response too, one after another. Its URL is in the Link field (link), or in a "
        + "field of the JSON body (body:paging.next). Each page is a result.",
      valueName: "link|body:path"
    ),
    transform: NextPage.init
  )
  var next: NextPage?

  @Option(
    help: ArgumentHelp("With --next: the maximum number of pages of a row.", valueName: "n"),
    transform: OptionValue.count
  )
  var maxPages: Int?

  func validate() throws {
    guard next != nil || maxPages == nil else {
      throw ValidationError(
        "--max-pages limits the pages that --next follows: give --next link or --next body:PATH too.")
    }
  }
}
