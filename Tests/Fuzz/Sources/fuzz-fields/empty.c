// The fuzzer brings the main function, FieldFuzz the function that it calls.
typedef int headgate_nothing;
