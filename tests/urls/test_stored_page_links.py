from shoal.urls import Params, linked

PAGE = "https://example.com/shop/list?page=1"


def test_links_are_read_against_their_page_by_the_parameters_of_its_job() -> None:
    hrefs = ["/a", "b?sid=1&x=2", "b?x=2", "#top", "mailto:x", "https://[bad", "/a", "//other.org", "?page=2"]
    assert linked(PAGE, hrefs, Params(drop=frozenset({"sid"}))) == [
        "https://example.com/a",
        "https://example.com/shop/b?x=2",
        "https://other.org/",
        "https://example.com/shop/list?page=2",
    ]
