"""What Shoal makes of the settings of a Scrapy project."""

from __future__ import annotations

from shoal.scrapy.project_settings import slot_warnings


def test_each_download_slot_is_answered_with_what_to_use_instead() -> None:
    slots = {"a.example": {"delay": 2, "concurrency": 1}, "b.example": {"delay": 0, "randomize_delay": False}}
    first, second = slot_warnings(slots)
    assert "`shoal hosts a.example --rate 0.5`" in first and "CONCURRENT_REQUESTS_PER_DOMAIN" in first
    assert "`shoal hosts b.example --rate 10000`" in second and "randomize_delay=False has no equivalent" in second
    assert slot_warnings({}) == []
