from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.fetch.charset import to_utf8
from shoal.fetch.charset_labels import codec_of_label

RUSSIAN = "<p>Съешь же ещё этих мягких французских булок, да выпей чаю.</p>"
JAPANESE = "<p>いろはにほへと ちりぬるを わかよたれそ つねならむ</p>"


@pytest.mark.parametrize(
    ("text", "codec", "content_type"),
    [
        ("<p>café €", "utf-8", "text/html"),
        ("<p>café €", "utf-8", "text/html; charset=UTF-8"),
        ("<p>café €", "cp1252", "text/html; charset=ISO-8859-1"),
        ("<p>café €", "cp1252", 'text/html; charset="latin1"'),
        ("<p>café €", "utf-8-sig", "text/html; charset=latin1"),
        ("<p>café €", "utf-16", "text/html"),
        (RUSSIAN, "cp1251", "text/html;charset=windows-1251;x=y"),
        (RUSSIAN, "koi8-r", "text/html; Charset = koi8-r"),
        (JAPANESE, "shift_jis", "text/html; charset=x-sjis"),
        (JAPANESE, "euc-jp", "text/html; charset=euc-jp"),
        (JAPANESE, "iso2022-jp", "text/html; charset=iso-2022-jp"),
        ("<p>汉字编码", "gb18030", "text/html; charset=gb2312"),
        ("<p>한국어 텍스트", "cp949", "text/html; charset=ks_c_5601-1987"),
        (f'<meta charset="windows-1251">{RUSSIAN}', "cp1251", "text/html"),
        (f"<META http-equiv=content-type content='text/html; charset=koi8-r'>{RUSSIAN}", "koi8-r", ""),
        (f'<?xml version="1.0" encoding="windows-1251"?>{RUSSIAN}', "cp1251", "application/xml"),
        (f"<!-- <meta charset=koi8-r> --><meta charset=cp1251>{RUSSIAN}", "cp1251", "text/html"),
        ("<meta charset=utf-16><p>café", "utf-8", "text/html"),
        ("<meta charset=hex><p>café", "utf-8", "text/html; charset=unicode_escape"),
        ("<html><p>plain text, no mark: café</p></html>", "utf-16-le", "text/html"),
        ("<html><p>plain text, no mark: café</p></html>", "utf-16-be", "text/html"),
        (RUSSIAN * 5, "cp1251", "text/html"),
        (JAPANESE, "iso2022-jp", "text/html"),
        (JAPANESE, "shift_jis", "text/html"),
        (JAPANESE, "euc-jp", "text/html"),
        ("<p>안녕하세요, 여러분. 오늘은 날씨가 좋습니다.", "cp949", "text/html"),
        ("<p>大家好,今天天气很好,我们一起去公园吧。", "gb18030", "text/html"),
        ("<p>大家好，今天天氣很好，我們一起去公園吧。", "big5", "text/html"),
        ("<p>สวัสดีครับ วันนี้อากาศดีมาก เราไปเที่ยวสวนสาธารณะกันเถอะ", "cp874", "text/html"),
        (RUSSIAN, "iso8859-5", "text/html"),
        ("<p>L'été dernier, les élèves français étaient à l'école.", "latin-1", "text/html"),
        ("<p>El niño comió en la montaña según su opinión.", "latin-1", "text/html"),
        ("<p>Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250", "text/html"),
        (f"<!--{'x' * 2000}--><meta charset=koi8-r>{RUSSIAN}", "koi8-r", "text/html"),
        (f"{' ' * 2000}<script>'<meta charset=koi8-r>'</script><meta charset=cp1251>{RUSSIAN}", "cp1251", "text/html"),
        (f"<meta charset=nonsense><meta charset=koi8-r>{RUSSIAN}", "koi8-r", "text/html"),
        (f"<meta name=description content='charset=koi8-r'><meta charset=cp1251>{RUSSIAN}", "cp1251", "text/html"),
        (f"<p title='<meta charset=koi8-r>'><meta charset=cp1251>{RUSSIAN}", "cp1251", "text/html"),
    ],
)
def test_the_charset_is_found_as_browsers_find_it(text: str, codec: str, content_type: str) -> None:
    body = text.encode(codec)
    assert to_utf8(body, content_type) == text.encode()


def test_utf8_bodies_are_handed_through_untouched() -> None:
    for body in (b"<p>plain</p>" * 1000, "<p>é</p>".encode() * 1000):
        assert to_utf8(body, "text/html; charset=utf-8") is body


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"a\xffb", "text/html; charset=utf-8", "a\ufffdb"),
        (b"a\0b", "text/html", "a\ufffdb"),
        (b"\xed\xa0\x80", "text/html; charset=utf-8", "\ufffd\ufffd\ufffd"),
        (b"\xff\xfea\0\x00\xd8", "text/html", "a\ufffd"),
        (b"caf\xc3\xa9 \x81", "text/html; charset=ascii", "cafÃ© \ufffd"),
    ],
)
def test_what_cannot_be_read_becomes_a_replacement_character(body: bytes, content_type: str, text: str) -> None:
    assert to_utf8(body, content_type) == text.encode()


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "text/html", "text/html; charset=utf-16", "x; charset=gbk", "x; charset=\xff\0"])
    | st.text(max_size=30),
)
def test_any_bytes_give_clean_text(body: bytes, content_type: str) -> None:
    clean = to_utf8(body, content_type).decode()
    assert "\0" not in clean


@pytest.mark.parametrize("label", ["utf-7", "hex", "rot13", "idna", "unicode_escape", "base64", "mbcs", ""])
def test_pythons_own_codecs_are_no_charsets_of_the_web(label: str) -> None:
    assert codec_of_label(label) is None


@pytest.mark.parametrize(
    ("language", "text", "codec"),
    [
        ("tr", "Giriş yap. Şifremi unuttum. Üye ol", "cp1254"),
        ("hu-HU", "Árvíztűrő tükörfúrógép", "cp1250"),
        ("cs", "ČR", "cp1250"),
        ("ko", "서울", "cp949"),
        ("zh-Hant", "臺灣", "big5"),
        ("ja", "日本", "cp932"),
        *((language, "El niño comió mañana, ¿qué pasó?", "cp1252") for language in ("tr", "ko", "ru", "x")),
        *((language, "Été à la plage", "cp1252") for language in ("tr", "ja", "zh", "el")),
    ],
)
def test_the_language_of_a_page_helps_to_guess_its_charset(language: str, text: str, codec: str) -> None:
    body = f'<!doctype html><HTML class=a lang="{language}"><title>{text}</title>'
    assert to_utf8(body.encode(codec), "text/html").decode() == body
