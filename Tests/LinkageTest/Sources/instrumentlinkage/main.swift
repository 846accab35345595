import HeadgateInstruments

print("observers:", MetricsObserver(maxEndPoints: 10), TracingObserver())
