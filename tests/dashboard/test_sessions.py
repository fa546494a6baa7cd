"""Sessions and login links: each stands for one token, for a limited time, and a link works once."""

from __future__ import annotations

from shoal.dashboard.sessions import (
    CODE_S,
    SESSION_S,
    MemorySessions,
    end_session,
    form_key,
    is_form_key,
    login_code,
    start_session,
    token_of_code,
    token_of_session,
)


def test_a_session_stands_for_its_token_until_it_ends() -> None:
    sessions = MemorySessions()
    first, second = start_session(sessions, "a"), start_session(sessions, "b")
    assert (token_of_session(sessions, first), token_of_session(sessions, second)) == ("a", "b")
    end_session(sessions, first)
    assert (token_of_session(sessions, first), token_of_session(sessions, second)) == (None, "b")
    assert token_of_session(sessions, "nonsense \ud800") is None


def test_a_link_works_once_and_is_no_session() -> None:
    sessions = MemorySessions()
    code = login_code(sessions, "a")
    assert token_of_session(sessions, code) is None
    assert [token_of_code(sessions, code) for _ in range(2)] == ["a", None]


def test_both_expire() -> None:
    now = 0.0
    sessions = MemorySessions(clock=lambda: now)
    code, session = login_code(sessions, "a"), start_session(sessions, "a")
    now = CODE_S
    assert token_of_code(sessions, code) is None and token_of_session(sessions, session) == "a"
    now = SESSION_S
    assert token_of_session(sessions, session) is None


def test_a_form_key_belongs_to_its_session_alone() -> None:
    assert is_form_key("one", form_key("one"))
    assert not is_form_key("two", form_key("one")) and not is_form_key("one", "\ud800")
