from __future__ import annotations

import pytest

from shoal.urls import canonical
from shoal.urls.logout_links import is_logout

SITE = "https://site.example"


@pytest.mark.parametrize(
    "link",
    [
        *("/logout", "/user/logout/", "/log-out", "/LogOff.aspx", "/signout", "/sign_out", "/accounts/signout.php"),
        *("/wp-login.php?action=logout&_wpnonce=1a2b", "/index.php?do=logout&sectok=x", "/?logout", "/?logout=1"),
        *("/index.php?title=Special:UserLogout&returnto=Main", "/wiki/Special:UserLogout", "/?q=user/logout"),
        *("/customer-logout/", "/index.php?option=com_users&task=user.logout", "/j_spring_security_logout"),
        *("/my/end-session", "/konto/abmelden", "/se-deconnecter", "/compte/d%C3%A9connexion", "/cerrar-sesion"),
        *("/выход", "/ログアウト", "/wyloguj", "/sair", "/ucp.php?mode=logout;sid=1", "/logout;jsessionid=1"),
    ],
)
def test_links_that_log_out_are_known(link: str) -> None:
    assert is_logout(canonical(SITE + link))


@pytest.mark.parametrize(
    "link",
    [
        *("/", "/login", "/blog/how-to-logout-everywhere", "/search?q=logout", "/?s=logout", "/tag/login?logout=0"),
        *("/docs/logout-behaviour-explained", "/blogout", "/signs/out", "/checkout", "/out", "/log/off-season"),
        *("/catalog/outdoor", "/logoff-road-tires", "/a?sort=signoutdoor"),
    ],
)
def test_other_pages_are_not_taken_for_one(link: str) -> None:
    assert not is_logout(canonical(SITE + link))
