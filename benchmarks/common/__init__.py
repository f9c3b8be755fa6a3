"""What the benchmarks share: the driver, the service under measurement, its processes, requests and tables."""
