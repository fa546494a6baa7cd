"""What a client reads about a body that its model refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shoal.control.models.append_urls import UrlArray
from shoal.control.problems import unreadable


@pytest.mark.parametrize(
    ("body", "fields"), [([None], ["[0]"]), ([None, "https://a.example/"], ["[0]"]), ([], ["body"])]
)
def test_a_list_with_an_invalid_first_entry_is_not_called_too_short(body: list[str | None], fields: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        UrlArray.model_validate(body)
    assert [fault.field for fault in unreadable(refused.value).faults] == fields
