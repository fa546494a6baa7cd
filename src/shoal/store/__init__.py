"""The store: jobs, their inputs and their results in SQL tables, the archive of responses, and exports."""
