import Glibc

/// The calling thread's place in a run; nil for threads that are in none. Held by the thread's own code meanwhile.
final class Key: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    self.key = key
  }

  var value: Place? {
    get { pthread_getspecific(key).map { Unmanaged<Place>.fromOpaque($0).takeUnretainedValue() } }
    set { pthread_setspecific(key, newValue.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }) }
  }
}
