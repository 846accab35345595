/// An object that stands in at most one ``IdleList``.
protocol IdleNode: AnyObject {
  /// Its place there. Starts as `IdleLinks()`, and is the list's alone.
  var idleLinks: IdleLinks<Self> { get set }
}

/// The place of a node in a list.
struct IdleLinks<Node: AnyObject> {
  // The list retains its nodes, through `first` and this.
  fileprivate var next: Node?
  // Unowned: a node that leaves the list also leaves the links of its neighbours.
  fileprivate unowned var previous: Node?
  /// Orders those in a list: the first one has the lowest number. 0 for a node that is in no list.
  fileprivate(set) var number = 0

  init() {}

  fileprivate init(after previous: Node?, number: Int) { (self.previous, self.number) = (previous, number) }
}

/// The idle connections, in the order in which they became idle. O(1): the connections hold the links, so that the
/// beginning and the end of each exchange cost next to nothing here.
struct IdleList<Node: IdleNode> {
  private(set) var first: Node?
  private unowned var last: Node?
  private var lastNumber = 0

  init() {}

  /// Adds a node that is in no list.
  mutating func append(_ node: Node) {
    lastNumber += 1
    node.idleLinks = IdleLinks(after: last, number: lastNumber)
    if let last { last.idleLinks.next = node } else { first = node }
    last = node
  }

  /// Has no effect if the node is not in the list.
  mutating func remove(_ node: Node) {
    let links = node.idleLinks
    guard links.number > 0 else { return }
    node.idleLinks = IdleLinks()
    if let next = links.next { next.idleLinks.previous = links.previous } else { last = links.previous }
    if let previous = links.previous { previous.idleLinks.next = links.next } else { first = links.next }
  }
}
