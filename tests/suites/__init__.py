"""Test suites of other projects, run against Shoal: `make suites DIR=…`. They are not part of this repository."""
