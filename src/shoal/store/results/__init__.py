"""Reading back what was found: listings, figures, quality, exports."""
