// swift run ProducerConsumer items       five items, put a moment apart
// swift run ProducerConsumer slideshow   500 images, made at most 10 ahead
// Without an argument: both, one after the other.

let wanted = CommandLine.arguments.dropFirst().first
switch wanted {
case "items": try items()
case "slideshow": try slideshow()
case nil:
  try items()
  try slideshow()
default: print("usage: ProducerConsumer [items | slideshow]")
}
