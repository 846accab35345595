/// Of which tokens a fetch is under way in the present task: requests that are submitted in it do not wait for that fetch, nor
/// do they when they are prepared again.
enum FetchingTask {
  @TaskLocal static var fetches: [ObjectIdentifier] = []
}
