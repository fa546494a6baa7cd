"""The practice site: a small chain of shops on loopback that the demo crawls and the tests judge crawls by."""

from shoal.practice.asking import Asking
from shoal.practice.hostile import Hostile
from shoal.practice.log import Entry, read_log
from shoal.practice.process import Running, running
from shoal.practice.server import Server
from shoal.practice.site import Shop
from shoal.practice.truth import HostTruth
from shoal.practice.visit import Answer, Visit

__all__ = [
    "Answer",
    "Asking",
    "Entry",
    "HostTruth",
    "Hostile",
    "Running",
    "Server",
    "Shop",
    "Visit",
    "read_log",
    "running",
]
