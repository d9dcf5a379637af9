"""Benchmarks: one folder each, started by `bench/run`; who is compared lies in contenders/."""
