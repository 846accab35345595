// The fuzzer brings the main function, Inputs the function that it calls.
typedef int headgate_nothing;
