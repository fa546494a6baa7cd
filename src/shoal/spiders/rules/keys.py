"""Every key of rules, what it takes and what it says: for the checks, the JSON Schema and the reference alike."""

from __future__ import annotations

from shoal.extract.parse_numbers import DECIMAL_SIGNS
from shoal.model import options
from shoal.model.option import TEXTS, Kind, Option
from shoal.spiders.item import KINDS, Item
from shoal.spiders.rules.shapes import (
    FLAG,
    TRUTH,
    Choice,
    Definition,
    Key,
    Many,
    Named,
    Number,
    Scalar,
    Schema,
    Shape,
    Short,
    Table,
    Text,
)
from shoal.spiders.rules.text_shapes import Address, PageStep, Selector, TypeName, UrlPattern
from shoal.urls.file_types import FILE_TYPES
from shoal.urls.traps import ALL
from shoal.urls.traps import RULES as RULES_OF_TRAPS

START = "start"
"""What `to` calls the rules for the pages of `start`."""

_END = r"$(?!\n)"
"""To Python, $ alone also matches before a last newline."""
NAME = Text(
    "a name of at most 100 characters without blanks that begins with a letter",
    r"^(?!model_(?:validate|dump))[^\s\d\x00-\x40\x5b-\x60\x7b-\x9f][^\s\x00-\x1f\x7f-\x9f]{0,99}" + _END,
)
TYPES = {kind: to for to, kind in KINDS.items()}
"""`kind_of` gives the key for a type as written."""
_TAKEN = tuple(name for name in dir(Item) if not name.startswith("_"))
"""A field of such a name would hide what every Item has."""
_SELECTOR = Selector()
_TITLE = Text("a name", r"^[^\x00-\x1f\x7f-\x9f]{1,200}" + _END)


def _shape(option: Option) -> Shape:
    return Many(_one(option)) if option.many else _one(option)


def _one(option: Option) -> Shape:
    if option.bound is not None:
        return Number(option.bound)
    if option.choices:
        return Choice(tuple(map(str, option.choices)))
    match option.kind:
        case Kind.FLAG:
            return TRUTH
        case Kind.PATTERN:
            return UrlPattern(*TEXTS[option.kind])
        case Kind.STEP:
            return PageStep(*TEXTS[option.kind])
        case Kind.TRAP:
            return Choice((*RULES_OF_TRAPS, ALL))
        case Kind.FILE_TYPE:
            return Choice((*FILE_TYPES, ALL))
        case _:
            return Text(*TEXTS[option.kind])


_PICKS = {
    "css": Key(
        Selector("a CSS selector", kind="css"), "CSS, with ::text, ::attr(name) or ::html at the end if wanted."
    ),
    "xpath": Key(Selector("an XPath 1.0 expression", kind="xpath"), "XPath 1.0."),
    "jsonpath": Key(Selector("a JSONPath that begins with $", kind="jsonpath"), "JSONPath, for a JSON body."),
}
_REGEX = Selector("a regular expression for RE2", kind="regex")
_FIELDS = Named(Short(_SELECTOR, Definition("field", lambda: FIELD)), NAME, _TAKEN, "a mapping from names to selectors")

FIELD: Table = Table(
    "a field",
    {
        **_PICKS,
        "regex": Key(_REGEX, "The first group, or all, of a regular expression over the visible text."),
        "each": Key(
            _SELECTOR, "Elements or JSON values, each of which gives an object of `fields`; the field is their list."
        ),
        "page": Key(Choice(("url",)), "The URL of the page."),
        "input": Key(Text("the name of a column"), "A column of the row of the list that led to the page."),
        "from": Key(Choice(("page",)), "Read from the whole page, also if the item is one of its elements."),
        "re": Key(_REGEX, "Narrows what css or xpath gave to the first group, or all, of a regular expression."),
        "type": Key(TypeName(tuple(sorted(TYPES))), "What the text is made into; text if left out."),
        "decimal": Key(Choice(DECIMAL_SIGNS), "The decimal sign of numbers; by their form if left out."),
        "list": Key(FLAG, "All that match, instead of the first."),
        "optional": Key(FLAG, "Empty if nothing matches; otherwise the item is rejected."),
        "default": Key(Scalar(), "What stands there if nothing matches."),
        "fields": Key(_FIELDS, "An object with these fields, picked below what matches."),
    },
    one_of=(*_PICKS, "regex", "each", "page", "input"),
    apart=(
        *(("from", other) for other in ("each", "page", "input", "fields")),
        *((fact, other) for fact in ("page", "input") for other in ("re", "list", "fields")),
        *(("fields", other) for other in ("regex", "re", "type", "decimal", "list", "default")),
        ("each", "optional"),
        ("jsonpath", "re"),
        ("regex", "re"),
        ("list", "optional"),
        ("list", "default"),
        ("optional", "default"),
    ),
    needs={"each": "fields", "decimal": "type"},
)

ITEM = Table(
    "an item",
    {
        "each": Key(_SELECTOR, "Elements or JSON values, each of which gives an item; left out, the page gives one."),
        "name": Key(NAME, "The item's type; the name of the rules or of the page if left out."),
        "key": Key(
            Many(Text("the name of a field"), alone=True), "Items equal in these fields are one: the last found."
        ),
        "fields": Key(_FIELDS, "What an item has: a selector by itself, or what is said about fields."),
    },
    required=("fields",),
)

LINK = Table(
    "a follow entry",
    {
        **_PICKS,
        "to": Key(Text(f"the name of a page, or {START}"), "Which rules read the pages; the same as here if left out."),
        "priority": Key(_shape(options.OPTIONS["priority"]), "Higher goes first; 0 if left out."),
        "render": Key(
            _shape(options.OPTIONS["render"]), "Whether a browser loads the pages; as the job has it if left out."
        ),
        "steps": Key(
            _shape(options.OPTIONS["steps"]), "What the browser does on the pages, in place of the job's steps."
        ),
    },
    one_of=tuple(_PICKS),
)

PAGE = {
    "follow": Key(
        Many(Short(_SELECTOR, LINK)), "Which links lead on: href or src of what matches, or the URLs it gives."
    ),
    "items": Key(Many(ITEM), "What is taken from the page."),
}

OPTIONS = Table(
    "options",
    {name: Key(_shape(option), option.help) for name, option in options.OPTIONS.items() if option.for_spiders},
)

_PAGES = Named(Table("a page", PAGE), NAME, (START,), "a mapping from names to pages")

RULES = Table(
    "rules",
    {
        "name": Key(_TITLE, "What the spider is called; the file's name if left out."),
        "start": Key(Many(Address(), alone=True), "Where to start."),
        **PAGE,
        "pages": Key(_PAGES, "Rules for the pages that `to` names."),
        "options": Key(OPTIONS, "Of the job; a flag on the command line wins over them."),
    },
    required=("start",),
)


def kind_of(type: str) -> str:
    """`decimal(12,2)` is a decimal."""
    return "decimal" if type.startswith("decimal(") else type


def schema() -> Schema:
    """For editors; what no schema can see, such as a bad selector, is told when the rules are loaded."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Shoal rules",
        **RULES.schema(),
        "$defs": {"field": FIELD.schema()},
    }
