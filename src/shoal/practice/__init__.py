"""The practice site: a small chain of shops on loopback. The demo crawls it, and tests check crawls against it."""

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.hostile import Hostile, HostileScripts
from shoal.practice.polite_site import PoliteSite
from shoal.practice.process import Running, running
from shoal.practice.request import Answer, Visit
from shoal.practice.request_log import LogEntry, read_log
from shoal.practice.server import Server
from shoal.practice.shop import Shop
from shoal.practice.wiki import Wiki

__all__ = [
    "Answer",
    "ExpectedResults",
    "Hostile",
    "HostileScripts",
    "LogEntry",
    "PoliteSite",
    "Running",
    "Server",
    "Shop",
    "Visit",
    "Wiki",
    "read_log",
    "running",
]
