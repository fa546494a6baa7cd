"""What goes into the API and what comes out of it, as pydantic models; nothing here does anything."""
