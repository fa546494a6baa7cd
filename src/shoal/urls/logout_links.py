"""Recognizes links that end a session. A crawl that was given a login would log itself out by following them.

A path segment, or the name or value of a query parameter, must be such a word as a whole: `/user/logout`,
`?action=logout`, `/Special:UserLogout`. An article about it (`/how-to-logout-everywhere`) is an ordinary page.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote_plus

REASON = "logout"
_SUBJECT = (
    "users?|customers?|members?|clients?|admin|account|auth|session|sso|cas|saml2?|oauth2?|oidc|openid|my|do|wp|site|app"
    "|web|forum|force|auto|single|global|idp|sp|perform|process|jspringsecurity"
)
_SUFFIX = "action|user|now|all|page|form|submit|confirm|success|handler|servlet|start|init"
_ENGLISH = re.compile(rf"(?:{_SUBJECT})?(?:(?:log|sign)(?:ged)?(?:out|off)|endsession)(?:{_SUFFIX})?")
_ENDING = re.compile(r"\.(?:php\d?|aspx?|ashx|jspx?|html?|do|action|cgi|pl|cfm|xhtml|jsf)$")
_SEARCHES = frozenset({"q", "s", "k", "query", "search", "keyword", "keywords", "term", "tag", "text"})
"""Parameters whose value may be any word."""


def _plain(text: str) -> str:
    """In lower case, without accents, hyphens, underscores and blanks."""
    lower = unquote_plus(text).casefold()
    if not lower.isascii():
        lower = "".join(char for char in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(char))
    return lower.replace("-", "").replace("_", "").replace(" ", "")


_OTHERS = frozenset(
    _plain(word)
    for line in (
        "deconnexion se-deconnecter deconnecter abmelden abmeldung ausloggen cerrar-sesion finalizar-sesion",
        "desconectar desconectarse sair encerrar-sessao terminar-sessao disconnetti disconnettiti uitloggen",
        "afmelden logga-ut logg-ut log-ud kirjaudu-ulos wyloguj wyloguj-sie wylogowanie odhlasit odhlasit-se",
        "odhlaseni odjava kijelentkezes kilepes deconectare cikis çıkış cikis-yap çıkış-yap oturumu-kapat",
        "dang-xuat đăng-xuất αποσύνδεση выход выйти вихід вийти تسجيل-الخروج התנתק",
        "ログアウト サインアウト 退出登录 退出登錄 登出 注销 로그아웃",
    )
    for word in line.split()
)


def is_logout(url: str) -> bool:
    """`url` is canonical."""
    path, _, query = url.partition("?")
    if any(map(_is_word, path.split("/")[3:])):
        return True
    return bool(query) and any(map(_is_parameter, re.split("[&;]", query)))


def _is_parameter(text: str) -> bool:
    name, equals, value = text.partition("=")
    if _is_word(name):
        # `?logout=0` says the opposite.
        return value.lower() not in ("0", "false", "no")
    parts = unquote_plus(value).split("/")
    return bool(equals) and (len(parts) > 1 or name.lower() not in _SEARCHES) and _is_word(parts[-1])


def _is_word(text: str) -> bool:
    """Parts of a name count: `Special:UserLogout`, `user.logout`, `account!logout`."""
    parts = re.split("[.:!@]", _ENDING.sub("", _plain(text)))
    return any(part in _OTHERS or _ENGLISH.fullmatch(part) for part in parts)
