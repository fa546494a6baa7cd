"""Reading responses: decompress, parse, extract, and decide what each response means."""
