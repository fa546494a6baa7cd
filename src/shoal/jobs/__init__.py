"""One job as people see and steer it, wherever it runs: a home or a fleet."""
