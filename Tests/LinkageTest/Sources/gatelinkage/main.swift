import HeadgateGate

let gate = EndPointGate()
let endPoint = try EndPoint("http://EXAMPLE.com")
gate.requestPermit(for: endPoint) { result in
  if case .success(let permit) = result { permit.release() }
}
print("\(endPoint): most at once \(gate.counts.peak)")
