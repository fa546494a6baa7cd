"""What a user gives a crawl: the sources it starts from."""
