"""A project as people have it; `-s` of a test adds what it is about."""

BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ROBOTSTXT_OBEY = False
TELNETCONSOLE_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 8
DOWNLOAD_DELAY = 0
RETRY_TIMES = 2
LOG_LEVEL = "INFO"
SCHEDULER = "shoal.scrapy.Scheduler"
DUPEFILTER_CLASS = "shoal.scrapy.DupeFilter"
ITEM_PIPELINES = {"shop.pipelines.Slow": 100, "shoal.scrapy.Pipeline": 900}
