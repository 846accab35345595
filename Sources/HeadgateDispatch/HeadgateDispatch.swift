// A program that sends requests also sets their limits, and catches the errors of the gate: one import has both.

@_exported import HeadgateGate
