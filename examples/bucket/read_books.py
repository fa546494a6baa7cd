"""Reads all parts of the sink as one table."""

import pyarrow.compute as pc
import pyarrow.dataset as ds

books = ds.dataset("s3://my-bucket/shop/book", format="parquet").to_table()
print(f"{books.num_rows} books, the dearest at {pc.max(books['price']).as_py():.2f}")
