import scrapy


class BooksSpider(scrapy.Spider):
    name = "books"
    start_urls = ["http://127.0.0.1:8000/"]

    def parse(self, response):
        yield from response.follow_all(css="nav a, li.next a", callback=self.parse)
        yield from response.follow_all(css="h3 a", callback=self.parse_book)

    def parse_book(self, response):
        price = response.css(".price_color::text").get()
        yield {"title": response.css("h1::text").get(), "price": price.strip("£").replace(",", "")}
