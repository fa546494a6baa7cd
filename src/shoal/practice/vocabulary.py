"""The shops' words by language: names, sentences, labels, and the format of prices."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    price: Callable[[int], str]
    """Formats a price given in hundredths."""
    name: str
    """The format of a product name from adjective and noun."""
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    categories: tuple[str, ...]
    sentences: tuple[str, ...]
    home: str
    related: str
    previous: str
    next: str


def slug(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")


def _pounds(hundredths: int) -> str:
    return f"£{hundredths / 100:,.2f}"


def _dollars(hundredths: int) -> str:
    return f"{hundredths / 100:,.2f} USD"


def _german_euros(hundredths: int) -> str:
    return f"{hundredths // 100:,}".replace(",", ".") + f",{hundredths % 100:02} €"


def _french_euros(hundredths: int) -> str:
    return f"{hundredths // 100:,}".replace(",", "\u202f") + f",{hundredths % 100:02}\u00a0€"


_ENGLISH = Language(
    code="en-GB",
    price=_pounds,
    name="{adjective} {noun}",
    adjectives=("Blue", "Quiet", "Folding", "Salted", "Northern", "Little", "Heavy", "Copper", "Woven", "Plain"),
    nouns=("Kettle", "Lantern", "Basket", "Notebook", "Blanket", "Compass", "Teapot", "Chair", "Bell", "Mill"),
    categories=("Kitchen", "Garden", "Lamps & Light", "Paper", "Travel", "Tools", "Toys", "Textiles"),
    sentences=(
        "Made by hand in small numbers.",
        "It keeps its shape for years & needs little care.",
        "Our buyers carried it home from the coast.",
        "Returns are free for thirty days.",
        "The colour may differ a little from the picture.",
    ),
    home="Home",
    related="You may also like",
    previous="previous",
    next="next",
)
_AMERICAN = replace(_ENGLISH, code="en-US", price=_dollars)
_GERMAN = Language(
    code="de",
    price=_german_euros,
    name="{adjective} {noun}",
    adjectives=("Blaue", "Leise", "Kleine", "Schöne", "Große", "Grüne", "Feste", "Weiße", "Runde", "Süße"),
    nouns=("Kanne", "Schale", "Lampe", "Tasse", "Dose", "Vase", "Bürste", "Glocke", "Mühle", "Decke"),
    categories=("Küche", "Garten", "Licht & Lampen", "Papier", "Reise", "Werkzeug", "Spiele", "Stoffe"),
    sentences=(
        "In kleiner Auflage von Hand gefertigt.",
        "Hält jahrelang & braucht kaum Pflege.",
        "Unsere Einkäufer haben sie von der Küste mitgebracht.",
        "Rückgabe binnen dreißig Tagen kostenlos.",
        "Die Farbe kann vom Bild etwas abweichen.",
    ),
    home="Startseite",
    related="Dazu passt",
    previous="zurück",
    next="weiter",
)
_FRENCH = Language(
    code="fr",
    price=_french_euros,
    name="{noun} {adjective}",
    adjectives=("bleu", "discret", "pliant", "salé", "léger", "carré", "tressé", "doré", "rond", "naïf"),
    nouns=("Bol", "Panier", "Carnet", "Vase", "Moulin", "Fauteuil", "Plateau", "Réveil", "Tabouret", "Couteau"),
    categories=("Cuisine", "Jardin", "Lumière & Lampes", "Papier", "Voyage", "Outils", "Jouets", "Étoffes"),
    sentences=(
        "Fait main, en petite série.",
        "Il dure des années & demande peu de soin.",
        "Nos acheteurs l'ont rapporté de la côte.",
        "Retour gratuit pendant trente jours.",
        "La couleur peut différer légèrement de l'image.",
    ),
    home="Accueil",
    related="À voir aussi",
    previous="précédent",
    next="suivant",
)

LANGUAGES = (_ENGLISH, _GERMAN, _FRENCH, _AMERICAN)
