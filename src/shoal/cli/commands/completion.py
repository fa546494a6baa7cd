"""`shoal completion`: prints the script with which a shell completes commands and options."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session

INSTALL = {
    "bash": "shoal completion bash > ~/.local/share/bash-completion/completions/shoal",
    "zsh": "shoal completion zsh > ~/.zfunc/_shoal  (with `fpath+=~/.zfunc` before compinit in ~/.zshrc)",
    "fish": "shoal completion fish > ~/.config/fish/completions/shoal.fish",
}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def completion(ctx: click.Context, session: Session, shell: str) -> None:
    """Print the script that completes shoal's commands and options in SHELL.

    \b
    eval "$(shoal completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"
    session.show(kind(ctx.find_root().command, {}, "shoal", "_SHOAL_COMPLETE").source())
    # Last, because zsh requires its own mark in the first line.
    session.show(f"# to install: {INSTALL[shell]}")
