"""The frontier: every pending request under its host, handed out when that host may be fetched."""
