"""Leases that this process holds, and all calls to the frontier."""
