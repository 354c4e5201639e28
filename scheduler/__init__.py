"""What drives goals: the worker, leases, alarms and recovery."""
