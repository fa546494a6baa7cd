"""Pages that scripts make: Shoal's browser beside others, beside plain fetches, and `auto` where none run."""
